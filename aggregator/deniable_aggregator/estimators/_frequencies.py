"""Frequencies: how often each input occurs, from how many reports support it.

words:
  support    a report supports some inputs: a symbol itself, a bitmap the bits that are set
  p          P(a report supports its own input)
  q          P(a report supports another input), the same for all others
  observed   lambda, the share of reports that support an input; for a share f of devices with that input its
             expectation is q + f (p - q), so that f is estimated by (lambda - q) / (p - q)
  kept       what a device brings along into every epoch: its answer, or what it remembers of it, which supports
             the answer with a chance of its own

(Wang, Blocki, Li, Jha: Locally differentially private protocols for frequency estimation, 2017.)

**Over several epochs.** What is kept supports an input with a chance of g = q1 + f (p1 - q1); p1 is 1 and q1 is 0
where the answer itself is kept. Of the variance of a report's estimate, lambda (1 - lambda) / (p - q)^2, the part
g (1 - g) / (p1 - q1)^2 comes from that, exactly, and the rest is drawn anew in every epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Supporting
from deniable_aggregator.estimators._intervals import proportion
from deniable_aggregator.estimators._shared import parts
from deniable_aggregator.estimators._target import Target

__all__ = ["GRAIN", "Frequencies", "chances"]

_Floats = NDArray[np.float64]

GRAIN = 0.75
"""Reports squared, added to the variance of a count around the devices' own: counts are whole, and where few lies are
expected the quadratic is too narrow without (79% at epsilon 6 and 100 reports; with it 94.3% at the least)."""


@lru_cache(maxsize=1024)
def chances(mechanism: Supporting) -> tuple[float, float]:
    """A mechanism's p and q: of a wrapper through both steps, in rationals of hundreds of bits, once for all that is
    estimated."""
    return float(mechanism.p), float(mechanism.q)


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How many of the reports support each input."""

    reports: int
    """How many there are."""
    supports: NDArray[np.int64]
    """For each input, how many support it."""
    p: float
    """The chance that a report supports its own input."""
    q: float
    """The chance that it supports another."""
    kept: tuple[float, float] = (1.0, 0.0)
    """These chances for what a device keeps: p1 and q1."""

    @property
    def values(self) -> _Floats:
        """The share of each input, not corrected; nan without reports."""
        with np.errstate(invalid="ignore"):
            return (self.supports / np.float64(self.reports) - self.q) / (self.p - self.q)

    def std_errors(self, target: Target) -> _Floats:
        """The standard error of each share."""
        reports = np.float64(self.reports)
        with np.errstate(invalid="ignore"):
            observed = self.supports / reports
            if target is Target.POPULATION:
                return np.sqrt(observed * (1 - observed) / reports) / abs(self.p - self.q)
            return np.sqrt(np.maximum(self._noise(np.clip(self.values, 0, 1)), 0))

    def _noise(self, shares: _Floats) -> _Floats:
        """The variance for given devices: (q (1 - q) + f (p - q) (1 - p - q)) / (n (p - q)^2)."""
        p, q = self.p, self.q
        return (q * (1 - q) + shares * (p - q) * (1 - p - q)) / (self.reports * (p - q) ** 2)

    def intervals(self, confidence: float, target: Target) -> tuple[_Floats, _Floats]:
        """Low and high ends for each share, within [0, 1]."""
        if self.reports == 0:
            return np.zeros(len(self.supports)), np.ones(len(self.supports))
        if target is Target.POPULATION:
            ends = proportion(self.supports, self.reports, confidence)
            mapped = [(end - self.q) / (self.p - self.q) for end in ends]
            low, high = np.minimum(*mapped), np.maximum(*mapped)
        else:
            low, high = self._score(NormalDist().inv_cdf((1 + confidence) / 2))
        low, high = (np.minimum(np.maximum(end, 0.0), 1.0) for end in (low, high))
        return low, high

    def shared(self, spread: float, confidence: float, target: Target) -> _Floats:
        """For each input the part of a report's variance that is of what devices keep, at three places: `parts`."""
        kept, whole = (_variance(*chances, target) for chances in (self.kept, (self.p, self.q)))
        return parts(self.values, kept, whole, spread, self.reports, confidence)

    def _score(self, z: float) -> tuple[_Floats, _Floats]:
        """All f with (estimate - f)^2 <= z^2 noise(f): their ends solve a quadratic equation, as Wilson's do."""
        p, q = self.p, self.q
        grain = GRAIN / self.reports
        spread = z * z / (self.reports * (p - q) ** 2)
        linear = spread * (p - q) * (1 - p - q) / 2
        middle = self.values + linear
        half = np.sqrt(np.maximum(middle**2 - self.values**2 + spread * (q * (1 - q) + grain), 0))
        return middle - half, middle + half


def _variance(p: float, q: float, target: Target) -> _Floats:
    """Of one report's estimate of a share f: the coefficients of 1, f and f^2."""
    rate = p - q
    if target is Target.POPULATION:
        return np.array([q * (1 - q), rate * (1 - 2 * q), -(rate**2)]) / rate**2
    return np.array([q * (1 - q), rate * (1 - p - q), 0.0]) / rate**2
