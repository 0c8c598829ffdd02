"""Metrics, as a collection has read them, and what a device may spend on them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, NamedTuple

from deniable.collection.reduce import Reducer
from deniable.epsilon import Epsilon
from deniable.kinds import Kind
from deniable.mechanisms import Mechanism
from deniable.payload import Shape
from deniable.randomness import word

__all__ = ["EPOCH_DELTA", "LIFETIME_DELTA", "Budget", "Column", "Metric", "Report", "meaning"]

EPOCH_DELTA = Fraction(1, 10**5)
LIFETIME_DELTA = Fraction(1, 10**3)


class Report(NamedTuple):
    """One randomised answer."""

    column: int
    """The number of the column."""
    payload: int
    """What was answered: nothing that any device could not have answered."""


@dataclass(frozen=True, slots=True)
class Column:
    """One mechanism collecting one thing."""

    number: int
    """Its number in the collection; what a report names."""
    metric: str
    """The metric that it belongs to."""
    mechanism: Mechanism
    """How its answers are randomised."""

    @property
    def shape(self) -> Shape:
        """The payloads of its reports, and the counters that they add up to."""
        return self.mechanism.shape

    def channel(self) -> tuple[dict[int, Fraction], ...]:
        """For every input, the exact probability of every payload."""
        return self.mechanism.channel()


@dataclass(frozen=True, slots=True)
class Metric:
    """One question of a collection."""

    name: str
    """Its name in the file."""
    description: str
    """The question, in words that the person counted would understand."""
    kind: Kind
    """What sort of question it is, with its parameters."""
    epsilon: Epsilon
    """The most that one epoch's answer costs a device."""
    columns: tuple[Column, ...]
    """The columns that it fills; a device answers one of them an epoch."""
    reducer: Reducer
    """How several values of one epoch become one."""
    memoize: bool = False
    """Whether a device remembers its randomised answer and gives the same one every time."""
    recalled: int = 0
    """With `memoize`: how many distinct answers a device remembers, and pays for, at most."""
    instantaneous: Epsilon | None = None
    """With `memoize`: the most that one report tells of what is remembered; None: all, it is repeated as it is."""
    expires: date | None = None
    """The first day on which devices no longer answer."""
    sources: tuple[Metric, ...] = ()
    """The metrics whose values it is answered from; none: what is recorded for itself."""
    revision: int = 1
    """Raised by who has changed what is meant, where nothing else of its reports' meaning has changed."""
    reason: str = ""
    """What the answer is wanted for, in words that the person counted would understand; no part of the digest."""
    owner: str = ""
    """Whom to ask about it: unless it says so itself, the collection's owner. No part of the digest."""
    sample: Fraction = Fraction(1)
    """The chance with which a device takes part in an epoch: its collection's."""

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanisms of its columns, each once."""
        return tuple(dict.fromkeys(column.mechanism for column in self.columns))

    @property
    def mechanism(self) -> str:
        """How it is asked, in the words of the collection file: the names of its mechanisms."""
        return ", ".join(dict.fromkeys(mechanism.name for mechanism in self.mechanisms))

    def encode(self, value: Any, draw: Callable[[], int]) -> tuple[Column, int]:
        """The column and the mechanism's input for a checked value; `draw` gives words for what is left to chance."""
        place, chosen = self.kind.encode(value, [column.mechanism for column in self.columns], draw)
        return self.columns[place], chosen

    def randomize(self, value: Any) -> Report:
        """One randomised answer to a value, without state or ledger; InvalidValueError for what is not taken."""
        column, chosen = self.encode(self.kind.check(value), word)
        return Report(column.number, column.mechanism.randomize(chosen))


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that one device spends."""

    epoch: Fraction
    """In one epoch, over all metrics."""
    lifetime: Fraction | None
    """Ever; None: no such limit."""
    epoch_delta: Fraction = EPOCH_DELTA
    """Of delta, in one epoch."""
    lifetime_delta: Fraction = LIFETIME_DELTA
    """Of delta, ever."""


def meaning(metric: Metric, *, worded: bool = True) -> dict[str, Any]:
    """What gives the metric's reports their meaning, in plain JSON; not `worded`, without the descriptions.

    Of a metric that is fed that is also what the values of its sources mean: where it is remembered, it is another
    question, with a memory of its own, as soon as they mean something else.
    """
    told = _asked(metric, worded) | {
        "epsilon": str(metric.epsilon),
        "memoize": metric.memoize,
        "remembered_answers": metric.recalled,
        "columns": [{"mechanism": c.mechanism.name, **c.mechanism.parameters()} for c in metric.columns],
    }
    sources = [{"name": source.name, **_asked(source, worded)} for source in metric.sources]
    return told | {"of": sources} if sources else told


def _asked(metric: Metric, worded: bool) -> dict[str, Any]:
    """What a metric's reduced value means, however it is reported."""
    return {
        **({"description": metric.description} if worded else {}),
        **({"revision": metric.revision} if metric.revision > 1 else {}),  # the first has always been without
        "kind": metric.kind.name,
        "parameters": metric.kind.parameters(),
        "reduce": metric.reducer.name,
    }
