"""Intervals that hold: what a count out of n reports, or a sum of n reports, says about the population.

words:
  lambda      the rate that a count estimates: counts are binomial, count ~ B(n, lambda)
  acceptance  the counts first..last that are believed at one lambda; the interval of a count is every lambda
              that accepts it, so an interval covers lambda as often as a count is accepted there
  miss        the probability of the counts outside, in units of alpha = 1 - confidence: 1 is as claimed

**Rates.** Where many outcomes are expected, a count's interval is Wilson's (1927), at a count moved for the
skewness of the binomial (the Cornish-Fisher term that Cai, 2005, uses for one-sided intervals): without it both
tails together are right at 95%, but each is 10% off, and 1 - 10^-6 misses 2.4 times too often.

Where few are expected no formula is right: coverage jumps whenever a count enters or leaves (Brown, Cai and
DasGupta, 2001), so the acceptances themselves are chosen, as Crow (1956) did, from exact binomial sums. Crow
takes the smallest set that reaches the confidence, which covers up to 97.4% where five are expected. Here both
ends of the acceptance may only rise with lambda (or intervals would have holes), and of all such paths the one
that stays closest to the confidence is taken. It is not forced to be symmetric about 1/2: at n = 50 and
lambda = 1/2 symmetric sets cover 93.5% or 96.7%, and 18..31 covers 95.1%.

Claiming 95%, they cover at least 94.2% at every lambda from n = 50 on, and at most 96.5% where more than 6.3
outcomes and more than 6.3 others are expected; below that no interval that depends on the count alone can, and
these cover more (96.8% at 5, 98.5% at 2, all of the time at 0).

**Means.** Student's interval (1908) from n, the sum and the sum of squares; see `mean` for what is done where the
noise's variance is known.
"""

from __future__ import annotations

import math
from functools import lru_cache
from operator import index

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.estimators._special import bdtr, bdtrc, betaincinv, ndtri, stdtrit

__all__ = ["mean", "proportion", "simultaneous"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_FEW = 100
"""Acceptances are chosen one by one where lambda or 1 - lambda makes fewer outcomes than this expected. At 95%,
the formula then covers 94.4% at the least."""


def proportion(counts: Counts, n: int, confidence: float) -> tuple[Floats, Floats]:
    """Low and high ends for the rate behind each of `counts`, all of them out of the same `n`."""
    z = _quantile(confidence)
    if n == 0:
        return np.zeros(counts.shape), np.ones(counts.shape)
    low, high = _score(counts, n, z)
    whole = n <= 4 * _FEW
    if whole or (np.minimum(counts, n - counts) <= _reach(z)).any():
        lows, highs = _table(n, confidence)
        low, high = _overlay(low, counts, lows), _overlay(high, counts, highs)
        if not whole:
            low, high = _overlay(low, n - counts, 1 - highs), _overlay(high, n - counts, 1 - lows)
    return low, high


def mean(
    n: int, total: int, squares: int, confidence: float, noise_variance: float | None = None
) -> tuple[float, float, float, float]:
    """Mean, standard error, low and high end for a population of which `n` reports add up to `total`, and their
    squares to `squares`.

    `noise_variance` is the variance of the noise in one report where it is known exactly. Values only add to it,
    so a sample variance below it is luck, and is moved half the way up. Moved all the way, intervals would cover
    96.7% at n = 50; not moved, 95.1%, but some would claim less uncertainty than the noise alone makes certain.
    Half the way they cover 96.1% (noise dominating), 95.7% at n = 100, 99.6% at n = 5.

    One report says nothing about how values differ, whatever is known of the noise: its interval is infinite.

    Nothing is done about skewness, which these sums do not show. Symmetric noise hides that of the values: for
    epsilon <= 4 at least 94.6% cover. The worst is epsilon 8 with 5% to 10% of devices at the other end of the
    range: 93.4% at n = 50, 94.2% at 100.
    """
    level = (1 + _checked(confidence)) / 2
    n, total, squares = index(n), index(total), index(squares)
    if n == 0:
        return math.nan, math.nan, -math.inf, math.inf
    value, noise = total / n, noise_variance or 0.0
    if n == 1:
        return value, math.sqrt(noise or math.inf), -math.inf, math.inf
    # n sum(y^2) - sum(y)^2 cancels most of its digits: integers keep them.
    variance = (n * squares - total * total) / (n * (n - 1))
    if variance < noise:
        variance = (variance + noise) / 2
    error = math.sqrt(variance / n)
    reach = error * stdtrit(n - 1, level)
    return value, error, value - reach, value + reach


def simultaneous(confidence: float, rows: int) -> float:
    """The confidence that each of `rows` intervals needs so that all hold together with `confidence`.

    Bonferroni's: chances of missing add up at most, however the rows depend on each other. Sidak's (1967),
    confidence^(1 / rows), is proven for jointly normal rows only; at 95% its intervals are 0.3% narrower.
    """
    return 1 - (1 - _checked(confidence)) / max(rows, 1)


def _checked(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, and {confidence!r} does not")
    return confidence


def _quantile(confidence: float) -> float:
    return float(ndtri((1 + _checked(confidence)) / 2))


def _score(counts: Counts, n: int, z: float) -> Floats:
    """The lambdas that are z standard errors off the count: the low ends, and the high ones."""
    # P(X <= x) = 1 - Phi(z) at x = n lambda - z sd + (1 - 2 lambda) (z^2 - 1) / 6 + ..., the third moment's term.
    plain = counts.astype(np.float64)
    middle, spread = _wilson(plain, n, z)
    first = np.array([middle - spread, middle + spread]) / (n + z * z)
    middle, spread = _wilson(plain - (1 - 2 * first) * (z * z - 1) / 6, n, z)
    moved = np.array([middle[0] - spread[0], middle[1] + spread[1]]) / (n + z * z)
    return np.minimum(np.maximum(moved, 0.0), 1.0)


def _wilson(counts: Floats, n: int, z: float) -> tuple[Floats, Floats]:
    # The roots of (count - n lambda)^2 = z^2 n lambda (1 - lambda), times n + z^2, are the first less or more the
    # second. Below zero are moved counts that the table has.
    spread = np.sqrt(np.maximum(counts * (1 - counts / n) + z * z / 4, 0.0))
    return counts + z * z / 2, z * spread


def _overlay(limits: Floats, counts: Counts, table: Floats) -> Floats:
    return np.where(counts < len(table), table[np.minimum(counts, len(table) - 1)], limits)


def _reach(z: float) -> int:
    """Beyond every count that is accepted where _FEW are expected."""
    return math.ceil(_FEW + z * math.sqrt(_FEW) + z * z / 6) + 4


@lru_cache(maxsize=4096)
def _table(n: int, confidence: float) -> tuple[Floats, Floats]:
    """The low ends of the counts 0, 1, 2, ... and the high ends, as far as acceptances are chosen."""
    alpha, z = 1 - confidence, _quantile(confidence)
    rates = _grid(n, alpha)
    rate = rates[:, None]
    first, last = _candidates(n, alpha, rates, n if n <= 4 * _FEW else _reach(z))
    below: Floats = np.where(first > 0, bdtr(np.maximum(first - 1.0, 0), n, rate), 0.0)
    above = np.asarray(bdtrc(last, n, rate), np.float64)
    first, last = np.repeat(first, 3, axis=1), np.tile(last, 3)
    miss: Floats = (np.repeat(below, 3, axis=1) + np.tile(above, 3)) / alpha
    # Fewer than five outcomes expected (at 95%): no set is close to the confidence on both sides of it, so none
    # that misses more is taken.
    rare = n * np.minimum(rate, 1 - rate) < 1.3 * z * z
    cost = _cost(miss, np.where(rare, 1.0, 1.13))
    first, last = _cheapest(first, last, np.where(first <= last, cost, 1e9))
    # A count enters or leaves between two grid points.
    between = np.concatenate([[0.0], (rates[1:] + rates[:-1]) / 2, [1.0]])
    lows = between[np.searchsorted(last, np.arange(last[-1] + 1), "left")]
    highs = between[np.searchsorted(first, np.arange(n + 1 if n <= 4 * _FEW else first[-1]), "right")]
    return lows, highs


def _grid(n: int, alpha: float) -> Floats:
    """Rates to choose acceptances at, evenly spaced in standard deviations, that is in arcsin(sqrt(lambda)): finer
    below four expected outcomes, where nothing on the other side makes up for a miss, and by factors around
    `alpha` expected outcomes, where a count of 1 enters."""
    whole = math.pi * math.sqrt(n)
    end = whole if n <= 4 * _FEW else 2 * math.sqrt(_FEW)
    fine, edge = 0.02 / max(_quantile(1 - alpha), 1.0), min(4.0, whole / 2)
    start, factor = 50 * fine, 1.02
    rare = np.geomspace(math.sqrt(alpha) / 2, start, math.ceil(math.log(2 * start / math.sqrt(alpha), factor)))
    near = np.concatenate([[0.0], rare, np.arange(start + fine, edge, fine)])
    steps = [near, np.arange(edge, min(end, whole - edge), 4 * fine)]
    if end == whole:
        steps.append(whole - near[::-1])
    return np.sin(np.concatenate(steps) / (2 * math.sqrt(n))) ** 2


def _candidates(n: int, alpha: float, rates: Floats, most: int) -> tuple[Counts, Counts]:
    """For each rate three first and three last counts: Clopper and Pearson's, one count wider, and one narrower."""
    counts = np.arange(most + 1.0)
    low = np.where(counts > 0, betaincinv(np.maximum(counts, 1), n - counts + 1, alpha / 2), 0.0)
    high = np.where(counts < n, betaincinv(counts + 1, np.maximum(n - counts, 1), 1 - alpha / 2), 1.0)
    first = np.searchsorted(high, rates, "right")[:, None] + np.array([-1, 0, 1])
    last = np.searchsorted(low, rates, "left")[:, None] - 1 + np.array([-1, 0, 1])
    return np.clip(first, 0, n), np.clip(last, 0, n)


def _cost(miss: Floats, most: Floats) -> Floats:
    """How far a miss is from 1, dearer outside 0.75 to 1.1 (94.5% to 96.25% at 95%), forbidden beyond `most`."""
    outside = np.maximum(miss - 1.1, 0) + np.maximum(0.75 - miss, 0)
    cost: Floats = (miss - 1) ** 2 + 10 * outside + 1e6 * (miss > most)
    return cost


def _cheapest(first: Counts, last: Counts, cost: Floats) -> tuple[Counts, Counts]:
    """The candidates, one a row, of least total cost among those whose ends never fall (dynamic programming)."""
    falls = (first[:-1, :, None] > first[1:, None, :]) | (last[:-1, :, None] > last[1:, None, :])
    ways = np.where(falls, 1e12, 0.0)
    best = cost[0]
    for way, own in zip(ways, cost[1:], strict=True):
        np.add(way, best[:, np.newaxis], out=way)
        best = np.minimum.reduce(way) + own
    path = [int(best.argmin())]
    for came_from in ways.argmin(axis=1)[::-1].tolist():
        path.append(came_from[path[-1]])
    rows = np.arange(len(path))
    return first[rows, path[::-1]], last[rows, path[::-1]]
