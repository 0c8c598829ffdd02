"""Codewords: of many random directions a device names one that is near to its vector, more often than not.

words:
  seed      drawn by the device, uniformly: it makes a codebook (`deniable.codebook`)
  lifted    a vector with one more entry, which makes every one as long as the bound: a point of a sphere
  nearest   so many of the codewords, those of the greatest cosines with the lifted vector; which is first where two
            are equal is told by their numbers
  inside    the threshold of naming one of the nearest: p = inside / 2^64
  reach     the mean codeword that is named is so many times the lifted vector, if both have length 1

**Privacy.** The seed says nothing. Given the seed, any vector makes `nearest` of the codewords likelier than the
others, by e^eps and no more, in rationals, whatever the codewords are and however they are ranked: subset selection
turned round. There is no delta.

**Accuracy.** As codewords point in all directions as likely, the mean of those that are named lies in the direction
of the vector, and is the vector once it is divided by `reach`: of sparse, dense and zero vectors alike, which as
lifted ones are all as long. Shorter vectors say more of the entry that is dropped. (PrivUnit is the
best of its family: Asi, Feldman and Talwar, arXiv 2205.02466. Told by a seed: Isik and others, arXiv 2306.04924. With
256 codewords the variance is within 2% of PrivUnit's up to epsilon 4.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from operator import mul
from typing import ClassVar, Self

from deniable import codebook
from deniable.epsilon import Epsilon
from deniable.mechanisms._entries import unpack
from deniable.mechanisms._mechanism import Mechanism
from deniable.mechanisms._sorts import Sorts
from deniable.mechanisms._sphere import Cosines, cosines, most_telling
from deniable.mechanisms._support import inside_threshold
from deniable.payload import PAYLOAD_BITS, Codeword
from deniable.randomness import WORD, below, coin

__all__ = ["Codewords"]

MOST_DIMENSIONS = 4096
_FEWEST, _MOST = 1 << 8, 1 << 12
"""How many codewords a seed has."""
_EACH = 4
"""There are so many as e^eps + 1, times this, or more: if there may be."""
_ENTRIES = 1 << 19
"""More than the fewest codewords have so many entries together at most: 40 ms of a device's time."""


@dataclass(frozen=True, slots=True)
class Codewords(Mechanism):
    """Names a codeword of a codebook."""

    name: ClassVar[str] = "codewords"
    fine: ClassVar[int] = 16
    """The last entry of a lifted vector is rounded to so many parts of a step."""

    epsilon: Epsilon
    dimensions: int
    """How many entries a vector has; a codeword has one more."""
    bound: int
    """The largest l2 norm."""
    codewords: int
    """How many a seed has."""
    nearest: int
    """How many of them are likelier than the others."""
    seeds: int
    """How many seeds there are."""
    inside: int = field(init=False)
    """The threshold of naming one of the nearest."""

    def __post_init__(self) -> None:
        if not 1 <= self.dimensions <= MOST_DIMENSIONS:
            raise ValueError(f"a vector has 1 to {MOST_DIMENSIONS} dimensions, not {self.dimensions}")
        if self.bound < 1:
            raise ValueError(f"a bound is at least 1, not {self.bound}")
        if not 1 <= self.nearest < self.codewords:
            raise ValueError(f"from 1 to {self.codewords - 1} of {self.codewords} are nearest, not {self.nearest}")
        object.__setattr__(self, "inside", inside_threshold(self.epsilon, self.nearest, self.codewords))
        _ = self.shape  # checks that payloads fit

    @classmethod
    def best(cls, epsilon: Epsilon, dimensions: int, bound: int) -> Self:
        """As many codewords as a device has time for, as many of them near as makes the least variance, and all seeds
        that there is room for."""
        codewords, enough = _FEWEST, _EACH * (epsilon.exp + 1)
        while codewords < _MOST and codewords < enough and 2 * codewords * dimensions <= _ENTRIES:
            codewords *= 2
        nearest = most_telling(dimensions + 1, codewords, math.expm1(float(epsilon)))
        return cls(epsilon, dimensions, bound, codewords, nearest, (1 << PAYLOAD_BITS) // codewords)

    @property
    def inputs(self) -> int:  # type: ignore[override]
        """Packed entries are below this; those of a larger norm are refused."""
        return 1 << 32 * self.dimensions

    @property
    def shape(self) -> Codeword:
        """A seed and a number; the entry that lifts is not counted."""
        return Codeword(self.dimensions, self.codewords, self.seeds)

    @property
    def p(self) -> Fraction:
        """The chance that one of the nearest is named."""
        return Fraction(self.inside, WORD)

    @property
    def reach(self) -> float:
        """The cosine of the codeword that is named, on average: that of all is 0."""
        share = Fraction(self.nearest, self.codewords - self.nearest)
        return self._cosines.mean * float(self.p - (1 - self.p) * share)

    @property
    def spread(self) -> tuple[float, float]:
        """The variance of a codeword's entry, for an entry of the vector that is 0, and for one that is all of it; in
        between it goes with the square of that entry."""
        p, others = float(self.p), self.codewords - self.nearest
        near = self._cosines.square
        rest = (self.codewords / (self.dimensions + 1) - self.nearest * near) / others
        square = p * near + (1 - p) * rest
        return (1 - square) / self.dimensions, square - self.reach**2

    @property
    def variance(self) -> float:
        """The variance of an entry's estimate where it is greatest, in steps squared."""
        return max(self.spread) * (self.bound / self.reach) ** 2

    @property
    def sorts(self) -> Sorts:
        """Of every seed the nearest, and the others."""
        return Sorts(self.p, self.seeds * self.nearest, self.seeds * self.codewords)

    def randomize(self, value: int) -> int:
        """A seed and a number: the same draws and steps for every vector."""
        seed, near, far = below(self.seeds), below(self.nearest), below(self.codewords - self.nearest)
        place = (self.nearest + far, near)[coin(self.inside)]
        return seed * self.codewords + self._ranked(seed, value)[place]

    def probability(self, payload: int, value: int) -> Fraction:
        """Any seed, and then one of the nearest or one of the others."""
        seed, number = divmod(payload, self.codewords)
        if self._ranked(seed, value).index(number) < self.nearest:
            return self.p / self.nearest / self.seeds
        return (1 - self.p) / (self.codewords - self.nearest) / self.seeds

    def payloads(self) -> Iterator[int]:
        """All codewords of all seeds."""
        return iter(range(self.seeds * self.codewords))

    def parameters(self) -> dict[str, int]:
        """The vectors, the codewords and the threshold."""
        return {
            "dimensions": self.dimensions,
            "bound": self.bound,
            "codewords": self.codewords,
            "nearest": self.nearest,
            "seeds": self.seeds,
            "inside": self.inside,
        }

    @property
    def _cosines(self) -> Cosines:
        return cosines(self.dimensions + 1, self.codewords, self.nearest)

    def _ranked(self, seed: int, value: int) -> list[int]:
        """The numbers of a seed's codewords, the nearest one first. All sums are of whole numbers (or sixteenths) and
        below 2^53: floats have them exactly, in any order."""
        size = self.dimensions + 1
        lifted = self._lifted(value)
        entry = codebook.table().__getitem__
        marks: list[float] = []
        for places in codebook.codebook(seed, self.codewords, size):
            entries = list(map(entry, places))
            along = map(mul, entries, lifted * (len(entries) // size))
            squares = map(mul, entries, entries)
            marks += [
                sum(islice(along, size)) / math.sqrt(sum(islice(squares, size))) for _ in range(len(entries) // size)
            ]
        return sorted(range(self.codewords), key=marks.__getitem__, reverse=True)

    def _lifted(self, value: int) -> list[float]:
        """The vector's entries, and the one that makes it as long as the bound."""
        entries = list(map(float, unpack(value, self.dimensions)))
        left = float(self.bound) ** 2 - sum(map(mul, entries, entries))
        if left < 0:
            raise ValueError(f"a vector's l2 norm is at most {self.bound}")
        return [*entries, math.floor(self.fine * math.sqrt(left)) / self.fine]
