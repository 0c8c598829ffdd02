"""The ledger: every epsilon that this device has spent, and what it may still spend.

words:
  charge    one line: a metric, the span of time that the answer was about, its cost
  cost      epsilon in units of 10^-12: sums of it are exact
  share     what a charge takes of the epoch's budget: the metric's epsilon, whatever the answer cost
  reserve   what it takes of the lifetime's: of a memoized metric, with its first answer, what all the answers
            that it can ever remember cost
  settled   lines older than 400 days, added up to one line a metric, from the beginning of time

Whether an answer may be given must not depend on what it is: a refusal is seen, as a report that is missing. What a
memoized answer costs does depend on it (nothing, if it was given before), so budgets are held against shares and
reserves, which do not, and are never less than the costs.

Answers compose sequentially: what a device has spent is the sum of its charges. A metric is charged at most once for
any moment, so that a clock that goes back, or an application that comes back with another epoch length, never
reports the same time twice.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from deniable.collection import EPOCHS, Collection, Metric
from deniable.errors import BudgetExceededError
from deniable.state import get, reading

__all__ = ["Charge", "Ledger", "charges", "epsilon_of", "read", "settle"]

_UNIT = 10**12
_LONGEST = max(EPOCHS.values())
_SETTLED_AFTER = 400 * 86400


def _cost(epsilon: Fraction) -> int:
    return math.ceil(epsilon * _UNIT)


def epsilon_of(cost: int) -> float:
    """Epsilon, as people read it."""
    return cost / _UNIT


@dataclass(frozen=True, slots=True)
class Charge:
    """One line of the ledger."""

    collection: str
    """The collection that asked."""
    metric: str
    """What was answered."""
    start: int
    """When the epoch began, in seconds since 1970-01-01T00:00:00Z; 0 in the sum of what is older than 400 days."""
    seconds: int
    """How long the epoch was."""
    epsilon: float
    """What the answer cost; 0 where it was remembered, and paid for before."""


class Ledger:
    """The charges of one collection, within a transaction of the state file."""

    def __init__(self, connection: sqlite3.Connection, collection: Collection) -> None:
        self._connection = connection
        self._collection = collection
        ends, settled = connection.execute(
            "SELECT coalesce(max(ends), 0), coalesce(sum(reserve), 0) FROM settled WHERE collection = ?",
            (collection.name,),
        ).fetchone()
        self._closed_before = max(float(ends), float(get(connection, "not_before") or 0.0))
        self._settled = int(settled)

    def charge(self, metric: Metric, epoch: int, *, remembered: bool = False, reserves: int | None = None) -> int:
        """Charge a metric's answer for an epoch; BudgetExceededError, and no charge, where it may not be given.

        An answer that is remembered was paid for when it was first given: it costs nothing, but has its line.
        `reserves` is how many answers this one pays for in the lifetime's budget, if not just itself.
        """
        collection = self._collection
        seconds = collection.epoch_seconds
        start = epoch * seconds
        share = _cost(metric.epsilon.value)
        cost = 0 if remembered else share
        reserve = cost if reserves is None else reserves * share
        if start < self._closed_before:
            raise BudgetExceededError("what was spent on this time is no longer known line by line")
        in_epoch = list(self._overlapping(start, start + seconds))
        if any(name == metric.name for name, _ in in_epoch):
            raise BudgetExceededError(f"{metric.name} has been answered for this time already")
        if sum(taken for _, taken in in_epoch) + share > _cost(collection.budget.epoch):
            raise BudgetExceededError(f"{metric.name} would go beyond the budget of the epoch")
        lifetime = collection.budget.lifetime
        if lifetime is not None and self._ever() + reserve > _cost(lifetime):
            raise BudgetExceededError(f"{metric.name} would go beyond the budget of a lifetime")
        self._connection.execute(
            "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?)",
            (collection.name, start, metric.name, seconds, cost, share, reserve),
        )
        return cost

    def _overlapping(self, start: int, end: int) -> Iterator[tuple[str, int]]:
        """Metric and share of every charge that is about some of this time."""
        return self._connection.execute(
            "SELECT metric, share FROM ledger "
            "WHERE collection = ? AND start > ? AND start < ? AND start + seconds > ?",
            (self._collection.name, start - _LONGEST, end, start),
        )

    def _ever(self) -> int:
        query = "SELECT coalesce(sum(reserve), 0) FROM ledger WHERE collection = ?"
        (spent,) = self._connection.execute(query, (self._collection.name,)).fetchone()
        return self._settled + int(spent)


def settle(connection: sqlite3.Connection, certain: float) -> None:
    """Add up what is older than 400 days: a device that answers every hour for years keeps a short ledger.

    A time before these lines' end is closed from then on. `certain` is therefore not what the device's clock says,
    which may be years ahead, but the beginning of an epoch that an aggregator has just accepted.
    """
    before = certain - _SETTLED_AFTER
    connection.execute(
        "INSERT INTO settled SELECT collection, metric, max(start + seconds) AS ends, sum(cost) AS cost, "
        "sum(reserve) AS reserve FROM ledger "
        "WHERE start + seconds <= ? GROUP BY collection, metric "
        "ON CONFLICT DO UPDATE SET ends = max(ends, excluded.ends), cost = cost + excluded.cost, "
        "reserve = reserve + excluded.reserve",
        (before,),
    )
    connection.execute("DELETE FROM ledger WHERE start + seconds <= ?", (before,))


def charges(connection: sqlite3.Connection) -> list[Charge]:
    """All charges, the oldest first."""
    rows = connection.execute(
        "SELECT collection, metric, 0, ends, cost FROM settled "
        "UNION ALL SELECT collection, metric, start, seconds, cost FROM ledger ORDER BY 3, 1, 2"
    )
    return [
        Charge(collection, metric, start, seconds, epsilon_of(cost))
        for collection, metric, start, seconds, cost in rows
    ]


def read(path: str | Path) -> list[Charge]:
    """All charges in a state file."""
    with reading(path) as connection:
        return charges(connection)
