"""Hybrid: a band of outputs around the value, with levels between Duchi's two points and an even spacing.

words:
  output   what is sent: one of a row of symbols
  level    the number that an output stands for, an integer; reports are averaged by level
  band     `WIDTH` outputs in a row that are e^eps times likelier than the others
  input    which band: 0 is the lowest, each next one starts one output further up
  place    where on the range from 0 to 1 a value must lie to be an input; values between two places are rounded to
           one of them at random, so that the mean stays exact

**Privacy.** An output in the band has probability inside / (2^64 w), any other (2^64 - inside) / (2^64 S), for w
outputs in a band and S others: two values, whose ratio `inside_threshold` keeps at most e^eps. Levels and places
are only how outputs are read.

**No bias.** Every level contributes to the expected level of an input what it has outside of the band, and those of
the band a constant more. So the place of band i is (s(i) - s(0)) / (s(S) - s(0)) with s the sum of its levels: a
rational that the thresholds do not even enter, and the expected level is an affine function of the place, exactly.

**Variance.** Duchi's mechanism (Duchi, Jordan, Wainwright, arXiv 1604.02390) has two levels, the piecewise mechanism
(Wang et al., arXiv 1907.00782) evenly spaced ones, and the hybrid mechanism of the latter tosses a coin for one of
the two. Here the levels themselves lie between. Let T(i) be the expected level of band i (0 in the middle) and k
the extra probability of an output in the band. From one band to the next, the expected square grows by
k (level(i+w)^2 - level(i)^2), T by k (level(i+w) - level(i)); so the variance is the same for all inputs where

    level(i+w) + level(i) = T(i) + T(i+1),   that is   level(i+w) = (2 T(i) - (1 + k) level(i)) / (1 - k).

Thus all levels follow from those of the middle band. These are chosen for the least variance on a range of a given
size: a system of w / 2 linear equations. Up to epsilon 1, where bands are of half of the outputs, the levels of
either half come out in geometric progression, and for many outputs the variance as c coth(1/c) - 1 squared half
ranges, where c = (e^eps + 1) / (e^eps - 1) and Duchi's is c^2. No channel of any kind is much better: the tests
compare with the best that a linear program finds. At epsilon 1, 2, 4 and 8 the variance is 0.94, 0.85, 0.59 and 0.26
of the hybrid mechanism's formula.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import ClassVar, Self, TypeVar

from deniable.epsilon import Epsilon
from deniable.mechanisms._mechanism import Mechanism
from deniable.mechanisms._sorts import Sorts
from deniable.mechanisms._support import inside_threshold
from deniable.payload import Symbol
from deniable.randomness import WORD, below, coin

__all__ = ["WIDTH", "Hybrid"]

WIDTH = 12
"""The outputs of a band. More of them come nearer to the best levels: by 1% from 8 to 12, by less beyond."""
MOST_INPUTS = 1001
"""More would make a difference beyond epsilon 14 only."""

_HALF = WIDTH // 2
_SPREAD = Fraction(43, 100)
_ROUGH = 1e-9
"""By such a part doubles tell at which places the variance may be the greatest: they are right to 10^-12."""
_Number = TypeVar("_Number", Fraction, float)
_TOP = 1 << 20
"""The highest level: the rounding of levels to integers costs less than 10^-6 of the variance."""


@dataclass(frozen=True, slots=True)
class Hybrid(Mechanism):
    """Sends an output of the band, or one of the others."""

    name: ClassVar[str] = "hybrid"

    epsilon: Epsilon
    inputs: int
    inside: int = field(init=False, compare=False)
    """The threshold of sending an output of the band."""
    levels: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """What each output stands for."""
    marks: tuple[float, ...] = field(init=False, repr=False, compare=False)
    """The places as doubles: what a value is compared with."""

    def __post_init__(self) -> None:
        if not WIDTH < self.inputs <= MOST_INPUTS or self.inputs % 2 == 0:
            raise ValueError(f"bands are of an odd number from {WIDTH + 1} to {MOST_INPUTS}, not of {self.inputs}")
        levels = _levels(float(self.epsilon.exp), self.inputs)
        object.__setattr__(self, "inside", inside_threshold(self.epsilon, WIDTH, self.outputs))
        object.__setattr__(self, "levels", levels)
        first, *_, last = sums = _band_sums(levels)
        object.__setattr__(self, "marks", tuple((each - first) / (last - first) for each in sums))

    @classmethod
    def best(cls, epsilon: Epsilon) -> Self:
        """With as many inputs as make the variance least: of three numbers near w (0.43 e^eps)^(1/3)."""
        half = _HALF
        while half < MOST_INPUTS // 2 and (half + 1) ** 3 < _SPREAD * epsilon.exp * _HALF**3:
            half += 1
        near = {min(max(half + more, _HALF), MOST_INPUTS // 2) for more in (-1, 0, 1)}
        return min((cls(epsilon, 2 * each + 1) for each in sorted(near)), key=lambda each: each.variance)

    @property
    def outputs(self) -> int:
        """How many outputs there are."""
        return self.inputs - 1 + WIDTH

    @property
    def shape(self) -> Symbol:
        """A symbol an output."""
        return Symbol(self.outputs)

    @property
    def places(self) -> tuple[Fraction, ...]:
        """Where on the range each input lies: the first at 0, the last at 1."""
        sums = _band_sums(self.levels)
        return tuple(Fraction(each - sums[0], sums[-1] - sums[0]) for each in sums)

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The expected levels of the first and of the last input: what the two ends of the range are read as."""
        high = self._extra * sum(self.levels[-WIDTH:])
        return -high, high

    @property
    def variance(self) -> Fraction:
        """Of one report's estimate, in squared ranges, for the value on the range where it is greatest."""
        squares = [level * level for level in self.levels]
        outside, extra, size = self._outside * sum(squares), self._extra, (self.ends[1] * 2) ** 2
        totals, middle = _band_sums(squares), Fraction(1, 2)  # where level 0 is read
        rough = [(float(outside) + float(extra) * total) / float(size) for total in totals]
        about = [
            _highest(*one, *two)
            for one, two in pairwise((x - 0.5, y) for x, y in zip(self.marks, rough, strict=True))
        ]
        places, least = self.places, max(about) * (1 - _ROUGH)

        def read(number: int) -> tuple[Fraction, Fraction]:
            return places[number] - middle, (outside + extra * totals[number]) / size

        near = (number for number, each in enumerate(about) if each >= least)  # the others are not the greatest
        return max(_highest(*read(number), *read(number + 1)) for number in near)

    @property
    def sorts(self) -> Sorts:
        """The outputs of the band, and the others."""
        return Sorts(Fraction(self.inside, WORD), WIDTH, self.outputs)

    @property
    def quantity_variance(self) -> Fraction:
        """For the value on the range where it is greatest."""
        return self.variance

    def place_of(self, payload: int) -> float:
        """Where the level of the output lies."""
        least, most = self.ends
        return float((self.levels[payload] - least) / (most - least))

    def between(self, share: float) -> tuple[int, float]:
        """The input at or below a point of the range from 0 to 1, and how far it is on the way to the next one."""
        first = min(bisect_right(self.marks, share), self.inputs - 1) - 1
        low, high = self.marks[first], self.marks[first + 1]
        return first, (share - low) / (high - low)

    def randomize(self, value: int) -> int:
        """An output of the band, or one of the others."""
        within, other = below(WIDTH), below(self.inputs - 1)
        return (other + WIDTH * (other >= value), value + within)[coin(self.inside)]

    def probability(self, payload: int, value: int) -> Fraction:
        """The chance of an output in the band, or of another."""
        return Fraction(self.inside, WORD * WIDTH) if payload in self._band(value) else self._outside

    def payloads(self) -> Iterator[int]:
        """All outputs."""
        return iter(range(self.outputs))

    def parameters(self) -> dict[str, int]:
        """The bands, the threshold and the levels; those of the lower half are the negatives."""
        upper = enumerate(self.levels[self.outputs // 2 :])
        ends = {"inputs": self.inputs, "width": WIDTH, "inside": self.inside}
        return ends | {f"level_{place}": level for place, level in upper}

    @property
    def _outside(self) -> Fraction:
        """The probability of an output outside of the band."""
        return Fraction(WORD - self.inside, WORD * (self.inputs - 1))

    @property
    def _extra(self) -> Fraction:
        """How much more an output in the band has."""
        return Fraction(self.inside, WORD * WIDTH) - self._outside

    def _band(self, value: int) -> range:
        return range(value, value + WIDTH)


def _band_sums(numbers: tuple[int, ...] | list[int]) -> list[int]:
    """The sum of each band of so many outputs' numbers."""
    upto = list(accumulate(numbers, initial=0))
    return [end - start for start, end in zip(upto, upto[WIDTH:], strict=False)]


def _highest(low: _Number, low_moment: _Number, high: _Number, high_moment: _Number) -> _Number:
    """The greatest variance between two places, where values are one or the other at random.

    From one to the other the second moment rises along a line, and the square of the mean along a parabola.
    """
    slope = (high_moment - low_moment) / (high - low)
    value = min(max(slope / 2, low), high)
    return low_moment + slope * (value - low) - value * value


@lru_cache(maxsize=256)
def _levels(odds: float, inputs: int) -> tuple[int, ...]:
    """The levels of the least variance, those of the lower half being the negatives of the upper half's.

    Doubles are added, multiplied and divided in a stated order, so that every machine finds the same levels. (The
    built-in sum is none: it compensates since Python 3.12.)
    """
    upper, highest = _combinations(odds, inputs - 1 + WIDTH)
    # The expected square of the middle band's level; its outputs are `odds` times likelier than the others.
    matrix = [[odds * (row == column) for column in range(_HALF)] for row in range(_HALF)]
    for level in upper[_HALF:]:
        for row, factor in zip(matrix, level, strict=True):
            row[:] = [cell + factor * other for cell, other in zip(row, level, strict=True)]
    free = _solved(matrix, highest)
    real = [_product(level, free) for level in upper]
    unit = max(real) / _TOP
    half = [round(level / unit) for level in real]
    return (*(-level for level in reversed(half)), *half)


def _combinations(odds: float, outputs: int) -> tuple[list[list[float]], list[float]]:
    """The levels of the upper half and the expected level of the last band, as combinations of the free levels.

    Free are those of the upper half of the middle band.
    """
    extra = (odds - 1) / (outputs + (odds - 1) * WIDTH)
    upper = [[float(place == free) for free in range(_HALF)] for place in range(_HALF)]
    expected = [0.0] * _HALF
    for entering in range(_HALF, outputs // 2):
        mirrored = WIDTH - 1 - entering
        leaving = [-level for level in upper[mirrored]] if mirrored >= 0 else upper[entering - WIDTH]
        pairs = list(zip(expected, leaving, strict=True))
        upper.append([(2 * mean - (1 + extra) * level) / (1 - extra) for mean, level in pairs])
        expected = [mean + extra * (new - level) for (mean, level), new in zip(pairs, upper[-1], strict=True)]
    return upper, expected


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """The solution of linear equations with a positive definite matrix, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for place, pivot in enumerate(rows):
        for row in rows[place + 1 :]:
            factor = row[place] / pivot[place]
            row[:] = [cell - factor * other for cell, other in zip(row, pivot, strict=True)]
    solution: list[float] = []
    for row in reversed(rows):
        known = _product(row[len(rows) - len(solution) : -1], solution)
        solution.insert(0, (row[-1] - known) / row[len(rows) - 1 - len(solution)])
    return solution


def _product(first: list[float], second: list[float]) -> float:
    total = 0.0
    for one, other in zip(first, second, strict=True):
        total += one * other
    return total
