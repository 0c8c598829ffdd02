"""Vector: the mean of each entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Vector
from deniable_aggregator.answers._estimate import Estimate, Measure, Row
from deniable_aggregator.estimators import Target, entries

__all__ = ["answer", "shared", "truth"]


def answer(metric: Metric, counters: Sequence[NDArray[np.int64]], confidence: float, target: Target) -> Estimate:
    """A row a dimension, counted from 0 as programs do; no entry of a clipped vector is beyond the clip."""
    kind = metric.kind
    assert isinstance(kind, Vector)
    found, clip = entries(metric.columns[0].mechanism, counters[0]), float(kind.clip)
    step = clip / kind.grid
    rows = []
    for number, (value, error, *ends) in enumerate(found.estimate(confidence, target)):
        low, high = (min(max(step * end, -clip), clip) for end in ends)
        rows.append(Row(str(number), step * value, low, high, step * error, Measure.QUANTITY))
    return Estimate(metric.name, found.reports, tuple(rows), confidence, target)


def shared(
    metric: Metric,
    counters: Sequence[NDArray[np.int64]],
    spread: Sequence[float],
    confidence: float,
    target: Target,  # noqa: ARG001 - what is kept of a vector is its value, which only a population has
) -> NDArray[np.float64]:
    """What of the variance of each row is of what devices keep."""
    assert isinstance(metric.kind, Vector)
    found = entries(metric.columns[0].mechanism, counters[0])
    return np.tile(found.shared(metric.kind.grid, spread[0], confidence), (3, 1))


def truth(metric: Metric, values: Sequence[Any]) -> list[float]:
    """What the rows would say if the values were known."""
    assert isinstance(metric.kind, Vector)
    means: list[float] = np.mean([metric.kind.clipped(value) for value in values], axis=0).tolist()
    return means
