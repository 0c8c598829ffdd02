"""Category: the proportion of each value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Category
from deniable_aggregator.answers._estimate import Estimate
from deniable_aggregator.answers._shares import share_rows
from deniable_aggregator.estimators import Target, frequencies

__all__ = ["answer", "shared", "truth"]


def answer(metric: Metric, counters: Sequence[NDArray[np.int64]], confidence: float, target: Target) -> Estimate:
    """A row a value, in the order of the collection file."""
    assert isinstance(metric.kind, Category)
    found = frequencies(metric.columns[0].mechanism, counters[0])
    rows = share_rows(metric.kind.values, found, confidence, target)
    return Estimate(metric.name, found.reports, rows, confidence, target)


def shared(
    metric: Metric, counters: Sequence[NDArray[np.int64]], spread: Sequence[float], confidence: float, target: Target
) -> NDArray[np.float64]:
    """What of the variance of each row is of what devices keep."""
    return frequencies(metric.columns[0].mechanism, counters[0]).shared(spread[0], confidence, target)


def truth(metric: Metric, values: Sequence[Any]) -> list[float]:
    """What the rows would say if the values were known."""
    assert isinstance(metric.kind, Category)
    counted = Counter(values)
    return [counted[value] / len(values) for value in metric.kind.values]
