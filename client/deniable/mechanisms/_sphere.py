"""Directions: how near the nearest of some random codewords come to a vector, on average.

words:
  entries   of a codeword; its direction is uniform on the sphere of so many dimensions
  cosine    of the angle between a codeword and the vector: the codeword's part along it, if both have length 1
  nearest   so many of the codewords, those of the greatest cosines
  tail      P(a cosine is greater than this one)
  nodes     the places of the integrals: closer together towards the vector, where the nearest are

A codeword is one of the k nearest of M while its tail is below that of the k-th nearest of the M - 1 others, which
has the law Beta(k, M - k). So g(cosine), added up over the nearest, is M E[G(U)] on average, where U has that law and
G(u) is the integral of g over the cosines whose tail is below u. For the cosine and for its square G is a formula;
the tail is added up by Simpson's rule.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Cosines", "cosines", "most_telling"]

_NODES = 1600
_FAR = 9
"""No cosine is farther out than so many deviations, but for one in 10^18."""
_NONE = 5e-324
"""Stands for a tail of 0, of which nothing is counted."""


class Cosines(NamedTuple):
    """What the nearest codewords have."""

    mean: float
    """The mean of their cosines."""
    square: float
    """The mean of the squares of these."""


class _Nodes(NamedTuple):
    """The law of a cosine."""

    weights: list[float]
    """What each node stands for: these add up to 1."""
    tails: list[float]
    logs: list[tuple[float, float]]
    """The logarithms of the tail, and of what is left of 1."""
    firsts: list[float]
    """The integral of the cosine beyond each node."""
    seconds: list[float]
    """The integral of its square."""


@lru_cache(maxsize=16)
def _nodes(entries: int) -> _Nodes:
    """Over angles x from the equator, of which sin x is the cosine: they have a density of cos(x)^(entries - 2)."""
    far = min(math.pi / 2, _FAR / math.sqrt(entries))
    step = 1 / _NODES
    places = [node * step for node in range(_NODES + 1)]
    angles = [far * (1 - 2 * place * place) for place in places]
    sides = [max(math.cos(angle), 0.0) for angle in angles]
    whole = math.sqrt(math.pi) * math.exp(math.lgamma((entries - 1) / 2) - math.lgamma(entries / 2))
    powers = [side ** (entries - 2) / whole for side in sides]
    heights = [4 * far * place * power for place, power in zip(places, powers, strict=True)]
    tails = [0.0]
    for node in range(0, _NODES, 2):
        low, middle, high = heights[node : node + 3]
        half, both = max(5 * low + 8 * middle - high, 0.0), 4 * (low + 4 * middle + high)
        tails += [tails[node] + step / 12 * half, tails[node] + step / 12 * both]
    tails = [min(tail, 1 - 2.0**-53) for tail in tails]
    firsts = [side * power / (entries - 1) for side, power in zip(sides, powers, strict=True)]
    seconds = [
        (tail + (entries - 1) * math.sin(angle) * first) / entries
        for tail, angle, first in zip(tails, angles, firsts, strict=True)
    ]
    weights = [step / 3 * (4 if node % 2 else 2) * height for node, height in enumerate(heights)]
    weights[0], weights[-1] = weights[0] / 2, weights[-1] / 2
    return _Nodes(weights, tails, [(math.log(tail or _NONE), math.log1p(-tail)) for tail in tails], firsts, seconds)


@lru_cache(maxsize=256)
def cosines(entries: int, codewords: int, nearest: int) -> Cosines:
    """The means of the nearest of so many codewords."""
    nodes, others = _nodes(entries), codewords - nearest
    beta = math.lgamma(nearest) + math.lgamma(others) - math.lgamma(codewords)
    chances = [
        weight * math.exp((nearest - 1) * below + (others - 1) * above - beta)
        for weight, (below, above) in zip(nodes.weights, nodes.logs, strict=True)
    ]
    first, second = (
        codewords / nearest * math.fsum(chance * part for chance, part in zip(chances, parts, strict=True))
        for parts in (nodes.firsts, nodes.seconds)
    )
    return Cosines(first, second)


def most_telling(entries: int, codewords: int, excess: float) -> int:
    """How many of the codewords are to be the nearest, each of them 1 + excess times as likely as one of the others,
    so that the mean codeword lies as far as possible in the direction of the vector.

    It does so by their mean cosine times k / (k + M / excess). That has one maximum; of endlessly many codewords it
    is at one of the nodes, and from there it is found by steps.
    """
    nodes = _nodes(entries)
    pairs = zip(nodes.firsts, nodes.tails, strict=True)
    start = max((first / (tail + 1 / excess), tail) for first, tail in pairs)[1]
    nearest = min(max(round(codewords * start), 1), codewords // 2)

    def told(count: int) -> float:
        return cosines(entries, codewords, count).mean * count / (count + codewords / excess)

    for step in (-1, 1):
        while 1 <= nearest + step <= codewords // 2 and told(nearest + step) > told(nearest):
            nearest += step
    return nearest
