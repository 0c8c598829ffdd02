"""Levels: what kinds share whose answer is a tree, of which a device answers one level that it draws.

words:
  level      all nodes of the tree that are equally far below its root; a column of its own
  node       a part of a level; a device is in one node of every level
  allotment  which share of the devices answers each level: public, and the same for every value
  threshold  where in the words of chance a level ends: a word below it, and not below the one before, draws the level
  slope      by how much an error falls with a level's share

Asking one level with all of epsilon is better than asking all of them with a part each (at epsilon 1 and ten levels,
about ten times). The allotment is the one of the least error, which the kind says what it is: an error is a convex
function of the shares that halves where all of them double. The shares are then found by repeating

    share <- share * sqrt(slope),  made to add up to 1,

which lowers the error in every step (Yu: Monotonic convergence of a general algorithm for computing optimal designs,
2010). It uses sums, products, quotients and roots alone, which every machine rounds alike, so that a collection has
one allotment. An estimate does not rely on it: how many have answered a level is counted.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate

from deniable.epsilon import Epsilon
from deniable.mechanisms import Supporting, choose
from deniable.randomness import WORD

__all__ = ["Slopes", "asked", "drawn", "falling", "shares", "thresholds", "variance"]

Slopes = Callable[[Sequence[float]], Sequence[float]]
"""By how much an error falls with the share of each level, at some shares: one number a level, none below 0."""

_STEPS = 400
"""After so many the error is within a part in 10^6 of the least, for trees of up to twenty levels."""
_NOTHING = 1e-9
"""While the least error is looked for, no share is smaller: slopes can be infinite at 0."""
_LEAST = 1 / 256
"""No level has a smaller share: an answer must not rely on a level that nobody draws."""


def asked(epsilon: Epsilon, sizes: Sequence[int], mechanism: str) -> tuple[Supporting, ...]:
    """The column of each level of so many nodes, by the mechanism named or by the best for it ("auto")."""
    return tuple(choose(epsilon, size, mechanism) for size in sizes)


def variance(mechanism: Supporting) -> Fraction:
    """Of one report of a level of so many nodes, by which its fit to other levels is weighed.

    Where all nodes are alike, what is told of two of them has the covariance c and the variance v of either; as all
    of them add up to 1, which is known, only v - c matters. With a chance u that a report supports a node, and b that
    it supports two, that is (u - b) / (p - q)^2.
    """
    nodes, rate = mechanism.inputs, mechanism.p - mechanism.q
    near, far = mechanism.both
    return (mechanism.q + rate / nodes - (2 * near + (nodes - 2) * far) / nodes) / rate**2


def shares(levels: int, slopes: Slopes) -> list[float]:
    """The share of each level at which the error is least."""
    found = [1 / levels] * levels
    for _ in range(_STEPS if levels > 1 else 0):
        weights = [share * math.sqrt(slope) for share, slope in zip(found, slopes(found), strict=True)]
        total = _added(weights)
        found = [max(weight / total, _NOTHING) for weight in weights]
    found = [max(share, _LEAST) for share in found]
    total = _added(found)
    return [share / total for share in found]


def falling(growth: Sequence[float], variances: Sequence[float], constants: Sequence[float]) -> Slopes:
    """The slopes of an error that is the sum over the levels of a node's variance, as its own level and all below it
    say it, each times a constant: where all nodes are alike, and have so many children in each level (its growth).
    """

    def fall(found: Sequence[float]) -> list[float]:
        own = [0.0] * len(found)
        below = 0.0
        for level in range(len(found) - 1, -1, -1):
            own[level] = 1 / (found[level] / variances[level] + below)
            below = 1 / (growth[level] * own[level])
        falls, weight = [], 0.0
        for level, known in enumerate(own):
            weight += constants[level]
            falls.append(weight * known * known / variances[level])
            if level + 1 < len(own):
                weight *= known * known / (growth[level + 1] * own[level + 1] * own[level + 1])
        return falls

    return fall


def thresholds(found: Sequence[float]) -> tuple[int, ...]:
    """Where each level ends, of words up to 2^64; all words draw one."""
    parts = [max(int(share * (1 << 32)), 1) for share in found]
    ends = [end * WORD // sum(parts) for end in accumulate(parts)]
    return tuple(ends)


def drawn(ends: Sequence[int], word: int) -> int:
    """The level that a word draws."""
    return bisect_right(ends, word)


def _added(numbers: Sequence[float]) -> float:
    """From left to right: `sum` adds more exactly, and not alike in every version of Python."""
    total = 0.0
    for number in numbers:
        total += number
    return total
