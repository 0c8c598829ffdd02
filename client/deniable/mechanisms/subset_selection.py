"""Subset selection: a device names `size` of the answers, more often than not its own among them.

words:
  subset   the answers that a report names, as a bitmap; always `size` of them
  others   all answers but the device's own
  inside   the threshold of naming the own answer: p = inside / 2^64

A subset with the own answer is e^eps times likelier than one without. At the best size, an integer next to
d / (e^eps + 1), no mechanism estimates frequencies better: its estimator attains the least l2 error of all
(arXiv 2603.11523; Ye and Barg, arXiv 1702.00610; Wang et al., arXiv 1607.08025). Size 1 is k-ary randomized
response.

**Sampling.** Every other answer is named by a coin near the right chance, all coins at once on the words of
one integer; then answers picked uniformly are added or taken away until `size - 1` are left. Coins of one chance
and uniform picks treat all others alike, so every subset of them is equally likely whatever the chance was. One
more other answer is picked always, and the own answer takes its place where a coin says so. What is repeated
depends on discarded words alone: neither the answer nor whether it was named can be told from the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import comb, isqrt
from typing import ClassVar, Self

from deniable.epsilon import Epsilon
from deniable.mechanisms._mechanism import Naming
from deniable.mechanisms._sorts import Sorts
from deniable.mechanisms._support import Supporting, inside_threshold, support_chance, variance
from deniable.payload import Bitmap
from deniable.randomness import WORD, below, coin

__all__ = ["MOST_BITS", "SubsetSelection"]

MOST_BITS = 4096
"""The most answers that a bitmap is sent of: half a kilobyte a report."""


@dataclass(frozen=True, slots=True)
class SubsetSelection(Supporting):
    """Names a subset of the answers."""

    name: ClassVar[str] = "subset_selection"
    most_answers: ClassVar[int] = MOST_BITS
    automatic: ClassVar[bool] = True

    epsilon: Epsilon
    inputs: int
    size: int
    """How many answers a report names."""
    inside: int = field(init=False)
    """The threshold of naming the own answer."""
    thinning: tuple[bool, ...] = field(init=False, repr=False)
    """The binary digits of the coins' chance, the last one first; it only has to be near (size - 1) / others."""

    def __post_init__(self) -> None:
        if self.inputs < 2:
            raise ValueError(f"subset selection needs at least 2 answers, not {self.inputs}")
        if not 1 <= self.size < self.inputs:
            raise ValueError(f"a subset has from 1 to {self.inputs - 1} of {self.inputs} answers, not {self.size}")
        object.__setattr__(self, "inside", inside_threshold(self.epsilon, self.size, self.inputs))
        object.__setattr__(self, "thinning", _digits(self.size - 1, self.inputs - 1))

    @classmethod
    def best(cls, epsilon: Epsilon, inputs: int) -> Self:
        """The size of the least variance; the smaller of two that are equally good."""
        if inputs < 2:
            raise ValueError(f"subset selection needs at least 2 answers, not {inputs}")
        # Of real sizes d / (e^eps + 1) is the best, and the variance has no other minimum.
        optimum = inputs / (epsilon.exp + 1)
        lower = max(1, optimum.numerator // optimum.denominator)
        return cls(epsilon, inputs, min((_variance(epsilon, inputs, size), size) for size in _near(lower, inputs))[1])

    @property
    def shape(self) -> Bitmap:
        """A bit an answer, `size` of them set."""
        return Bitmap(self.inputs, self.size)

    @property
    def p(self) -> Fraction:
        """The chance that the own answer is named."""
        return Fraction(self.inside, WORD)

    @property
    def q(self) -> Fraction:
        """The chance that a certain other answer is named."""
        return _other(self.p, self.inputs, self.size)

    @property
    def both(self) -> tuple[Fraction, Fraction]:
        """Of the others of a subset every choice is as likely."""
        own, others, size = self.p, self.inputs - 1, self.size
        pairs = own * (size - 1) * (size - 2) + (1 - own) * size * (size - 1)
        return own * (size - 1) / others, pairs / (others * max(others - 1, 1))

    @property
    def naming(self) -> Naming:
        """As many answers as the subset has."""
        return Naming(self.size, self.p, self.q)

    @property
    def supported(self) -> int:
        """As many as the subset has."""
        return self.size

    @property
    def sorts(self) -> Sorts:
        """Subsets with the own answer, and those without."""
        shared = comb(self.inputs - 2, self.size - 2) if self.size > 1 else 0
        return Sorts(self.p, comb(self.inputs - 1, self.size - 1), comb(self.inputs, self.size), shared)

    def randomize(self, value: int) -> int:
        """A subset, as a bitmap."""
        others = self.inputs - 1
        named = _subset(others, self.size - 1, self.thinning)
        while named & (extra := 1 << below(others)):
            pass
        named += named >> value << value  # makes room for the own answer's bit
        extra += extra >> value << value
        return named | (extra, 1 << value)[coin(self.inside)]

    def probability(self, payload: int, value: int) -> Fraction:
        """The chance of its sort, shared by all subsets that name the value, or by all that do not."""
        if payload >> value & 1:
            return self.p / comb(self.inputs - 1, self.size - 1)
        return (1 - self.p) / comb(self.inputs - 1, self.size)

    def payloads(self) -> Iterator[int]:
        """All bitmaps with `size` bits set."""
        return (sum(1 << answer for answer in subset) for subset in combinations(range(self.inputs), self.size))

    def parameters(self) -> dict[str, int]:
        """The answers, the size and the threshold."""
        return {"inputs": self.inputs, "size": self.size, "inside": self.inside}


def _near(size: int, inputs: int) -> tuple[int, ...]:
    return (size, size + 1) if size + 1 < inputs else (size,)


def _variance(epsilon: Epsilon, inputs: int, size: int) -> Fraction:
    p = support_chance(epsilon, size, inputs)
    return variance(p, _other(p, inputs, size))


def _other(p: Fraction, inputs: int, size: int) -> Fraction:
    """The chance that another answer is one of the size - 1, or of the size, that are named of the others."""
    return (p * (size - 1) + (1 - p) * size) / (inputs - 1)


def _digits(weight: int, size: int) -> tuple[bool, ...]:
    """A chance at which about sqrt(weight) / 2 of the `weight` bits are wanting: to add one takes fewer picks."""
    precision = size.bit_length() // 2 + 2
    chance = (weight - isqrt(weight) // 2 << precision) // size
    zeros = (chance & -chance).bit_length() - 1
    return tuple(chance >> place & 1 == 1 for place in range(zeros, precision)) if chance else ()


def _subset(size: int, weight: int, thinning: tuple[bool, ...]) -> int:
    """A bitmap of `size` bits with `weight` of them set, every such bitmap equally likely."""
    every = 1 << size
    bits = 0
    for digit in thinning:  # a bit is set with chance c, then with (c + digit) / 2
        bits = bits | below(every) if digit else bits & below(every)
    while bits.bit_count() > weight:
        bits &= ~(1 << below(size))
    while bits.bit_count() < weight:
        bits |= 1 << below(size)
    return bits
