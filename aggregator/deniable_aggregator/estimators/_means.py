"""Means: what a quantity is on average, from how many reports there are, their sum and the sum of their squares.

words:
  scale, offset    a report y stands for the quantity offset + scale y
  noise            the variance of one report around its device's quantity, in units of y; what is known of it
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from deniable_aggregator.estimators._intervals import mean
from deniable_aggregator.estimators._target import Target

__all__ = ["Means"]


@dataclass(frozen=True, slots=True)
class Means:
    """Sums of reports about one quantity."""

    reports: int
    """How many there are."""
    total: int
    """Their sum."""
    squares: int
    """The sum of their squares."""
    offset: float
    """What a report of 0 stands for, in steps of the grid."""
    noise: float
    """The variance that the mechanism adds to every report."""

    def estimate(self, confidence: float, target: Target) -> tuple[float, float, float, float]:
        """The mean, its standard error, and its interval, in steps of the grid."""
        value, error, low, high = mean(self.reports, self.total, self.squares, confidence, self.noise)
        if target is Target.REPORTING and self.reports:
            error = math.sqrt(self.noise / self.reports)
            reach = NormalDist().inv_cdf((1 + confidence) / 2) * error
            low, high = value - reach, value + reach
        return value + self.offset, error, low + self.offset, high + self.offset
