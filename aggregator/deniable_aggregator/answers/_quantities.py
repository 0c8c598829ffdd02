"""Rows of quantities, for every kind that asks for a mean: the mean, the total, and how much devices differ.

The standard deviation is told where the reports show it. One bit does not, nor does noise around counts that have no
limit: their tail, which decides how uncertain it is, could be anything.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Quantity
from deniable_aggregator.answers._estimate import Estimate, Measure, Row
from deniable_aggregator.estimators import Means, Target, means

__all__ = ["quantity_answer", "quantity_truth"]


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
    mean = Row("mean", start + size * value, low, high, size * error, Measure.QUANTITY)
    total = Row("total", mean.value * count, low * count, high * count, mean.std_error * count, Measure.TOTAL)
    rows = [mean, total]
    if isinstance(found, Means) and kind.limited:
        value, error, low, high = (size * share for share in found.deviation(confidence, target))
        rows.append(Row("standard deviation", value, low, high, error, Measure.QUANTITY))
    return Estimate(metric.name, count, tuple(rows), confidence, target)


def _possible(value: float, low: float, high: float) -> tuple[float, float]:
    """The interval; one without any possible share is moved to where it would be had the nearest one come out."""
    move = min(max(value, 0.0), 1.0) - value if high < 0 or low > 1 else 0.0
    return low + move, high + move


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
