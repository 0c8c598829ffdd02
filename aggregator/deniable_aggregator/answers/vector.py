"""Vector: the mean of each entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Vector
from deniable_aggregator.answers._estimate import Estimate, Heading, Measure, Row, RowId, Series
from deniable_aggregator.answers._room import Counters, Room, varying
from deniable_aggregator.estimators import Contributions, Target, entries, farthest, rest

__all__ = ["MEANS", "VectorRoom"]

MEANS = "means"
"""The series of a vector."""


class VectorRoom(Room):
    """A row a dimension, counted from 0 as programs do."""

    kind = Vector
    view = "quantities"

    def headings(self, metric: Metric) -> tuple[Heading, ...]:
        """Means; no entry of a clipped vector is beyond the clip."""
        clip = float(_kind(metric).clip)
        return (Heading(MEANS, Measure.QUANTITY, span=(-clip, clip)),)

    def answer(self, metric: Metric, counters: Counters, confidence: float, target: Target) -> Estimate:
        """The mean of every entry."""
        kind, (heading,) = _kind(metric), self.headings(metric)
        found, clip = entries(metric.columns[0].mechanism, counters[0]), float(kind.clip)
        step = clip / kind.grid
        rows = []
        for number, (value, error, *ends) in enumerate(found.estimate(confidence, target)):
            low, high = (min(max(step * end, -clip), clip) for end in ends)
            rows.append(Row(str(number), step * value, low, high, step * error))
        return Estimate(metric.name, found.reports, (Series(heading, tuple(rows)),), confidence, target)

    def row_count(self, metric: Metric) -> int:
        """One a dimension."""
        return _kind(metric).dimensions

    def shared(
        self, metric: Metric, counters: Counters, pooled: Estimate, spread: Sequence[float]
    ) -> NDArray[np.float64]:
        """What of the variance of each row is of what devices keep: their value, which only a population has."""
        found = entries(metric.columns[0].mechanism, counters[0])
        return np.tile(found.shared(_kind(metric).grid, spread[0], pooled.confidence), (3, 1))

    def values_vary(self, metric: Metric, found: Estimate) -> NDArray[np.float64]:
        """Each entry as much as if it were at either end."""
        clip = float(_kind(metric).clip)
        return np.array([varying(row, -clip, clip) for row in found.rows])

    def without(self, metric: Metric, counters: Counters, found: Estimate, fakes: float) -> NDArray[np.float64]:  # noqa: ARG002
        """Each entry by as much as one can be that is sent."""
        kind, mechanism = _kind(metric), metric.columns[0].mechanism
        far = float(kind.clip) / kind.grid * farthest(mechanism)[0]
        values = np.array([row.value for row in found.rows])
        return np.stack(rest(values, Contributions.between(-far, far), fakes / found.reports))

    def truth(self, metric: Metric, values: Sequence[Any]) -> Mapping[RowId, float]:
        """The mean of every entry, of vectors that are clipped."""
        clipped = cache(_kind(metric).clipped)  # a population often has few, each of them many times
        means = np.mean([clipped(tuple(value)) for value in values], axis=0).tolist()
        return {RowId(MEANS, str(number)): mean for number, mean in enumerate(means)}


def _kind(metric: Metric) -> Vector:
    assert isinstance(metric.kind, Vector)
    return metric.kind
