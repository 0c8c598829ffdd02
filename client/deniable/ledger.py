"""The ledger: every epsilon that this device has spent, and what it may still spend.

words:
  charge   one line: a metric, the span of time that the answer was about, its cost
  cost     epsilon in units of 10^-12, rounded up: sums of it are exact

Answers compose sequentially: what a device has spent is the sum of its charges. A metric is charged at most once for
any moment, so that a clock that goes back, or an application that comes back with another epoch length, never
reports the same time twice.
"""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass
from fractions import Fraction

from deniable.collection import Collection, Metric
from deniable.errors import BudgetExceededError

__all__ = ["Charge", "Ledger", "charges"]

_UNIT = 10**12


def _cost(epsilon: Fraction) -> int:
    return math.ceil(epsilon * _UNIT)


@dataclass(frozen=True, slots=True)
class Charge:
    """One line of the ledger."""

    collection: str
    """The collection that asked."""
    metric: str
    """What was answered."""
    start: int
    """When the epoch began, in seconds since 1970-01-01T00:00:00Z."""
    seconds: int
    """How long the epoch was."""
    epsilon: float
    """What the answer cost."""


class Ledger:
    """The charges of one collection, read and written within a transaction of the state file."""

    def __init__(self, connection: sqlite3.Connection, collection: Collection) -> None:
        self._connection = connection
        self._collection = collection

    def charge(self, metric: Metric, epoch: int, *, remembered: bool = False) -> None:
        """Charge a metric's answer for an epoch; BudgetExceededError, and no charge, where it may not be given.

        An answer that is remembered was paid for when it was first given: it costs nothing, but has its line.
        """
        collection = self._collection
        seconds = collection.epoch_seconds
        start = epoch * seconds
        cost = 0 if remembered else _cost(metric.epsilon.value)
        if self._answered(metric.name, start, start + seconds):
            raise BudgetExceededError(f"{metric.name} has been answered for this time already")
        in_epoch = self._spent("AND start < ? AND start + seconds > ?", start + seconds, start)
        if in_epoch + cost > _cost(collection.budget.epoch):
            raise BudgetExceededError(f"{metric.name} would go beyond the budget of the epoch")
        lifetime = collection.budget.lifetime
        if lifetime is not None and self._spent("") + cost > _cost(lifetime):
            raise BudgetExceededError(f"{metric.name} would go beyond the budget of a lifetime")
        self._connection.execute(
            "INSERT INTO ledger VALUES (?, ?, ?, ?, ?)", (collection.name, metric.name, start, seconds, cost)
        )

    def _answered(self, metric: str, start: int, end: int) -> bool:
        query = (
            "SELECT 1 FROM ledger WHERE collection = ? AND metric = ? AND start < ? AND start + seconds > ? LIMIT 1"
        )
        row = self._connection.execute(query, (self._collection.name, metric, end, start)).fetchone()
        return row is not None

    def _spent(self, condition: str, *values: str | int) -> int:
        query = f"SELECT coalesce(sum(cost), 0) FROM ledger WHERE collection = ? {condition}"  # noqa: S608
        (spent,) = self._connection.execute(query, (self._collection.name, *values)).fetchone()
        return int(spent)


def charges(connection: sqlite3.Connection) -> list[Charge]:
    """All charges, the oldest first."""
    rows = connection.execute("SELECT * FROM ledger ORDER BY start, collection, metric")
    return [
        Charge(collection, metric, start, seconds, cost / _UNIT) for collection, metric, start, seconds, cost in rows
    ]
