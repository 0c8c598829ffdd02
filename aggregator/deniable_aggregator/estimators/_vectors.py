"""Vectors: the mean of every entry, from reports with noise of known variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.estimators._intervals import mean
from deniable_aggregator.estimators._shared import allowance, possible
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
    """The variance that the mechanism adds to an entry, at most."""
    least: float
    """The same at least: it may depend on the entry."""
    step: float = 1
    """What one step of the grid adds to a sum, on average."""

    @classmethod
    def of(cls, counters: NDArray[np.int64], noise: float) -> Entries:
        """Counters: reports, sums, then the low and the high limbs of the sums of squares."""
        totals, low, high = (part.tolist() for part in np.split(counters[1:], 3))
        squares = tuple(less + (more << 32) for less, more in zip(low, high, strict=True))
        return cls(int(counters[0]), tuple(totals), squares, noise, noise)

    def estimate(self, confidence: float, target: Target) -> list[tuple[float, float, float, float]]:
        """For each entry the mean, its standard error, and its interval, in steps of the grid."""
        step = self.step
        if target is Target.POPULATION or self.reports == 0:
            found = [
                mean(self.reports, total, squares, confidence, self.least)
                for total, squares in zip(self.totals, self.squares, strict=True)
            ]
            return [(value / step, error / step, low / step, high / step) for value, error, low, high in found]
        error = math.sqrt((self.noise / step**2 + _ROUNDING) / self.reports)
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * error
        values = [total / self.reports / step for total in self.totals]
        return [(value, error, value - reach, value + reach) for value in values]

    def shared(self, grid: int, spread: float, confidence: float) -> NDArray[np.float64]:
        """For each entry, which lies between -grid and grid, what of its variance is of the vectors, at most.

        As of means (`_means.py`), in squared ranges, but for many entries at once: of what s^2 is uncertain by, what
        depends on the spread is taken for spread (1 + 6 E y^2), so that a quadratic equation has the spread that is
        raised for it. No noise has heavier tails than Laplace's.
        """
        n, size, noise, rounded = self.reports, 2 * grid * self.step, self.noise, _ROUNDING * self.step**2
        if n < 2:
            return np.ones(len(self.totals))
        pairs = zip(self.totals, self.squares, strict=True)
        variances = np.array([(n * square - total * total) / (n * (n - 1)) for total, square in pairs]) / size**2
        values = np.array(self.totals, dtype=np.float64) / n / size + 0.5
        least, most, rounding = self.least / size**2, (noise + rounded) / size**2, rounded / size**2
        squared = (noise + 6 * noise * (noise + rounded) + rounded) / size**4 - least**2
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        scale = z * z / n
        linear, free = scale * (spread + 6 * most), scale * (squared + rounding * spread)
        shown = variances - least
        seen = np.maximum(shown, 0)
        errors = np.sqrt(np.maximum(linear * seen + free, 0)) / z  # of what is shown
        few = (allowance(spread * errors / (least + spread * seen), z) / z) ** 2
        linears, frees = linear * few, free * few
        believed = shown + linears / 2 + np.sqrt(np.maximum(linears * shown + linears**2 / 4 + frees, 0))
        kept = np.minimum(np.maximum(believed, 0), possible(values, variances, spread, scale))
        parts: NDArray[np.float64] = np.minimum(kept / np.maximum(variances, least), 1)
        return parts
