"""A device without threads or network: values in, sealed epochs out, on a real state file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deniable import Collection, Report
from deniable.device.epochs import Sealing, keep, seal
from deniable.device.ledger import Charge, charges
from deniable.device.state import State, health

__all__ = ["SEALING", "Device", "Stumbling"]

SEALING = Sealing(segment=0, leeway=0.0, most=200)


class Stumbling:
    """A connection that fails at a statement of a certain number."""

    def __init__(self, connection: sqlite3.Connection, statement: int) -> None:
        self._connection = connection
        self._left = statement

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        """Do it, or fail."""
        self._left -= 1
        if self._left < 0:
            raise ZeroDivisionError
        return self._connection.execute(*statement)


class Device:
    """One device; `path=None` keeps its state in memory."""

    def __init__(self, collection: Collection, path: Path | None = None) -> None:
        self.collection = collection
        self.state = State(path)

    def keep(self, values: Mapping[str, Any], epoch: int) -> None:
        """Record values."""
        self.state.run(lambda connection: self.keep_in(connection, values, epoch))

    def keep_in(self, connection: sqlite3.Connection, values: Mapping[str, Any], epoch: int) -> None:
        """Record values within a transaction."""
        metrics = self.collection.metrics
        states = {
            (name, epoch): metrics[name].reducer.start(metrics[name].kind.check(value))
            for name, value in values.items()
        }
        keep(connection, self.collection, states)

    def seal(self, now: float) -> dict[int, list[Report]]:
        """End the epochs that have ended by a time; their reports by epoch."""
        return self.state.run(lambda connection: dict(seal(connection, self.collection, now, SEALING)))

    def answers(self, values: Mapping[str, Any], epochs: range) -> list[dict[str, Report]]:
        """What it says in these epochs, in one transaction for speed."""
        columns, seconds = self.collection.columns, self.collection.epoch_seconds

        def work(connection: sqlite3.Connection) -> list[dict[str, Report]]:
            said = []
            for epoch in epochs:
                self.keep_in(connection, values, epoch)
                sealed = dict(seal(connection, self.collection, (epoch + 1) * seconds, SEALING))
                said.append({columns[report.column].metric: report for report in sealed.get(epoch, [])})
            return said

        return self.state.run(work)

    @property
    def content(self) -> dict[str, list[Any]]:
        """Everything in its file, by table."""

        def work(connection: sqlite3.Connection) -> dict[str, list[Any]]:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables}

        return self.state.run(work)

    @property
    def ledger(self) -> list[Charge]:
        """What it has spent."""
        return self.state.run(charges)

    @property
    def spent(self) -> float:
        """The same in one number."""
        return sum(charge.epsilon for charge in self.ledger)

    @property
    def health(self) -> dict[str, int]:
        """What has happened to it."""
        return self.state.run(health)
