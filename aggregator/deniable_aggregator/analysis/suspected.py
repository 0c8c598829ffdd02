"""Suspected: which of a window's epochs have marks of fakes.

Marks are looked for in an epoch by itself: in a window of several the same devices may have reported in each, and
what is seldom in one epoch is not in their sum. The last seven are looked at, and how many reports the newest one has
beside all others of the window.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable_aggregator.analysis.question import LOOKED_AT, EpochSuspicion
from deniable_aggregator.analysis.windows import reports_of
from deniable_aggregator.answers import jump, suspicions

__all__ = ["suspected"]


def suspected(
    metric: Metric, window: range, epochs: Sequence[Sequence[NDArray[np.int64]]]
) -> tuple[EpochSuspicion, ...]:
    """The marks of a window's epochs, by their counters."""
    every = list(zip(window, epochs, strict=True))
    found = [
        EpochSuspicion(epoch, *own)
        for epoch, counters in every[-LOOKED_AT:]
        if any(column.any() for column in counters)
        for own in suspicions(metric, counters)
    ]
    sizes = [
        sum(reports_of(column.shape, own) for column, own in zip(metric.columns, counters, strict=True))
        for counters in epochs
    ]
    return (*found, *(EpochSuspicion(window[-1], *own) for own in jump(sizes)))
