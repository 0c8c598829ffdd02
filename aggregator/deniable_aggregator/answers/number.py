"""Number: the mean, and the total of the devices that reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Number
from deniable_aggregator.answers._estimate import Estimate, Measure, Row
from deniable_aggregator.estimators import Target, means

__all__ = ["answer", "truth"]


def answer(metric: Metric, counters: Sequence[NDArray[np.int64]], confidence: float, target: Target) -> Estimate:
    """Two rows, in the unit of the collection file; the total is of as many devices as have reported."""
    kind = metric.kind
    assert isinstance(kind, Number)
    found = means(metric.columns[0].mechanism, counters[0])
    value, error, low, high = found.estimate(confidence, target)
    origin, step = float(kind.low), float(kind.step)
    low, high = (min(max(origin + step * end, origin), float(kind.high)) for end in (low, high))
    mean = Row("mean", origin + step * value, low, high, step * error, Measure.QUANTITY)
    count = found.reports
    total = Row("total", mean.value * count, low * count, high * count, mean.std_error * count, Measure.TOTAL)
    return Estimate(metric.name, count, (mean, total), confidence, target)


def truth(metric: Metric, values: Sequence[Any]) -> list[float]:
    """What the rows would say if the values were known."""
    kind = metric.kind
    assert isinstance(kind, Number)
    total = sum(min(max(value, float(kind.low)), float(kind.high)) for value in values)
    return [total / len(values), total]
