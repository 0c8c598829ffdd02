"""Discrete Gaussian noise: every entry of a report is the grid point plus noise of known variance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Gaussian
from deniable_aggregator.estimators._vectors import Entries

__all__ = ["entries"]


def entries(mechanism: Gaussian, counters: NDArray[np.int64]) -> Entries:
    """Counters: reports, sums, then the low and the high limbs of the sums of squares."""
    return Entries.of(counters, mechanism.variance)
