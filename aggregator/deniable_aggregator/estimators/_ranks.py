"""Ranks: where in an order devices are, from how often each place was named.

words:
  rank     the number of a place, counted from 1
  channel  P(y | x), a row an x
  guess    g(y): what one report of y says about the rank; its mean over the channel is the rank, whatever x is
  noise    the variance of a guess for one x
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.estimators._bounded import Shown, interval
from deniable_aggregator.estimators._shared import allowance, largest
from deniable_aggregator.estimators._target import Target

__all__ = ["Ranks", "Shares"]

_Floats = NDArray[np.float64]


class Shares(Protocol):
    """Estimates of shares with their intervals."""

    @property
    def reports(self) -> int:
        """How many reports there are."""

    @property
    def values(self) -> _Floats:
        """The shares, not corrected."""

    def std_errors(self, target: Target) -> _Floats:
        """The standard error of each."""

    def intervals(self, confidence: float, target: Target) -> tuple[_Floats, _Floats]:
        """Low and high ends for each."""

    def shared(self, spread: float, confidence: float, target: Target) -> _Floats:
        """What of the variance of each is of what devices keep, at low end, value and high end."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """Reports that name places."""

    named: NDArray[np.int64]
    """For each place, how many reports name it."""
    channel: _Floats
    """What devices at each place name."""
    shares: Shares
    """Of the devices at each place."""
    second: _Floats | None = None
    """Where places are remembered and named once more: what devices that remember each of them name."""

    def mean(self, confidence: float, target: Target) -> tuple[float, float, float, float]:
        """The mean rank, its standard error, low and high end.

        A population's guesses vary at least as much as the channel makes those of its calmest place vary: a sample
        that varies less, as a few reports can, is not believed, nor that no device is at a place that is far off
        because none of the reports names it (`_bounded.py`). Within the reporting devices noise alone counts, of each
        place as often as devices are there, and half a report more, for where noise is rare.
        """
        n, places = self.shares.reports, np.arange(1, len(self.named) + 1)
        if n == 0:
            return math.nan, math.nan, 1.0, float(len(places))
        guesses = np.linalg.solve(self.channel, places.astype(np.float64))
        noise = self.channel @ guesses**2 - places**2
        value = float(self.named @ guesses) / n
        if target is Target.POPULATION:
            spread = max(float(self.named @ (guesses - value) ** 2) / max(n - 1, 1), float(noise.min()))
            error = math.sqrt(spread / n)
            less, more = interval(self._shown(guesses, value, spread), confidence) if n > 1 else (math.inf, math.inf)
        else:
            shares = np.clip(self.shares.values, 0, 1)
            error, extra = math.sqrt(float(shares @ noise / shares.sum()) / n), float(np.ptp(guesses)) ** 2 / 2
            less = more = NormalDist().inv_cdf((1 + confidence) / 2) * math.hypot(error, math.sqrt(extra) / n)
        low, high = (min(max(end, 1.0), float(len(places))) for end in (value - less, value + more))
        return value, error, low, high

    def named_by(self) -> tuple[_Floats, _Floats]:
        """For each place, the least and the greatest chance that a report names it, wherever its device is."""
        return self.channel.min(axis=0), self.channel.max(axis=0)

    def contributions(self) -> list[_Floats]:
        """What a report that names each place contributes to each share, and at last to the mean rank."""
        parts = np.linalg.inv(self.channel)
        return [*parts.T, parts @ np.arange(1, len(self.named) + 1)]

    def _shown(self, guesses: NDArray[np.floating[Any]], value: float, variance: float) -> Shown:
        """In ranks; a guess may lie beyond the last place, and one of noise as well as one of a device."""
        n, off = self.shares.reports, guesses - value
        second, third, fourth = (float(self.named @ off**power) / n for power in (2, 3, 4))
        means = (self.channel @ guesses)[:, np.newaxis]
        noise, skewed = ((self.channel * (guesses - means) ** power).sum(axis=1) for power in (2, 3))
        return Shown(
            reports=n,
            variance=variance,
            third=third * n**2 / ((n - 1) * (n - 2)) if n > 2 else 0.0,
            fourth=fourth - 3 * (second * n / (n - 1)) ** 2,
            above=float(guesses.max()) - value,
            below=value - float(guesses.min()),
            noise=float(noise.min()),
            skewed=float(abs(skewed).max()),
            doubtful=0.0,
        )

    def shared(self, spread: float, confidence: float) -> float:
        """What of the variance of the mean rank is of the devices' own ranks, at most.

        What the reports say of the square of the rank, less the square of the mean, is their variance on average. It
        is off by noise, which every report has anew, and by which devices have reported, and is raised for that.
        """
        n, places = self.shares.reports, np.arange(1, len(self.named) + 1)
        if n == 0:
            return 1.0
        if self.second is not None:
            return 1 - self.anew(confidence)[0]
        guesses, squares = np.linalg.solve(self.channel, np.stack([places, places**2], axis=1).astype(np.float64)).T
        value, whole = _moments(self.named, guesses)
        shown = float(self.named @ squares) / n - value**2
        _, doubt = _moments(self.named, squares - 2 * value * guesses)
        size, z = float(len(places) - 1), NormalDist().inv_cdf((1 + confidence) / 2)

        noise = float((self.channel @ guesses**2 - places**2).min())
        seen = max(shown, 0.0)

        def error(own: float) -> float:
            differing = own * max(size**2 - 4 * own, 0.0)
            return math.sqrt((doubt + min(differing, doubt) * (spread - 1)) / n)

        times = float(allowance(np.array(spread * error(seen) / (noise + spread * seen)), z))
        reach = z * math.sqrt((whole + size**2 / 4 * (spread - 1)) / n)
        nearest = min(max((1 + len(places)) / 2, value - reach), value + reach)
        likely = largest(lambda own: own - shown - times * error(own), seen, size**2 / 4)
        most = min(likely, max((nearest - 1) * (len(places) - nearest), 0.0))
        return min(most / max(whole, noise), 1.0)

    def anew(self, confidence: float) -> tuple[float, float]:
        """What of the variance of the mean rank is of naming a remembered place once more, at least and at most.

        A guess of who remembers a place varies by what is known. How many remember each is told by the reports, as
        places are, with an error that is smaller than what guesses can differ by.
        """
        n, places = self.shares.reports, np.arange(1, len(self.named) + 1, dtype=np.float64)
        if n == 0 or self.second is None:
            return 0.0, 1.0
        guesses = np.asarray(np.linalg.solve(self.channel, places), dtype=np.float64)
        noise = self.second @ guesses**2 - (self.second @ guesses) ** 2
        spoken = np.asarray(np.linalg.solve(self.second, noise), dtype=np.float64)
        (told, doubt), (_, whole) = _moments(self.named, spoken), _moments(self.named, guesses)
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(doubt / n)
        whole = max(whole, float((self.channel @ guesses**2 - places**2).min()))
        least, most = (min(max(own, noise.min()), noise.max()) / whole for own in (told - reach, told + reach))
        return min(float(least), 1.0), min(float(most), 1.0)


def _moments(named: NDArray[np.int64], guesses: _Floats) -> tuple[float, float]:
    """Mean and variance of what the reports say."""
    n = float(named.sum())
    value = float(named @ guesses) / n
    return value, float(named @ (guesses - value) ** 2) / n
