"""Vectors: the mean of every entry, from reports with noise of known variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.estimators._intervals import mean
from deniable_aggregator.estimators._means import Means, Noise
from deniable_aggregator.estimators._target import Target

__all__ = ["Entries"]

_ROUNDING = 0.25
"""At most, for an entry between two grid points: it is reported as one of them, so that the mean is exact."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Sums of reports about the entries of a vector, in steps of the grid."""

    reports: int
    """How many there are."""
    totals: tuple[int, ...]
    """The sum of each entry."""
    squares: tuple[int, ...]
    """The sum of each entry's squares."""
    noise: float
    """The variance that the mechanism adds to every entry."""

    @classmethod
    def of(cls, counters: NDArray[np.int64], noise: float) -> Entries:
        """Counters: reports, sums, then the low and the high limbs of the sums of squares."""
        totals, low, high = (part.tolist() for part in np.split(counters[1:], 3))
        squares = tuple(less + (more << 32) for less, more in zip(low, high, strict=True))
        return cls(int(counters[0]), tuple(totals), squares, noise)

    def estimate(self, confidence: float, target: Target) -> list[tuple[float, float, float, float]]:
        """For each entry the mean, its standard error, and its interval, in steps of the grid."""
        if target is Target.POPULATION or self.reports == 0:
            return [
                mean(self.reports, total, squares, confidence, self.noise)
                for total, squares in zip(self.totals, self.squares, strict=True)
            ]
        error = math.sqrt((self.noise + _ROUNDING) / self.reports)
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * error
        values = [total / self.reports for total in self.totals]
        return [(value, error, value - reach, value + reach) for value in values]

    def shared(self, grid: int, spread: float, confidence: float) -> list[float]:
        """For each entry, which lies between -grid and grid, what of its variance is of the vectors, at most."""
        v = self.noise
        # The lightest tails that any mechanism's noise has are the normal ones, the heaviest are Laplace's.
        noise = Noise(v, v + _ROUNDING, 0.0963, v + 6 * v * (v + _ROUNDING) + 1 / 12, 2 * v * v)
        return [
            Means(self.reports, both, -grid, 2 * grid, noise).shared(spread, confidence)[0]
            for both in zip(self.totals, self.squares, strict=True)
        ]
