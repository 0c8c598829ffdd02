"""Impossible counters: how often honest devices, whatever their answers are, would add up to what is stored.

words:
  chance   of one test: of all populations, the largest probability of counters that are at least so far out

Every test is of one number that reports add up to, and takes of all populations the one that explains it best. What
one report adds lies between two ends, with an expectation and a variance that no answer exceeds. Where it is a yes or
a no the sum is compared with a binomial one, as the chances of a yes are p at most and q at least; else Bernstein's
inequality (1924) bounds the chance: that sums over n reports exceed their expectation by n t, with variances of v and
no more than M above it, has at most exp(-n t^2 / (2 (v + M t / 3))). So no chance is larger than is said, and who
looks at K of them and takes the smallest times K is wrong no more often than that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Mechanism
from deniable.payload import Bitmap, Codeword, Integer, Integers, Shape, Symbol
from deniable_aggregator.estimators._contributions import Contributions, named, of_vector
from deniable_aggregator.estimators._levels import Fit
from deniable_aggregator.estimators._means import Means
from deniable_aggregator.estimators._special import bdtr, bdtrc
from deniable_aggregator.estimators._vectors import Entries

__all__ = ["added_up", "idle_chances", "level_chances", "mean_chances", "share_chances", "vector_chances"]

_Floats = NDArray[np.float64]
_Counts = NDArray[np.int64]
_TAILS = 6.0
"""No noise here has squares that vary by more than so many times its variance squared: Laplace's do by five."""


def added_up(shape: Shape, counters: _Counts) -> bool:
    """Whether so many reports can add up to these counters at all."""
    if isinstance(shape, Symbol):
        return bool((counters >= 0).all())
    reports, rest = int(counters[0]), counters[1:]
    if isinstance(shape, Bitmap):
        whole = shape.weight is None or int(rest.sum()) == reports * shape.weight
        return whole and bool(((rest >= 0) & (rest <= reports)).all())
    size = 1 if isinstance(shape, Integer) else shape.size
    sums, low, *high = (part.tolist() for part in np.split(rest, len(rest) // size))
    limbs = high[0] if high else [0] * size
    squares = [less + (more << 32) for less, more in zip(low, limbs, strict=True)]
    if isinstance(shape, Integer):
        least, most = 0, shape.size - 1 + 2 * shape.gap
    else:
        most = 1 << 16 if isinstance(shape, Codeword) else shape.bound + shape.gap
        least = -most
    pairs = zip(sums, squares, strict=True)
    return reports >= 0 and all(
        least * reports <= total <= most * reports and total * total <= reports * square <= reports**2 * most**2
        for total, square in pairs
    )


def share_chances(counts: _Counts, reports: int, low: float | _Floats, high: float | _Floats) -> _Floats:
    """Of counts to which a report adds with a chance between two: that they are so few, and that they are so many."""
    few, many = _each(bdtr, counts, reports, low), _each(bdtrc, counts - 1, reports, high)
    return np.concatenate([few, many])


def idle_chances(counts: _Counts, reports: int, rate: float | _Floats) -> _Floats:
    """Of counts that are the same whatever devices answer, each with a rate: that they are so far off."""
    chances: _Floats = 2 * np.minimum(_each(bdtr, counts, reports, rate), _each(bdtrc, counts - 1, reports, rate))
    return chances


def mean_chances(found: Means, places: Contributions, limited: bool) -> _Floats:
    """Of quantities between the ends of a range that count as places beyond it, too: that their mean lies so far out,
    and that they are so much alike, or so little: u^2 - u has the noise's variance where all are at either end."""
    reports, noise, span = found.reports, found.noise, found.span
    if not reports:
        return np.ones(0)
    first, second = ((total / reports) for total in found.sums[:2])
    mean = (first - found.origin) / span
    square = (second - 2 * found.origin * first + found.origin**2) / span**2
    least, most, fourth = noise.least / span**2, noise.most / span**2, noise.fourth / span**4
    low, high = float(places.least), float(places.most)
    tops = max(low * low - low, high * high - high) + 0.25
    varies = (np.sqrt(most) + np.sqrt(fourth)) ** 2
    every = [_bounded(-mean, most, high - low, reports)]
    if limited:
        every += [
            _bounded(mean - 1, most, high - low, reports),
            _bounded(square - mean - most, varies, tops, reports),
            _bounded(least - 0.25 - (square - mean), varies, tops, reports),
        ]
    return np.array(every)


def vector_chances(found: Entries, shape: Shape, bound: int) -> _Floats:
    """Of vectors no longer than a bound, in steps: that an entry is so far out on average, or all are so long."""
    if not found.reports:
        return np.ones(0)
    entry, length = (own * found.step for own in of_vector(shape, found.step))
    noise, most = found.noise + found.step**2 / 4, bound * found.step
    means = np.abs(np.array(found.totals, dtype=np.float64)) / found.reports
    chances = 2 * _bounded(means - most, noise, 2 * entry, found.reports)
    if isinstance(shape, Integers):
        size, square = len(means), sum(found.squares) / found.reports
        varies = (2 * most * np.sqrt(noise) + np.sqrt(_TAILS * size) * noise) ** 2
        long = _bounded(square - size * noise - most**2, varies, length**2, found.reports)
        chances = np.append(chances, long)
    return np.asarray(chances)


def level_chances(fit: Fit, mechanisms: Sequence[Mechanism]) -> _Floats:
    """Of each node with children, that one level says of it, and the next one of these, what differs so much."""
    found = [np.ones(0)]
    for place in range(1, len(fit.levels)):
        above, below = fit.levels[place - 1 : place + 1]
        if not above.reports or not below.reports:
            continue
        off = np.abs(above.values - fit.tree.added(place, below.values))
        counts = np.diff(fit.tree.first[place])
        ends = [named(mechanisms[place], int(count), len(below.values)) for count in counts]
        one = 1 / (above.p - above.q)
        several = np.array([most - least for least, most in ends]) / (below.p - below.q)
        variance = (one**2 / above.reports + several**2 / below.reports) / 4  # of what has ends: at most a quarter
        reach = np.maximum(one / above.reports, several / below.reports)
        found.append(2 * _bounded(off, variance, reach, 1))
    return np.concatenate(found)


def _each(tail: Callable[..., _Floats], counts: _Counts, reports: int, rate: float | _Floats) -> _Floats:
    """A tail for each count of as many reports. Of thousands of counts with one rate only few differ."""
    if np.ndim(rate):
        return tail(counts, reports, rate)
    values, places = np.unique(counts, return_inverse=True)
    return tail(values, reports, rate)[places]


def _bounded(excess: _Floats | float, variance: _Floats | float, reach: _Floats | float, reports: int) -> _Floats:
    """Bernstein's bound of a mean that exceeds its expectation."""
    over = np.maximum(np.asarray(excess, dtype=np.float64), 0.0)
    chances: _Floats = np.exp(-reports * over**2 / (2 * (np.asarray(variance) + np.asarray(reach) * over / 3)))
    return chances
