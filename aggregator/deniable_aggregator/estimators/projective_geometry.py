"""Projective geometry response: a report supports the answers whose hyperplanes it lies in.

words:
  order, dimensions   q and t; answers and reports are monic polynomials of degree below t over the field of q,
                      numbered as the mechanism says
  support             v supports u where the product of u and v has no x^(t-1)
  table               how often each v of one degree j was sent: q^j counts, by v's lower coefficients
  line                the multiples c a of one monic a, for c in the field
  sums                for one a, the counts of the table added up by the value that a gives to a v: q of them

**By degree.** Let u = x a + b with a monic. A v of the highest degree, x^(t-1) + w, supports u where the product of
a and w has the coefficient -b at x^(t-2); a v of lower degree supports u where it supports a in one dimension less.
For u = 1 these are all v but the highest. So the supports in j + 1 dimensions are, in the order of the numbers, the
count of all lower v, then for each a and b the sum of the highest table at (a, b) plus the support of a in j
dimensions.

**By a transform.** Adding a table up over parallel hyperplanes in every direction is a discrete Radon transform, and
Fourier's makes it local: the sums of a direction are the one-dimensional transform of the values that the
j-dimensional one has along a line through the origin. One transform of q^j values, one gathering, (q^j - 1) / (q - 1)
transforms of q values: K log K work where the definition has K^2.

**Exactly.** The results are integers, and rounding finds them while the error is below 1/2. Let a transform of q
values be off by at most `_error(q)` of its result in the l2 norm: q^(3/2) 2^-50, a bound for the plain sum of q
products, which fast algorithms stay below (Higham, Accuracy and Stability of Numerical Algorithms, 3 and 24). Then
the spectrum of n reports is off by at most j error q^(j/2) n; a line, half of which mirrors the other, by sqrt(2)
times that; and a sum, after one more transform divided by q, by (sqrt(2) j q^((j-1)/2) + 1) error n. Where that could
be more than 1/4, the counts are split into low and high bits, and both parts transformed.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import ProjectiveGeometryResponse
from deniable_aggregator.estimators._frequencies import Frequencies, chances

__all__ = ["DIVISIBLE", "frequencies", "idle", "supports"]

_Integers = NDArray[np.int64]

DIVISIBLE = True
"""Of fewer reports counts may be parts: a support is a sum over many points with next to no reports each, and would
be off by as many roundings."""

_FEW = 128
"""Of so few points the definition is quicker than transforms, in whole numbers anyway."""
_SMALL = 1 << 14
"""Of tables of so many counts the multiples are kept: 100 kB of them at the most, each."""


def frequencies(mechanism: ProjectiveGeometryResponse, counters: _Integers) -> Frequencies:
    """Counters: how often each point was sent."""
    supported = _whole(supports(counters, mechanism.order, mechanism.dimensions))[: mechanism.inputs]
    return Frequencies(round(counters.sum()), supported, *chances(mechanism))


def idle(mechanism: ProjectiveGeometryResponse, counters: _Integers) -> tuple[_Integers, float]:
    """The points that stand for no answer: any two hyperplanes share as many points, so that each is supported with
    the chance of another answer."""
    return supports(counters, mechanism.order, mechanism.dimensions)[mechanism.inputs :], chances(mechanism)[1]


def supports(counters: NDArray[Any], order: int, dimensions: int) -> NDArray[Any]:
    """For every point, how many reports support it; whole numbers of whole ones."""
    few = _first(order, dimensions)
    supported: NDArray[Any] = _hyperplanes(order, few) @ counters[: _points(order, few)]
    for degree in range(few, dimensions):
        supported = _further(counters, supported, order, degree)
    return supported


def _points(order: int, dimensions: int) -> int:
    return int((order**dimensions - 1) // (order - 1))


def _further(counters: NDArray[Any], supported: NDArray[Any], order: int, degree: int) -> NDArray[Any]:
    """The supports in one dimension more."""
    lower = _points(order, degree)
    sums = _sums(counters[lower : lower + order**degree], order, degree)
    return np.append(counters[:lower].sum(), supported[:, np.newaxis] + sums)


@lru_cache(maxsize=256)
def _first(order: int, dimensions: int) -> int:
    """The dimensions that need no transform: those of few points."""
    return max(own for own in range(1, dimensions + 1) if own == 1 or _points(order, own) <= _FEW)


@lru_cache(maxsize=32)
def _hyperplanes(order: int, dimensions: int) -> _Integers:
    """Of few points which lie in which hyperplane, a row a hyperplane."""
    if dimensions == 1:
        return np.zeros((1, 1), np.int64)
    before, points = _hyperplanes(order, dimensions - 1), np.eye(_points(order, dimensions), dtype=np.int64)
    every = [_further(each, before @ each[: len(before)], order, dimensions - 1) for each in points]
    return np.stack(every, axis=1)


def _sums(table: NDArray[Any], order: int, degree: int) -> NDArray[Any]:
    """For every monic a of degree below `degree` and every b, the sum of the table at (a, b)."""
    if int(table.sum()) > _most(order, degree):
        table = _whole(table)
        bits = int(table.max()).bit_length() // 2
        halves = table & (1 << bits) - 1, table >> bits
        low, high = (_sums(half, order, degree) for half in halves)
        both: _Integers = low + (high << bits)
        return both
    from scipy.fft import ifftn  # all axes at once: of orders as small as 3 numpy's, axis by axis, take twice as long

    # Coefficient i of a meets coefficient j - 1 - i of w: the axes are turned round.
    spectrum = ifftn(table.reshape((order,) * degree), norm="forward").T.ravel()
    multiples = _kept_multiples if table.size <= _SMALL else _multiples
    lines = spectrum[multiples(order, degree)]
    sums: NDArray[np.float64] = np.fft.irfft(lines, order, axis=1)
    return sums if table.dtype.kind == "f" else np.rint(sums).astype(np.int64)


def _whole(counts: NDArray[Any]) -> _Integers:
    """The nearest whole numbers: integers themselves, beyond floating point too."""
    return np.rint(counts).astype(np.int64) if counts.dtype.kind == "f" else counts


@lru_cache(maxsize=32)
def _kept_multiples(order: int, degree: int) -> _Integers:
    """Those of a table of few counts, which is one of many that an answer is made of."""
    return _multiples(order, degree)


def _multiples(order: int, degree: int) -> _Integers:
    """For every monic a and every c up to q / 2 (the other half of a line mirrors this one), c a in base q."""
    factors = np.arange(order // 2 + 1)
    last = np.arange(order)[:, np.newaxis] * factors % order
    level = factors[np.newaxis]
    levels = [level]
    for _ in range(degree - 1):  # c (x a + b) = q (c a) + c b
        level = (order * level[:, np.newaxis] + last).reshape(-1, factors.size)
        levels.append(level)
    return np.concatenate(levels)


def _error(order: int) -> float:
    return order * math.sqrt(order) * 2.0**-50


@lru_cache(maxsize=256)
def _most(order: int, degree: int) -> int:
    """The reports in a table of which every sum is off by at most 1/4."""
    return int(0.25 / (_error(order) * (1.5 * degree * math.sqrt(order ** (degree - 1)) + 1)))
