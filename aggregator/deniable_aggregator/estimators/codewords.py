"""Codewords: the mean codeword lies in the direction of the mean vector, and is shorter by a factor that is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.codebook import LENGTH
from deniable.mechanisms import Codewords
from deniable_aggregator.estimators._vectors import Entries

__all__ = ["entries"]

_ROUNDED = 1 / 12
"""The variance of rounding an entry of a codeword to a whole number."""


def entries(mechanism: Codewords, counters: NDArray[np.int64]) -> Entries:
    """Counters: reports, sums, sums of squares."""
    totals, squares = (tuple(part.tolist()) for part in np.split(counters[1:], 2))
    least, most = (LENGTH**2 * spread + _ROUNDED for spread in sorted(mechanism.spread))
    step = mechanism.reach * LENGTH / mechanism.bound
    return Entries(int(counters[0]), totals, squares, most, least, step)
