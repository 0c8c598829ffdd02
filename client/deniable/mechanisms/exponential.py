"""The exponential mechanism on distance: of ordered answers, a near one is sent more often than a far one.

words:
  place        inputs and outputs are the places 0 to d - 1 of the ordered answers
  decay        r: what one place more of distance multiplies a chance by
  weight       of a distance k: about r^k, an integer
  stretch      the weights of all outputs as one input sees them: a run of the weights of -(d-1) to d-1
  cumulative   the sums of these weights from the left

P(y | x) = r^|x-y| / Z(x), where Z(x) is the sum of x's stretch (McSherry and Talwar, 2007, with minus the distance
as the score).

**The sharpest decay.** r = e^(-eps / (d-1)): twice as sharp as the textbook's e^(-eps / (2 (d-1))), which pays for
the score and once more for Z. Here Z is free. One place farther from y, r^|x-y| falls by r, and Z falls by no more
than that (by the triangle inequality, term by term): so P(y | x) only falls with the distance, is greatest at x = y
and least at an end, where Z is least. The worst ratio for y is r^-max(y, d-1-y) Z(0) / Z(y), and of all y the ends
have the worst: r^-(d-1).

**Sampling.** A word of 128 bits, scaled to the sum of the stretch, falls into one weight of it: two draws whatever
comes out, and P(y | x) is a whole number of words over 2^128. Rounding moves a chance, which is at least
2^-47 / d, by a factor of at most 1 + 2^-67; the decay is found for a ratio smaller by 1 + 2^-64, which pays for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from math import fsum, log2
from typing import ClassVar

from deniable.epsilon import Epsilon
from deniable.mechanisms._mechanism import Mechanism
from deniable.payload import Symbol
from deniable.randomness import word

__all__ = ["Exponential"]

MOST_PLACES = 4096
_BITS = 128
_FINE = 192
"""Bits behind the point of the decay."""
_SLACK = 1 + Fraction(1, 1 << 64)


@dataclass(frozen=True, slots=True)
class Exponential(Mechanism):
    """Sends a place, a near one more often than a far one."""

    name: ClassVar[str] = "exponential"

    epsilon: Epsilon
    inputs: int
    decay: Fraction = field(init=False)
    cumulative: tuple[int, ...] = field(init=False, repr=False)
    """Padded with the last sum, so that every stretch can be searched as far as all of them are."""

    def __post_init__(self) -> None:
        if not 2 <= self.inputs <= MOST_PLACES:
            raise ValueError(f"there are 2 to {MOST_PLACES} ordered answers, not {self.inputs}")
        decay = _sharpest(self.epsilon.exp / _SLACK, self.inputs - 1)
        side = [weight >> _FINE - _BITS for weight in _powers(decay, self.inputs)]
        object.__setattr__(self, "decay", Fraction(decay, 1 << _FINE))
        sums = list(accumulate([*side[:0:-1], *side], initial=0))
        padding = [sums[-1]] * (self._searched - self.inputs)
        object.__setattr__(self, "cumulative", (*sums, *padding))

    @property
    def _searched(self) -> int:
        """So many sums are searched by halving, of which every search takes the same number of steps."""
        return (1 << self.inputs.bit_length()) - 1

    @property
    def plain(self) -> bool:
        """A payload is an answer."""
        return True

    @property
    def collision(self) -> float:
        """That of the stretch in which two places are the same most seldom."""
        return max(self._collision(value) for value in range(self.inputs))

    def _collision(self, value: int) -> float:
        sums, left = self.cumulative, self.inputs - 1 - value
        total = sums[left + self.inputs] - sums[left]
        chances = ((after - before) / total for before, after in pairwise(sums[left : left + self.inputs + 1]))
        return -log2(fsum(chance**2 for chance in chances))

    @property
    def shape(self) -> Symbol:
        """One symbol a place."""
        return Symbol(self.inputs)

    def randomize(self, value: int) -> int:
        """A place of the value's stretch."""
        sums, left = self.cumulative, self.inputs - 1 - value
        first = sums[left]
        drawn = (word() << 64 | word()) * (sums[left + self.inputs] - first) >> _BITS
        return bisect_right(sums, first + drawn, left, left + self._searched) - 1 - left

    def probability(self, payload: int, value: int) -> Fraction:
        """The words that lead there: those that are scaled to at least its own weight's start and below its end."""
        sums, left = self.cumulative, self.inputs - 1 - value
        first, total = sums[left], sums[left + self.inputs] - sums[left]
        start, end = (-((first - sums[left + place] << _BITS) // total) for place in (payload, payload + 1))
        return Fraction(end - start, 1 << _BITS)

    def payloads(self) -> Iterator[int]:
        """The places."""
        return iter(range(self.inputs))

    def parameters(self) -> dict[str, int]:
        """The answers, and the weights by distance."""
        middle = self.inputs - 1
        sums = self.cumulative
        weights = {f"weight_{far}": sums[middle + far + 1] - sums[middle + far] for far in range(self.inputs)}
        return {"inputs": self.inputs} | weights


def _sharpest(ratio: Fraction, places: int) -> int:
    """The least decay, over 2^192, whose `places`-th power is at least 1 / ratio."""
    least = -(-(ratio.denominator << _FINE) // ratio.numerator)
    low, high = 0, 1 << _FINE
    while high - low > 1:
        middle = low + high >> 1
        low, high = (low, middle) if _power(middle, places) >= least else (middle, high)
    return high


def _power(base: int, exponent: int) -> int:
    """The power over 2^192, rounded down at every step."""
    power = 1 << _FINE
    for digit in f"{exponent:b}":
        power = power * power >> _FINE
        if digit == "1":
            power = power * base >> _FINE
    return power


def _powers(base: int, count: int) -> Iterator[int]:
    """The powers from the zeroth on, over 2^192."""
    power = 1 << _FINE
    for _ in range(count):
        yield power
        power = power * base >> _FINE
