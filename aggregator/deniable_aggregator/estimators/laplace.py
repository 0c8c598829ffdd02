"""Discrete Laplace: a report is the grid point plus noise of known variance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Laplace
from deniable_aggregator.estimators._means import Means

__all__ = ["means"]

_ROUNDING = 0.25
"""At most, for a value between two grid points: it is reported as one of them, so that the mean is exact."""


def means(mechanism: Laplace, counters: NDArray[np.int64]) -> Means:
    """Counters: reports, sum, sum of squares in two limbs."""
    reports, total, low, high = (int(counter) for counter in counters)
    return Means(reports, total, low + (high << 32), mechanism.lowest, mechanism.variance + _ROUNDING)
