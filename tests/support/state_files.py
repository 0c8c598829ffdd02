"""A device's file that a test opens, writes to, and damages."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from deniable.device.state import State, count, health, put

__all__ = ["NOW", "filled", "opened", "tick", "ticks"]

NOW = 1_800_000_000.0


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        """The time that it shows."""
        return self.now


def opened(path: Path, warnings: list[str] | None = None) -> State:
    """The state of a device that lives at a certain time."""
    return State(path, Clock(), (warnings if warnings is not None else []).append)


def tick(connection: sqlite3.Connection) -> None:
    """Something to write."""
    count(connection, "ticks")


def filled(connection: sqlite3.Connection) -> None:
    """A few pages."""
    for number in range(100):
        put(connection, f"key {number}", "x" * 500)


def ticks(device: State) -> int:
    """How often that was written."""
    return device.run(health).get("ticks", 0)
