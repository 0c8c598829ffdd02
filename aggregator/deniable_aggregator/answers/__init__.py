"""From a metric's counters to its answer: one kind a file, as on the client's side, registered here by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Boolean, Category, Count, Flags, Number, Ordinal, Set, Vector
from deniable_aggregator.answers import boolean, category, count, flags, number, ordinal, sets, vector
from deniable_aggregator.answers._estimate import Estimate, Measure, Row
from deniable_aggregator.estimators import Target
from deniable_aggregator.estimators import simultaneous as confidence_of_each

__all__ = ["Estimate", "Measure", "Row", "Target", "answer", "shared", "truth"]


class _Room(Protocol):
    """What the file of a kind has."""

    def answer(
        self, metric: Metric, counters: Sequence[NDArray[np.int64]], confidence: float, target: Target, /
    ) -> Estimate:
        """The answer of a metric from the counters of its columns, in their order."""

    def shared(
        self,
        metric: Metric,
        counters: Sequence[NDArray[np.int64]],
        spread: Sequence[float],
        confidence: float,
        target: Target,
        /,
    ) -> NDArray[np.float64]:
        """What of the variance of each row is of what devices keep over epochs; three rows, as `shared` says."""

    def truth(self, metric: Metric, values: Sequence[Any], /) -> list[float]:
        """What the rows of the answer would say if the values were known."""


_ROOMS: dict[str, _Room] = {
    Boolean.name: boolean,
    Category.name: category,
    Number.name: number,
    Count.name: count,
    Ordinal.name: ordinal,
    Flags.name: flags,
    Set.name: sets,
    Vector.name: vector,
}


def answer(
    metric: Metric,
    counters: Sequence[NDArray[np.int64]],
    confidence: float = 0.95,
    target: Target = Target.POPULATION,
    simultaneous: bool = False,
) -> Estimate:
    """The answer of a metric from the counters of its columns, in their order.

    Each interval holds with the confidence; simultaneous ones, which are wider, all do together.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, not {confidence}")
    room = _ROOMS[metric.kind.name]
    found = room.answer(metric, counters, confidence, target)
    if not simultaneous:
        return found
    each = confidence_of_each(confidence, len(found.rows))
    return replace(room.answer(metric, counters, each, target), confidence=confidence, simultaneous=True)


def shared(
    metric: Metric,
    counters: Sequence[NDArray[np.int64]],
    spread: Sequence[float],
    confidence: float = 0.95,
    target: Target = Target.POPULATION,
) -> NDArray[np.float64]:
    """For each row of an answer over several epochs, the part of a report's variance that is of what its device
    brings along into all of them, at most: at the low end of the interval, at the value, at the high end.

    `spread` says of each column how many times more reports it has than independent ones. What is not said of a
    mechanism by its chances alone (answers that are remembered, and sent as they are) is not asked for here.
    """
    return _ROOMS[metric.kind.name].shared(metric, counters, spread, confidence, target)


def truth(metric: Metric, values: Sequence[Any]) -> list[float]:
    """What the rows of the answer would say if the values of all devices were known: for simulations."""
    return _ROOMS[metric.kind.name].truth(metric, values)
