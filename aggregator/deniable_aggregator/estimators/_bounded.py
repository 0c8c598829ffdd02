"""Means of what has two ends: which are believed, though a few devices at an end may be in no report.

words:
  room   how far it is from the mean that reports show to an end
  far    of the reports, how many seem to be of devices at the end that is looked at, a room away; those at the other
         end are `against`
  body   all other reports: their sum is normal
  lone   the part of a device at the end that is counted as seen though none was
  doubt  twice the logarithm of how much likelier what is seen is by the likeliest population than by the likeliest
         one that has a given mean

**Why.** Where noise is smaller than the range, a mean is decided by few devices: of 100 reports 37 in a hundred
samples have none of a hundredth of the devices that are at the far end, and differ so little that Student's interval
is short. No formula of mean and variance knows; but a share of k / n at an end leaves no trace with a chance of
e^-k only. So a mean is believed as long as some population on the range has it and makes what is seen likely enough:
an empirical likelihood (Owen, 1988) with a device at either end that nobody has seen.

**How.** Reports are a body, whose sum has the variance g, and far devices, whose numbers are Poisson. That a sum is
off by x far devices, y fewer against and w of the body costs

    doubt = 2 (x - far log(1 + x / far)) + 2 (-y - against log(1 - y / against)) + w^2 / g,

and of all ways to be off by room x + other y + w the cheapest has one tilt t for all three: w = t g,
x = far t room / (1 - t room), y = against t other / (1 + t other). The tilt ends at 1 / room, as bets on a mean do
(Waudby-Smith and Ramdas, arXiv 2010.09686): there devices appear that nobody has seen, at a doubt of 2 each. The end
of the interval is where the doubt is the square of Student's quantile. Where the body alone reaches that before the
tilt ends, which is wherever noise or spread is large, that is Student's interval.

Counts are whole: without a body, intervals where the doubt is 3.84 would cover 85%. With 0.4 of a device counted as
seen at the end they cover 95.2%; a body, or noise, of the variance of one squared room makes that superfluous.
Enumerated over all numbers of far devices, with bodies of 0 to 6 squared rooms, 95% intervals cover 94.4% at the
least, and 99% ones 98.8% (`tests/statistics/test_bounded.py`).

**How many are far.** Where reports are counted by what they say, cubes and fourth powers tell: far devices make
n third = far room^3 - against other^3 and n (fourth - 3 variance^2) = far room^4 + against other^4. No more are far
than the variance has beside the noise's. Noise that is skewed by itself looks like far devices, so a tenth of the
most that it can be skewed is let through. What speaks against the end counts half: few reports exaggerate skewness as
often as they hide it.

Where only sums of squares are known, all that differs may be far devices, less what noise may have added, twice its
standard error. Up to eight of them are taken for just that; beyond, intervals of variance alone hold well enough, and
as devices that are spread over the range would have them wider for nothing, the number falls, to what makes intervals
5% wider.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from deniable_aggregator.estimators._special import stdtrit

__all__ = ["Shown", "interval"]

_LONE = 0.4
"""Of a device, where there is no body."""
_SKEWED = 0.1
"""Of the noise's greatest third moment, how much may have been taken for far devices."""
_AGAINST = 0.5
"""What shows devices at the other end counts so much where it makes an interval shorter."""
_FEW, _WIDER = 16.0, 0.06
"""Far devices that only a variance shows: up to half of the first are believed, and of more so many less, but at
least the second times their power of 3/2, which makes a reach 5% longer."""
_LEAST_ROOM = 2.0**-20
"""Of the range: where what reports say lies beyond an end, far devices would be no farther than others."""
_NONE = 1e-12
"""Fewer devices than this are none."""
_TILTS = 40.0
"""A tilt of 1 - e^-40 of the greatest is the greatest."""
_NEAR, _STEPS = 1e-9, 100
"""A step of Newton's that is so small a part is the last: what it leaves is its square. No search takes as many."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What reports show of a mean."""

    reports: int
    """How many there are: at least two."""
    variance: float
    """Of one, noise included: at least the noise's."""
    third: float
    """Their third moment around the mean; where it is not known, the least that it can be."""
    fourth: float | None
    """By how much the fourth is greater than that of normal ones with normal noise; None where it is not known."""
    above: float
    """The room to the high end."""
    below: float
    """The room to the low end."""
    noise: float
    """The variance of the noise, at least."""
    skewed: float
    """The third moment of the noise, at most."""
    doubtful: float
    """By how much the noise may have added to the variance: a standard error."""

    def mirrored(self) -> Shown:
        """Seen from the other end."""
        return replace(self, third=-self.third, above=self.below, below=self.above)


def interval(shown: Shown, confidence: float) -> tuple[float, float]:
    """How far below and how far above what reports say the mean may lie."""
    times = stdtrit(shown.reports - 1, (1 + confidence) / 2)
    return _reach(shown.mirrored(), times), _reach(shown, times)


def _reach(shown: Shown, times: float) -> float:
    n, room, other = shown.reports, max(shown.above, _LEAST_ROOM), max(shown.below, _LEAST_ROOM)
    far = _far(shown, room, other)
    left = max(n * shown.variance - far * room**2, 0.0)
    against = min(_counted(shown, -_AGAINST * shown.third, other), left / other**2)
    body = max(left - against * other**2, 0.0)
    lone = _LONE * max(1 - max(body, n * shown.noise) / room**2, 0.0)
    return (room * lone + _Doubt(body, far + lone, room, against, other).reach(times**2)) / n


def _far(shown: Shown, room: float, other: float) -> float:
    n = shown.reports
    if shown.fourth is None:
        sure = n * max(shown.variance - shown.noise - 2 * shown.doubtful, 0.0) / room**2
        believed = min(sure, max(_FEW - sure, _WIDER * math.sqrt(sure) * sure))
        return max(_counted(shown, shown.third, room), believed)
    both = (shown.fourth + other * shown.third) / (room + other)
    return min(_counted(shown, max(shown.third, both), room), n * shown.variance / room**2)


def _counted(shown: Shown, third: float, room: float) -> float:
    """How many devices so far away make a third moment, within what the variance lets be."""
    most = (shown.variance - shown.noise) / room**2 + _SKEWED * shown.skewed / room**3
    return shown.reports * min(max(third / room**3, 0.0), most)


@dataclass(frozen=True, slots=True)
class _Doubt:
    """Of sums that are off."""

    body: float
    far: float
    room: float
    against: float
    other: float

    def reach(self, most: float) -> float:
        """By how much a sum may be off at the given doubt."""
        if self.far > _NONE:
            return self._at(self._tilt(most, math.log(8 + most / self.far)))[1]
        doubt, off, _ = self._at(_TILTS)
        return self._at(self._tilt(most, _TILTS))[1] if doubt > most else off + self.room * (most - doubt) / 2

    def _tilt(self, most: float, end: float) -> float:
        """Where the doubt is that great: by Newton's steps on its square root, which is straight at first, and by
        halves where these lead out of what is left."""
        low, high, free = 0.0, end, self.far + (self.body + self.against * self.other**2) / self.room**2
        tilt = min(math.sqrt(most / free), end / 2)
        for _ in range(_STEPS):
            doubt, _, slope = self._at(tilt)
            low, high = (low, tilt) if doubt > most else (tilt, high)
            here, found = tilt, tilt + 2 * (math.sqrt(most * doubt) - doubt) / slope if slope > 0 else math.inf
            tilt = found if low <= found <= high else (low + high) / 2
            if abs(tilt - here) <= _NEAR * tilt:
                break
        return tilt

    def _at(self, tilt: float) -> tuple[float, float, float]:
        """The doubt, by how much sums are off, and how fast the doubt grows, at a tilt of 1 - e^-tilt of the
        greatest."""
        own, grows = -math.expm1(-tilt) / self.room, math.exp(-tilt) / self.room
        doubt, off, slope = own * own * self.body, own * self.body, own * grows * self.body
        if self.far > _NONE:
            more = math.expm1(tilt)
            doubt += 2 * self.far * (more - tilt)
            off += self.room * self.far * more
            slope += self.far * more
        if self.against > _NONE:
            pull = own * self.other
            doubt += 2 * self.against * (math.log1p(pull) - pull / (1 + pull))
            off += self.other * self.against * pull / (1 + pull)
            slope += self.against * self.other * grows * pull / (1 + pull) ** 2
        return doubt, off, 2 * slope
