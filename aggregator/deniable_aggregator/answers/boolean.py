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

__all__ = ["answer", "truth"]


def answer(metric: Metric, counters: Sequence[NDArray[np.int64]], confidence: float, target: Target) -> Estimate:
    """One row: the share of devices that would say yes."""
    found = frequencies(metric.columns[0].mechanism, counters[0])
    rows = share_rows(("no", "yes"), found, confidence, target)
    return Estimate(metric.name, found.reports, rows[1:], confidence, target)


def truth(metric: Metric, values: Sequence[Any]) -> list[float]:  # noqa: ARG001
    """What the row would say if the values were known."""
    return [sum(values) / len(values)]
