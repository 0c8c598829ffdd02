"""Means: what a quantity is on average and how much devices differ, from what their reports add up to.

words:
  share    where on its range a quantity lies, from 0 to 1
  level    the integer that a report counts as: on average `origin` + `span` times the share
  noise    how far a report's level is from what its device's share makes it on average
  spread   the variance of the shares over the population

**Means.** Quantities have ends, and an interval holds whatever the population between them is: devices at an end that
no report is from, too (`_bounded.py`). Where noise is large next to that, it is Student's (1908).

How skewed reports are is known where they are counted by level, from the sum of cubes. From the sum and the sum of
squares alone it is not. But of all quantities that are m above the lower end on average, with spread v, those that
are at that end or at one other point are the least skewed, with a third moment of v (v / m - m); likewise from the
upper end. As noise is symmetric, reports have it too. The variance is never taken for less than the noise's.

Nothing of this is known without an upper end: one device of a million can be most of the mean, and be in no sample.
Then there is a low end alone. What is seen to be large makes it fall by itself; what a sample may have missed is
devices at the lower end, z^2 of n: their square distance from the mean is added to the variance.

**Spread.** The variance s^2 of the levels is the spread plus the noise's variance, in squared spans. How far s^2 may
be off depends on fourth moments. Sums of squares do not show these; but a share x lies within 0 and 1. With another
device's x', 2 E(x - m)^4 + 6 spread^2 = E(x - x')^4 <= E(x - x')^2 = 2 spread: the fourth moment of the shares is at
most spread (1 - 3 spread), as it is where every device is at one end or the other. With noise y, where E(y | x) = 0
and E(y^3 | x) is at most t in size,

    E(level - mean)^4 <= spread (1 - 3 spread) + 6 spread E y^2 + 4 t sqrt(spread) + E y^4.

Where fourth powers are counted their own mean is taken if it is less, with all of the spread that it does not show
added as if it were as far out as can be. The interval holds every spread within its own reach of s^2, as Wilson's
interval does with rates. It covers 96% of the time or more: what is not known makes it wider.

**Over several epochs** a device's share is the same, and its noise is new: of the mean's variance the spread is
shared. Noise may hide some of it, so it is taken for more than s^2 shows, by as many standard errors of s^2 as the
mean's interval asks for (`allowance`), where noise has been averaged over all reports and the spread over different
devices only; and for no more than m (1 - m). Of the variance of s^2 itself at most
(sqrt(spread (1 - 4 spread)) + d / 2)^2 is shared, where d is how much the noise's variance can differ from share to
share.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.estimators._bounded import Shown, interval
from deniable_aggregator.estimators._contributions import Contributions
from deniable_aggregator.estimators._frequencies import Frequencies
from deniable_aggregator.estimators._intervals import mean
from deniable_aggregator.estimators._shared import allowance, largest, possible
from deniable_aggregator.estimators._special import stdtrit
from deniable_aggregator.estimators._target import Target

__all__ = ["Means", "Noise", "OneBit"]

_LARGEST = 0.25
"""The largest spread: half of the devices at either end."""
_STEPS = 16
"""In so many steps spreads are looked at, from the least to the largest that is believed."""


@dataclass(frozen=True, slots=True)
class Noise:
    """What is known of the noise, in levels, whatever the quantities are."""

    least: float
    """Its variance is at least this."""
    most: float
    """Its variance is at most this; more than the least where values are rounded to one of two inputs."""
    third: float
    """Its third moment is at most this."""
    fourth: float
    """Its fourth moment is at most this."""
    square: float
    """The variance of its square is at least this."""


@dataclass(frozen=True, slots=True)
class Means:
    """Sums of levels."""

    reports: int
    """How many reports there are."""
    sums: tuple[int, ...]
    """Of their levels, of the levels' squares, and where these are known of their cubes and fourth powers."""
    origin: float
    """The level of a share of 0, on average."""
    span: float
    """How much more that of a share of 1 is."""
    noise: Noise
    """Around them."""

    def estimate(self, confidence: float, target: Target) -> tuple[float, float, float, float]:
        """The mean share, its standard error, and its interval."""
        n = self.reports
        value, error, low, high = mean(n, self.sums[0], self.sums[1], confidence, self.noise.least)
        if target is Target.REPORTING and n:
            error = math.sqrt(self.noise.most / n)
            reach = _quantile(confidence) * error
            low, high = value - reach, value + reach
        elif n > 1:
            error = max(error, math.sqrt(self.noise.least / n))
            less, more = interval(self._shown(value, error), confidence)
            low, high = value - less * self.span, value + more * self.span
        share, low, high = ((level - self.origin) / self.span for level in (value, low, high))
        return share, error / self.span, low, high

    def floor(self, confidence: float) -> float:
        """The low end of the interval of the mean share where shares have no upper end."""
        n = self.reports
        if n < 2:
            return 0.0
        value, error, *_ = mean(n, self.sums[0], self.sums[1], confidence, self.noise.least)
        times = stdtrit(n - 1, (1 + confidence) / 2)
        above = max(value - self.origin, 0.0)
        return (value - self.origin - times * math.hypot(error, times * above / n)) / self.span

    def _shown(self, value: float, error: float) -> Shown:
        """In shares."""
        n, share, noise = self.reports, (value - self.origin) / self.span, self.noise
        variance, least = error**2 * n / self.span**2, noise.least / self.span**2
        below, above = max(share, 0.0), max(1 - share, 0.0)
        if len(self.sums) < 4:
            third, fourth = _least_third_moment(below, above, variance - least), None
        else:
            third = self._third_moment() / self.span**3 if n > 2 else 0.0
            fourth = self._fourth_moment() - 3 * self._variance() ** 2 - noise.fourth / self.span**4 + 3 * least**2
        skewed, doubtful = noise.third / self.span**3, math.sqrt(noise.square / n) / self.span**2
        return Shown(n, variance, third, fourth, above, below, least, skewed, doubtful)

    def _third_moment(self) -> float:
        """Of the levels around their mean: Fisher's unbiased estimate."""
        n, (first, second, third, *_) = self.reports, self.sums
        return (n**2 * third - 3 * n * first * second + 2 * first**3) / (n * (n - 1) * (n - 2))

    def _fourth_moment(self) -> float:
        """Of the levels around their mean, in spans; infinite where it is not known."""
        if len(self.sums) < 4:
            return math.inf
        n, (first, second, third, fourth) = self.reports, self.sums
        return (
            (n**3 * fourth - 4 * n**2 * first * third + 6 * n * first**2 * second - 3 * first**4)
            / n**4
            / self.span**4
        )

    def deviation(self, confidence: float, target: Target) -> tuple[float, float, float, float]:
        """The standard deviation of the shares, its standard error (nan where it is 0), and its interval."""
        n = self.reports
        if n < 2:
            return math.nan, math.nan, 0.0, math.sqrt(_LARGEST)
        variance = self._variance()
        uncertainty = self._uncertainty(variance, target)

        def error(spread: float) -> float:
            return math.sqrt(max(uncertainty(spread), 0.0) / n)

        z = _quantile(confidence)
        value = max(variance - self.noise.least / self.span**2, 0.0)
        high = largest(lambda spread: spread - value - z * error(spread), value, _LARGEST)
        least = variance - self.noise.most / self.span**2
        low = (
            0.0
            if least <= z * error(0.0)
            else largest(lambda spread: z * error(spread) - (least - spread), 0.0, _LARGEST)
        )
        root = math.sqrt(value)
        own = error(min(value, _LARGEST)) / (2 * root) if root else math.nan
        return root, own, math.sqrt(low), math.sqrt(high)

    def deviations(self, places: Contributions, fakes: float) -> tuple[float, float]:
        """The least and the greatest that the standard deviation can be without so many fakes, which counted as
        places on the range between two. Those hide most of it that all are where the mean is, and feign most of it
        that all are at the farther end: of places that add up to the same, squares are least if all are one place and
        greatest if all are ends, and what that leaves is concave in what they add up to."""
        count, (first, second, *_) = self.reports - fakes, self.sums
        if count < 2:
            return 0.0, math.inf
        middle = first / self.reports
        found = []
        for place in (middle, *(self.origin + self.span * float(end) for end in places)):
            total, squares = first - fakes * place, second - fakes * place**2
            variance = (squares - total * total / count) / (count - 1)
            found.append(math.sqrt(max(variance - self.noise.least, 0.0)) / self.span)
        return min(found), max(found)

    def _variance(self) -> float:
        """s^2, in squared spans."""
        n, (first, second, *_) = self.reports, self.sums
        return (n * second - first**2) / (n * (n - 1)) / self.span**2

    def shared(self, spread: float, confidence: float) -> tuple[float, float]:
        """The part of the variance of the mean, and of s^2, that is of what devices keep, at most: over epochs with
        `spread` times more reports than independent ones."""
        n, z = self.reports, _quantile(confidence)
        if n < 2:
            return 1.0, 1.0
        variance, least = self._variance(), self.noise.least / self.span**2
        uncertainty, shown = self._uncertainty(variance, Target.POPULATION), variance - least

        def kept(size: float) -> float:
            return min(max(uncertainty(size) - self._noise_in_squares(size), 0.0), self._kept_of_squares(size))

        def doubt(size: float) -> float:
            return math.sqrt((max(uncertainty(size), 0.0) + kept(size) * (spread - 1)) / n)

        def believed(times: float) -> float:
            found = largest(lambda size: size - shown - times * doubt(size), max(shown, 0.0), _LARGEST)
            return min(found, self._possible(spread, variance, z))

        seen = max(shown, 0.0)
        whole = least + spread * seen
        likely = believed(float(allowance(np.array(spread * doubt(seen) / whole if whole else z), z)))
        most = believed(z)
        fewest = min(max(2 * shown - most, 0.0), most)
        sizes = [fewest + (most - fewest) * step / _STEPS for step in range(_STEPS + 1)]
        parts = [kept(size) / uncertainty(size) if uncertainty(size) > 0 else 1.0 for size in sizes]
        return min(likely / max(variance, least), 1.0), min(max(parts), 1.0)

    def _possible(self, spread: float, variance: float, z: float) -> float:
        value = (self.sums[0] / self.reports - self.origin) / self.span
        return float(possible(np.array(value), np.array(variance), spread, z * z / self.reports))

    def _kept_of_squares(self, size: float) -> float:
        """How much of n times the variance of s^2 is of the shares, at most, if their spread is `size`."""
        differing = (self.noise.most - self.noise.least) / self.span**2 / 2
        return (math.sqrt(max(size * (1 - 4 * size), 0.0)) + differing) ** 2

    def _noise_in_squares(self, size: float) -> float:
        """How much of it is of the noise, at least."""
        least, third = self.noise.least / self.span**2, self.noise.third / self.span**3
        return max(self.noise.square / self.span**4 + 4 * size * least - 4 * third * math.sqrt(size), 0.0)

    def _uncertainty(self, variance: float, target: Target) -> Callable[[float], float]:
        """For every spread, the most that n times the variance of s^2 can be when s^2 was found to be `variance`.

        It is E(level - mean)^4 - V^2 + 2 V^2 / (n - 1), where V = E(level - mean)^2; for given devices, the part of
        the noise in it.
        """
        least, most = self.noise.least / self.span**2, self.noise.most / self.span**2
        third, fourth = self.noise.third / self.span**3, self.noise.fourth / self.span**4
        shown = self._fourth_moment()

        far, rest = 1 + 6 * most, 1 - 2 / (self.reports - 1)

        def of_population(spread: float) -> float:  # is asked for some twenty times for every interval
            whole = spread + least
            possible = spread * (far - 3 * spread) + 4 * third * math.sqrt(spread) + fourth
            known = shown + (whole - variance) * far if whole > variance else shown
            return min(possible, known) - whole * whole * rest

        def of_noise(spread: float) -> float:
            return 4 * spread * most + 4 * third * math.sqrt(spread) + fourth - least**2

        return of_noise if target is Target.REPORTING else of_population


@dataclass(frozen=True, slots=True)
class OneBit:
    """How many reports say that they are from the upper end of the range; a share lies between the ends by chance."""

    frequencies: Frequencies
    """Of the two ends."""

    @property
    def reports(self) -> int:
        """How many there are."""
        return self.frequencies.reports

    def estimate(self, confidence: float, target: Target) -> tuple[float, float, float, float]:  # noqa: ARG002
        """The mean share, its standard error, and its interval.

        It is the same for both targets: given the devices, reports are bits with various chances, and their number is
        at most as uncertain as if all chances were the same (Hoeffding, 1956), which they may be.
        """
        lows, highs = self.frequencies.intervals(confidence, Target.POPULATION)
        error = self.frequencies.std_errors(Target.POPULATION)
        return float(self.frequencies.values[1]), float(error[1]), float(lows[1]), float(highs[1])

    def shared(self, spread: float, confidence: float) -> NDArray[np.float64]:
        """As of frequencies: devices that lie between the ends differ less than those that are at either."""
        return self.frequencies.shared(spread, confidence, Target.POPULATION)[:, 1]


def _least_third_moment(below: float, above: float, spread: float) -> float:
    """Of shares around their mean, with this room on either side: as near to 0 as it can be, given their spread."""
    if below <= 0 or above <= 0:
        return 0.0
    spread = min(max(spread, 0.0), below * above)
    return max(spread * (spread / below - below), 0.0) + min(spread * (above - spread / above), 0.0)


def _quantile(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)
