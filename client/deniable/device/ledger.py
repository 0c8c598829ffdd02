"""The ledger: every epsilon and delta that this device has spent, and what it may still spend.

words:
  charge    one line: a metric, the span of time that the answer was about, its cost
  cost      epsilon in units of 10^-12, and delta in units of 10^-18: sums of them are exact
  share     what a charge takes of the epoch's budget: the metric's epsilon, whatever the answer cost
  reserve   what it takes of the lifetime's: of a memoized metric, with its first answer, what all the answers
            that it can ever remember cost
  question  what a memoized metric means, whatever the words and whichever version of a collection asks: each has a
            memory of its own
  settled   lines older than 400 days, added up to one line a metric, from the beginning of time

There is one ledger a device: what was spent under any name, in any version, for any collection of the state file is
held against the budgets of the collection that asks. So a name that changes buys nothing. Without the budget of a
lifetime, a metric's name may have a few questions ever: nor do meanings that change buy answers for ever.

Whether an answer may be given must not depend on what it is: a refusal is seen, as a report that is missing. What a
memoized answer costs does depend on it (nothing, if it was given before), so budgets are held against shares and
reserves, which do not, and are never less than the costs.

Answers compose sequentially: what a device has spent is the sum of its charges, of epsilons and of deltas. A metric
is charged at most once for any moment, so that a clock that goes back, or an application that comes back with another
epoch length or another name, never reports the same time twice.
"""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from deniable.collection import EPOCHS, Collection, Metric
from deniable.device import coins
from deniable.device.state import get, lost, reading
from deniable.errors import BudgetExceededError

__all__ = ["Charge", "Cost", "Ledger", "charges", "closed_before", "forget", "read", "reserved", "settle", "taken"]

_EPSILON_UNIT = 10**12
_DELTA_UNIT = 10**18
_QUESTIONS = 4
"""Without the budget of a lifetime, a metric's name may have so many memories, one for each question, ever."""
_LONGEST = max(EPOCHS.values())
_SETTLED_AFTER = 400 * 86400


class Cost(NamedTuple):
    """What is spent, or may be, in the ledger's units; never rounded down."""

    epsilon: int
    delta: int

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction) -> Cost:
        """The cost of an answer."""
        return cls(math.ceil(epsilon * _EPSILON_UNIT), math.ceil(delta * _DELTA_UNIT))

    def times(self, answers: int) -> Cost:
        """The cost of so many answers."""
        return Cost(self.epsilon * answers, self.delta * answers)

    def told(self) -> tuple[float, float]:
        """Epsilon and delta, as people read them."""
        return self.epsilon / _EPSILON_UNIT, self.delta / _DELTA_UNIT


_NOTHING = Cost(0, 0)


@dataclass(frozen=True, slots=True)
class Charge:
    """One line of the ledger."""

    collection: str
    """The collection that asked."""
    metric: str
    """The metric that was answered."""
    start: int
    """When the epoch began, in seconds since 1970-01-01T00:00:00Z; 0 in the sum of what is older than 400 days."""
    seconds: int
    """How long the epoch was."""
    epsilon: float
    """What the answer cost; 0 where it was remembered, and paid for before."""
    delta: float = 0.0
    """The delta that it cost; for most kinds of question none."""


class Ledger:
    """The device's charges and one collection's budgets, within a transaction of the state file."""

    def __init__(self, connection: sqlite3.Connection, collection: Collection) -> None:
        self._connection = connection
        self._collection = collection
        self._closed_before = closed_before(connection)
        self._lost = lost(connection)

    def charge(
        self,
        metric: Metric,
        epoch: int,
        *,
        remembered: bool = False,
        reserves: int | None = None,
    ) -> Cost:
        """Charge a metric's answer for an epoch; BudgetExceededError, and no charge, where it may not be given.

        An answer that is remembered was paid for when it was first given: it costs nothing, but has its line.
        `reserves` is how many answers this one pays for in the lifetime's budget, if not just itself.
        """
        seconds = self._collection.epoch_seconds
        start = epoch * seconds
        share = Cost.of(metric.epsilon.value, metric.kind.delta)
        cost = _NOTHING if remembered else share
        reserve = cost if reserves is None else share.times(reserves)
        self._check_past(metric, start)
        self._check_epoch(metric, start, share)
        self._check_lifetime(metric, reserve)
        self._connection.execute(
            "INSERT INTO charge VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (start, metric.name, self._collection.name, seconds, cost.epsilon, share.epsilon, reserve.epsilon,
             cost.delta, share.delta, reserve.delta),
        )  # fmt: skip
        return cost

    def _check_past(self, metric: Metric, start: int) -> None:
        if start < self._closed_before:
            raise BudgetExceededError("what was spent on this time is no longer known line by line")
        lasting = metric.memoize or metric.kind.delta or self._collection.budget.lifetime is not None
        if self._lost and lasting:
            raise BudgetExceededError("what was spent before the state file was lost is not known")

    def _check_epoch(self, metric: Metric, start: int, share: Cost) -> None:
        """Hold what any collection's metrics have taken of this time against the budget of an epoch."""
        end = start + self._collection.epoch_seconds
        shares = taken(self._connection, start, end)
        if any(name == metric.name for name, _ in shares):
            raise BudgetExceededError(f"{metric.name} has been answered for this time already")
        budget = self._collection.budget
        limit = Cost.of(budget.epoch, budget.epoch_delta)
        if sum(own.epsilon for _, own in shares) + share.epsilon > limit.epsilon:
            raise BudgetExceededError(f"{metric.name} would go beyond the budget of the epoch")
        if sum(own.delta for _, own in shares) + share.delta > limit.delta:
            raise BudgetExceededError(f"{metric.name} would go beyond the epoch's budget of delta")

    def _check_lifetime(self, metric: Metric, reserve: Cost) -> None:
        """Hold what was ever reserved, for any collection, against the budget of a lifetime."""
        budget = self._collection.budget
        if budget.lifetime is None and not reserve.delta:
            return
        ever = reserved(self._connection)
        limit = Cost.of(budget.lifetime or Fraction(0), budget.lifetime_delta)
        if budget.lifetime is not None and ever.epsilon + reserve.epsilon > limit.epsilon:
            raise BudgetExceededError(f"{metric.name} would go beyond the budget of a lifetime")
        if reserve.delta and ever.delta + reserve.delta > limit.delta:
            raise BudgetExceededError(f"{metric.name} would go beyond a lifetime's budget of delta")

    def check_question(self, metric: Metric, question: bytes) -> None:
        """BudgetExceededError where a metric's name has had too many questions, and no lifetime limits them.

        Questions are counted, and not what is remembered of them, which depends on what the answers were. One of
        which anything is remembered costs nothing more: it need not be checked.
        """
        (others,) = self._connection.execute(
            "SELECT count(*) FROM question WHERE metric = ? AND question <> ?", (metric.name, question)
        ).fetchone()
        if self._collection.budget.lifetime is None and others >= _QUESTIONS:
            raise BudgetExceededError(f"{metric.name} has had {others} other meanings: give [budget] a lifetime")

    def note_question(self, metric: Metric, question: bytes) -> None:
        """Count a question that has been answered."""
        self._connection.execute("INSERT OR IGNORE INTO question VALUES (?, ?)", (metric.name, question))


def closed_before(connection: sqlite3.Connection) -> float:
    """The time before which nothing is answered: what was spent on it is not known line by line."""
    (ends,) = connection.execute("SELECT coalesce(max(ends), 0) FROM settled_charge").fetchone()
    return max(float(ends), float(get(connection, "not_before") or 0.0))


def taken(connection: sqlite3.Connection, start: int, end: int) -> list[tuple[str, Cost]]:
    """What each metric has taken of the budget of an epoch, for a span of time: names and shares."""
    rows = connection.execute(
        "SELECT metric, share, delta_share FROM charge WHERE start > ? AND start < ? AND start + seconds > ?",
        (start - _LONGEST, end, start),
    )
    return [(metric, Cost(epsilon, delta)) for metric, epsilon, delta in rows]


def reserved(connection: sqlite3.Connection) -> Cost:
    """What was ever taken of the budget of a lifetime."""
    return Cost(*connection.execute(
        "SELECT coalesce(sum(reserve), 0), coalesce(sum(delta_reserve), 0) FROM "
        "(SELECT reserve, delta_reserve FROM charge UNION ALL SELECT reserve, delta_reserve FROM settled_charge)"
    ).fetchone())  # fmt: skip


def settle(connection: sqlite3.Connection, certain: float) -> None:
    """Add up what is older than 400 days: a device that answers every hour for years keeps a short ledger.

    A time before these lines' end is closed from then on. `certain` is therefore not what the device's clock says,
    which may be years ahead, but the beginning of an epoch that an aggregator has just accepted.
    """
    _add_up(connection, certain - _SETTLED_AFTER)
    coins.settle(connection, certain - _SETTLED_AFTER)


def forget(connection: sqlite3.Connection) -> None:
    """Keep what all answers may have cost, and nothing of when what was answered, or of how many answers it took.

    The sums are those that were reserved, which do not depend on answers; the budgets go on as they were.
    """
    _add_up(connection, float("inf"))
    connection.execute(
        "UPDATE settled_charge SET cost = reserve, delta_cost = delta_reserve, "
        "ends = (SELECT max(ends) FROM settled_charge)"
    )


def _add_up(connection: sqlite3.Connection, before: float) -> None:
    connection.execute(
        "INSERT INTO settled_charge SELECT collection, metric, max(start + seconds) AS ends, sum(cost) AS cost, "
        "sum(reserve) AS reserve, sum(delta_cost) AS delta_cost, sum(delta_reserve) AS delta_reserve FROM charge "
        "WHERE start + seconds <= ? GROUP BY collection, metric "
        "ON CONFLICT DO UPDATE SET ends = max(ends, excluded.ends), cost = cost + excluded.cost, "
        "reserve = reserve + excluded.reserve, delta_cost = delta_cost + excluded.delta_cost, "
        "delta_reserve = delta_reserve + excluded.delta_reserve",
        (before,),
    )
    connection.execute("DELETE FROM charge WHERE start + seconds <= ?", (before,))


def charges(connection: sqlite3.Connection) -> list[Charge]:
    """All charges, the oldest first."""
    rows = connection.execute(
        "SELECT collection, metric, 0, ends, cost, delta_cost FROM settled_charge "
        "UNION ALL SELECT collection, metric, start, seconds, cost, delta_cost FROM charge ORDER BY 3, 1, 2"
    )
    return [
        Charge(collection, metric, start, seconds, *Cost(cost, delta).told())
        for collection, metric, start, seconds, cost, delta in rows
    ]


def read(path: str | Path) -> list[Charge]:
    """All charges in a state file."""
    with reading(path) as connection:
        return charges(connection)
