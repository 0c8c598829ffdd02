"""Rows of quantities, for every kind that asks for a mean: the mean, the total, and how much devices differ.

The standard deviation is told where the reports show it. One bit does not, nor does noise around counts that have no
limit: their tail, which decides how uncertain it is, could be anything. For the same reason the mean of such counts
has a low end and no high one: one device that no sample has could be most of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Quantity
from deniable_aggregator.answers._estimate import Estimate, Measure, Row
from deniable_aggregator.estimators import Means, OneBit, Target, means

__all__ = ["quantity_answer", "quantity_shared", "quantity_truth"]

_OPEN = "no upper end: without a max, a few devices that have not reported could be most of the mean"


def quantity_answer(
    metric: Metric, counters: Sequence[NDArray[np.int64]], confidence: float, target: Target
) -> Estimate:
    """Rows in the unit of the collection file; the total is of as many devices as have reported."""
    kind = metric.kind
    assert isinstance(kind, Quantity)
    found, (start, end) = means(metric.columns[0].mechanism, counters[0]), kind.ends
    size, count = end - start, found.reports
    value, error, *reach = found.estimate(confidence, target)
    low, high = (min(max(start + size * share, start), end) for share in _possible(value, *reach))
    note = ""
    if isinstance(found, Means) and not kind.limited and target is Target.POPULATION:
        note = _OPEN
        low, high = max(size * found.floor(confidence), start), math.inf
    mean = Row("mean", start + size * value, low, high, size * error, Measure.QUANTITY)
    most = high * count if count else 0.0  # infinity times nothing is not a number
    total = Row("total", mean.value * count, low * count, most, mean.std_error * count, Measure.TOTAL)
    rows = [mean, total]
    if isinstance(found, Means) and kind.limited:
        value, error, low, high = (size * share for share in found.deviation(confidence, target))
        rows.append(Row("standard deviation", value, low, high, error, Measure.QUANTITY))
    return Estimate(metric.name, count, tuple(rows), confidence, target, note=note)


def _possible(value: float, low: float, high: float) -> tuple[float, float]:
    """The interval; one without any possible share is moved to where it would be had the nearest one come out."""
    move = min(max(value, 0.0), 1.0) - value if high < 0 or low > 1 else 0.0
    return low + move, high + move


def quantity_shared(
    metric: Metric,
    counters: Sequence[NDArray[np.int64]],
    spread: Sequence[float],
    confidence: float,
    target: Target,  # noqa: ARG001 - one bit is as uncertain for both, and all else keeps its value alone
) -> NDArray[np.float64]:
    """What of the variance of each row is of what devices keep; of counts without a limit it could be all."""
    kind, found = metric.kind, means(metric.columns[0].mechanism, counters[0])
    assert isinstance(kind, Quantity)
    if isinstance(found, OneBit):
        return np.tile(found.shared(spread[0], confidence)[:, np.newaxis], (1, 2))
    if not kind.limited:
        return np.ones((3, 2))
    mean, deviation = found.shared(spread[0], confidence)
    return np.tile([mean, mean, deviation], (3, 1))


def quantity_truth(metric: Metric, values: Sequence[float]) -> list[float]:
    """What the rows would say if the values were known."""
    kind, column = metric.kind, metric.columns[0]
    assert isinstance(kind, Quantity)
    clipped = np.clip(np.asarray(values, dtype=np.float64), *kind.ends)
    rows = [float(clipped.mean()), float(clipped.sum())]
    none = np.zeros(column.shape.counters, dtype=np.int64)
    if isinstance(means(column.mechanism, none), Means) and kind.limited:
        rows.append(float(clipped.std()))
    return rows
