"""Boolean: the proportion of yes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable_aggregator.answers._estimate import Estimate
from deniable_aggregator.answers._shares import share_rows
from deniable_aggregator.estimators import Target, frequencies

__all__ = ["answer", "shared", "truth"]


def answer(metric: Metric, counters: Sequence[NDArray[np.int64]], confidence: float, target: Target) -> Estimate:
    """One row: the share of devices that would say yes."""
    found = frequencies(metric.columns[0].mechanism, counters[0])
    rows = share_rows(("no", "yes"), found, confidence, target)
    return Estimate(metric.name, found.reports, rows[1:], confidence, target)


def shared(
    metric: Metric, counters: Sequence[NDArray[np.int64]], spread: Sequence[float], confidence: float, target: Target
) -> NDArray[np.float64]:
    """What of the variance of the row is of what devices keep."""
    return frequencies(metric.columns[0].mechanism, counters[0]).shared(spread[0], confidence, target)[:, 1:]


def truth(metric: Metric, values: Sequence[Any]) -> list[float]:  # noqa: ARG001
    """What the row would say if the values were known."""
    return [sum(values) / len(values)]
