"""Readings of a fitted tree: how uncertain they are, and between which ends shares can be.

words:
  reading    a sum of fitted shares with weights; its weights at the nodes of each level are known by a few sums
  sums       of a level's weights a and shares f, over some of its nodes: sum a^2, sum a, sum f a, sum f a^2, and how
             many nodes these are
  inside     of a reading that is a share of the devices: the nodes that these devices are in, as far as they are in
             them; the others are outside

**Ends.** What a share's error is depends on the share. Where few reports are expected, an estimate that is too low
has a variance that is too low as well, and an interval of so many of its errors to both sides ends too early (a
leaf with 6% of 50 devices was held 89% of the time at epsilon 4). So ends are those of a score interval, as
Wilson's are for a single share: all shares f of which the estimate is no more than so many errors away that it
would have if f were true. With more or fewer devices inside, these spread over the nodes inside as those that there
are, and so do the others outside: sum f a and sum f a^2 are straight lines in f, the variance is a parabola, and
the ends solve a quadratic equation. How devices spread inside and outside is taken from what is told of them, and,
as far as that is no more than an error, is even.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.estimators._frequencies import GRAIN

__all__ = ["SUMS", "Chances", "Spread"]

_Floats = NDArray[np.float64]

SUMS = 5
"""So many sums are known of the weights of each level."""
_LEAST = 0.5
"""The part of the variance without any devices that a variance has at least: shares are known with noise."""


@dataclass(frozen=True, slots=True, eq=False)
class Chances:
    """Those of the reports of every level: see `_levels.py`."""

    p: _Floats
    q: _Floats
    near: _Floats
    """Of supporting the own node and a certain other one."""
    far: _Floats
    """Of supporting two certain others."""
    reports: _Floats

    def variances(self, squares: _Floats, total: _Floats, mean: _Floats, own: _Floats) -> _Floats:
        """Of one report of each level, times (p - q)^2."""
        rate, others = self.p - self.q, total * mean - own
        second = self.q * squares + rate * own + 2 * self.near * others
        second = second + self.far * (total**2 - squares - 2 * others)
        found: _Floats = second - (self.q * total + rate * mean) ** 2
        return found

    def added(self, variances: _Floats) -> _Floats:
        """Those of the whole, from those of one report of each level, times (p - q)^2."""
        whole: _Floats = (variances / (self.p - self.q) ** 2 / self.reports).sum(axis=-1)
        return whole


class Spread:
    """How uncertain some readings are."""

    def __init__(self, chances: Chances, values: _Floats, sums: _Floats, inside: _Floats | None = None) -> None:
        self.values = values
        """What is read."""
        self._chances, self._sums, self._inside = chances, sums, inside
        squares, total, mean, own, _ = _each(sums)
        nothing = np.zeros(total.shape)
        least = _LEAST * chances.variances(squares, total, nothing, nothing)
        self._grain = GRAIN * squares / np.maximum(chances.reports, 1)
        whole = np.maximum(chances.variances(squares, total, mean, own), least) + self._grain
        kept = np.minimum(np.maximum(own - mean**2, 0), whole / (chances.p - chances.q) ** 2)
        self.variances = chances.added(whole)
        """Of each, about the population that the devices are a sample of."""
        self.kept = (kept / chances.reports).sum(axis=-1)
        """The part of it that is of what the devices are, and would be without noise."""

    def ends(self, reach: float) -> tuple[_Floats, _Floats]:
        """Of readings that are shares, from where to where these can be: so many errors away. They may be where no
        share is."""
        assert self._inside is not None
        values, doubt = self.values, np.sqrt(self.variances)
        certain = doubt == 0
        doubt = np.where(certain, 1.0, doubt)
        here = _average(self._inside, values, doubt)
        there = _average(self._sums - self._inside, 1 - values, doubt)
        squares, total = self._sums[..., 0], self._sums[..., 1]
        none, half, all_of = (
            self._chances.added(
                self._chances.variances(squares, total, *(there + share * (here - there))) + self._grain
            )
            for share in (0.0, 0.5, 1.0)
        )  # a parabola is known by three of its points
        bend = 2 * (none + all_of) - 4 * half
        slope = all_of - none - bend
        whole, middle = 1 - reach**2 * bend, values + reach**2 * slope / 2
        side = np.sqrt(np.maximum(middle**2 - whole * (values**2 - reach**2 * none), 0.0))
        low, high = (np.where(certain, values, (middle + sign * side) / whole) for sign in (-1, 1))
        return low, high


def _average(sums: _Floats, shares: _Floats, doubt: _Floats) -> _Floats:
    """What a device counts for that is one of some share, on average, and the square of it."""
    squares, total, mean, own, count = _each(sums)
    share, error = np.maximum(shares, 0.0)[:, np.newaxis], doubt[:, np.newaxis]
    known = share > 0
    count = np.maximum(count, 1e-300)
    weight = (np.where(known, mean, 0.0) + error * total / count) / (share + error)
    square = (np.where(known, own, 0.0) + error * squares / count) / (share + error)
    return np.array([weight, np.maximum(square, weight**2)])


def _each(sums: _Floats) -> tuple[_Floats, ...]:
    """The sums one by one, of all readings and levels."""
    return tuple(sums[..., place] for place in range(SUMS))
