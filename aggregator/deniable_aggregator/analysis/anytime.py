"""Anytime: intervals that hold at every look at once, for those who look again and again.

A 95% interval misses one time in twenty. Who looks every day for a year, and acts when an interval leaves something
out, looks 365 times, and sooner or later sees what is not there. These intervals are wider, so that in at most 5% of
such years any of them misses.

**Growing windows**, which begin with the same epoch and end with the newest, are confidence sequences: a running mean
stays within sqrt((1 + r / t) (ln(1 + t / r) + 2 ln(1 / alpha))) standard errors of the truth at all t together, but
for a chance of alpha (Robbins, 1970, by a normal mixture; for means of large samples Waudby-Smith, Arbour, Sinha,
Kennedy and Ramdas, 2021). It holds for ever, however often one looks, once the first epoch has ended. r is half of
that epoch's reports, which no answer has a part in: so the first look takes 3.3 standard errors, the seventh 3.1, and
the 365th 3.6.

t is the number of effective reports. Where the same devices report in every epoch, what they keep is an error that
stays; two looks then have as much in common as two running means of so many independent reports, so that the same
bound holds. Where more is independent than is known, t is larger than is believed, and the bound is wider than it
needs to be: standard errors shrink faster than it grows.

**Any windows**: each of 366 looks misses with 1/366 of the chance (Bonferroni), whatever is looked at: 3.8 standard
errors.

Both are asked of the estimators as ordinary intervals of a higher confidence, so that few reports and shares near 0
are treated as well as ever.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

from deniable import Metric
from deniable_aggregator.analysis.windows import Counters, Windowed, reports_of, windowed
from deniable_aggregator.answers import RowId, Target

__all__ = ["LOOKS", "LOOKS_TIMES", "Held", "Looks", "anytime", "at_one", "growing", "held_at", "level", "times"]

LOOKS = 366
"""So many looks at any windows hold together: a year of days."""
_PART = 0.5
"""Of the first epoch's reports: where the sequence is narrowest."""
_STEP = 0.05
"""Numbers of standard errors are rounded up to this, so that few different confidences have to be computed."""


class Looks(enum.StrEnum):
    """At which looks together intervals hold."""

    ONE = "one"
    """At each look by itself."""
    GROWING = "growing"
    """At all looks at windows that begin with the same epoch."""
    ANY = "any"
    """At a year of looks, at any windows."""


LOOKS_TIMES = {Looks.ONE: 1, Looks.GROWING: 2, Looks.ANY: 1}
"""How many estimates it takes."""


def anytime(
    metric: Metric,
    epochs: Sequence[Sequence[Counters]],
    confidence: float,
    target: Target,
    looks: Looks,
    more: Sequence[RowId] = (),
    only: Sequence[str] = (),
) -> Windowed:
    """The estimate from each epoch's counters, with intervals that hold at all those looks together; with some `more`
    rows that are asked for, and maybe without those of series that are not told, where `only` some are."""
    wide = held_at(metric, epochs, confidence, target, looks).confidence
    return windowed(metric, epochs, wide, target, more=more, only=only).claiming(confidence)


class Held(NamedTuple):
    """What makes intervals hold at several looks together."""

    confidence: float
    """That ordinary intervals are asked for."""
    chance: Callable[[float], float]
    """What a p-value becomes: it is below 1 - confidence where these intervals leave out what is not there."""


def held_at(
    metric: Metric, epochs: Sequence[Sequence[Counters]], confidence: float, target: Target, looks: Looks
) -> Held:
    """How intervals of a window hold at all those looks together."""
    if looks is Looks.ONE:
        return Held(confidence, lambda chance: chance)
    if looks is Looks.ANY:
        wide = level(times(confidence, LOOKS))
        return Held(wide, lambda chance: min(chance * (1 - confidence) / (1 - wide), 1.0))
    found = windowed(metric, epochs, confidence, target)
    first = sum(reports_of(column.shape, own) for column, own in zip(metric.columns, epochs[0], strict=True))
    spans = [reports / max(first * _PART, 1.0) for reports in (found.effective, found.estimate.reports)]
    most, ratio = max((growing(confidence, own), own) for own in spans)
    wide = level(most)
    rounded = most / times(wide, 1)
    return Held(wide, lambda chance: _first(-rounded * NormalDist().inv_cdf(chance / 2), ratio) if chance else 0.0)


def _first(errors: float, ratio: float) -> float:
    """How often a sequence is ever as far away as so many errors are at t / r: `growing`, the other way round."""
    return min(math.exp((math.log1p(ratio) - errors**2 / (1 + 1 / ratio)) / 2), 1.0)


def at_one(confidence: float, looks: Looks) -> float:
    """The confidence that the interval of one epoch is asked for, if it is to hold at all those looks together."""
    if looks is Looks.ONE:
        return confidence
    return level(times(confidence, LOOKS) if looks is Looks.ANY else growing(confidence, 1 / _PART))


def level(errors: float) -> float:
    """The confidence of an ordinary interval that reaches so many standard errors, or a little more."""
    return math.erf(math.ceil(errors / _STEP - 1e-9) * _STEP / math.sqrt(2))


def times(confidence: float, looks: int) -> float:
    """How many standard errors it takes that so many looks hold together."""
    return -NormalDist().inv_cdf((1 - confidence) / looks / 2)


def growing(confidence: float, ratio: float) -> float:
    """How many standard errors it takes at t / r, in a sequence that holds at all t together."""
    ratio = max(ratio, 1e-9)
    return math.sqrt((1 + 1 / ratio) * (math.log1p(ratio) - 2 * math.log(1 - confidence)))
