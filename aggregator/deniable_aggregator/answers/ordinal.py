"""Ordinal: the proportion of each value, and the mean rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Ordinal
from deniable_aggregator.answers._estimate import Estimate, Measure, Row
from deniable_aggregator.answers._shares import share_rows
from deniable_aggregator.estimators import Target, ranks

__all__ = ["answer", "shared", "truth"]


def answer(metric: Metric, counters: Sequence[NDArray[np.int64]], confidence: float, target: Target) -> Estimate:
    """A row a value, in their order, then the mean of their ranks: 1 for the first value, 2 for the second."""
    assert isinstance(metric.kind, Ordinal)
    found = ranks(metric.columns[0].mechanism, counters[0])
    rows = share_rows(metric.kind.values, found.shares, confidence, target)
    value, error, low, high = found.mean(confidence, target)
    mean = Row("mean rank", value, low, high, error, Measure.QUANTITY)
    return Estimate(metric.name, found.shares.reports, (*rows, mean), confidence, target)


def shared(
    metric: Metric, counters: Sequence[NDArray[np.int64]], spread: Sequence[float], confidence: float, target: Target
) -> NDArray[np.float64]:
    """What of the variance of each row is of what devices keep; all of the mean rank's, where that is a memory."""
    found = ranks(metric.columns[0].mechanism, counters[0])
    mean = np.full((3, 1), 1.0 if metric.memoize else found.shared(spread[0], confidence))
    return np.hstack([found.shares.shared(spread[0], confidence, target), mean])


def truth(metric: Metric, values: Sequence[Any]) -> list[float]:
    """What the rows would say if the values were known."""
    assert isinstance(metric.kind, Ordinal)
    counted = Counter(values)
    shares = [counted[value] / len(values) for value in metric.kind.values]
    return [*shares, sum(rank * share for rank, share in enumerate(shares, 1))]
