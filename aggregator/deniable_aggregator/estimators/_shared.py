"""What reports of several epochs have in common when the same devices may have sent them.

words:
  kept     what a device brings along into every epoch: its value, or what it remembers of it
  shared   the part of the variance of a report that is of what is kept; the rest is drawn anew in every epoch
  spread   how many times more reports there are than independent ones at the least

Over n reports an estimate then has, in the worst case, a variance of (kept (spread - 1) + whole) / n, where whole is
that of one report. Kept must not be taken for less than it is: it is found as what the whole is at the least more
than its noise, which the mechanism knows exactly. Where that is uncertain itself, it is raised by an `allowance`.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

__all__ = ["allowance", "largest", "parts", "possible", "roots"]

_Floats = NDArray[np.float64]
_NEAR = 2.0**-52
"""How near to each other both sides of what is searched end, in parts of the largest value that it can have."""
_FEW_STEPS, _MOST_STEPS = 20, 80
"""After a few steps the others halve: enough whatever is searched."""


def parts(values: _Floats, kept: _Floats, whole: _Floats, spread: float, reports: int, confidence: float) -> _Floats:
    """What is shared of the variance of shares, where it is a polynomial of the share f: given are the coefficients
    of 1, f and f^2, kept and whole. Three rows: at the low end of the interval, at the value, at the high end.

    Each end solves a quadratic equation, as Wilson's do: it is as many standard errors off the value as the
    confidence asks for, and its variance is that of a share that lies there.
    """
    if reports == 0:
        return np.ones((3, len(values)))
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    low, high = roots(values, z * z / reports * (kept * (spread - 1) + whole))
    shares = np.minimum(np.maximum(np.array([low, values, high]), 0.0), 1.0)
    own, every = (low + shares * (slope + shares * curve) for low, slope, curve in (kept, whole))
    found: _Floats = np.minimum(np.maximum(own / every, 0.0), 1.0)
    return found


def roots(values: _Floats, variance: _Floats) -> tuple[_Floats, _Floats]:
    """The least and the largest share f with (value - f)^2 at most a quadratic function of f: given are its
    coefficients of 1, f and f^2."""
    free, linear, square = variance
    middle = (values + linear / 2) / (1 - square)
    half = np.sqrt(np.maximum(middle**2 - (values**2 - free) / (1 - square), 0))
    return middle - half, middle + half


def possible(values: _Floats, variances: _Floats, spread: float, scale: float) -> _Floats:
    """The most that the spread of quantities between 0 and 1 can be: m (1 - m), for the mean m that is nearest to 1/2
    of all that are believed. Given are what reports say, their variance, and z^2 over their number."""
    middle, square = values + scale * (spread - 1) / 2, 1 + scale * (spread - 1)
    half = np.sqrt(np.maximum(middle**2 - square * (values**2 - scale * variances), 0))
    nearest = np.minimum(np.maximum(0.5, (middle - half) / square), (middle + half) / square)
    most: _Floats = np.maximum(nearest * (1 - nearest), 0)
    return most


def allowance(doubtful: _Floats, z: float) -> _Floats:
    """By how many of its own standard errors a variance is to be taken for more than is shown, so that intervals of z
    standard errors hold; `doubtful` is its standard error, in parts of it.

    An interval of a variance that is off by chance is too short as often as too long, and loses more by the first:
    its coverage falls by phi(z) z (1 + z^2) doubtful^2 / 4, and rises by phi(z) z for each part of the variance that
    is added. (With Student's quantile for 2 / doubtful^2 degrees of freedom, as Welch has it, it is the same to the
    second order.) More than z of them is never asked for.
    """
    times: _Floats = np.minimum((1 + z * z) / 4 * doubtful, z)
    return times


def largest(excess: Callable[[float], float], start: float, end: float) -> float:
    """The first value from `start` on whose excess is above 0, as that of all larger ones is; at most `end`.

    Found where a line between both sides meets 0; the excess of a side that stays counts half (the rule of Illinois:
    Dowell and Jarratt, 1971). That takes ten steps where halving takes fifty, which comes after so many.
    """
    low, high, least = start, end, _NEAR * end
    if low >= high or (over := excess(high)) <= 0:
        return high
    under, last = excess(low), 0.0
    for step in range(_MOST_STEPS):
        if high - low <= least:
            break
        way = 0.5 if under > 0 or step > _FEW_STEPS else under / (under - over)
        middle = min(max(low + (high - low) * way, low + least / 2), high - least / 2)
        found = excess(middle)
        if found > 0:
            under, over = under / 2 if last > 0 else under, found
            high = middle
        else:
            under, over = found, over / 2 if last < 0 else over
            low = middle
        last = found
    return high
