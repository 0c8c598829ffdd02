"""Bitwise response: randomized response on every bit of its own.

words:
  flag    a bit of the answer; any of them can be set
  flips   the threshold: P(a bit is sent as it is not) = flips / 2^64, independently for every bit

Two answers differ in all bits at most, so that epsilon is split over them: the odds ((2^64 - flips) / flips)^bits are
at most e^eps, and each flag for itself is hidden with eps / bits. (Both answers of a bit are treated alike: the other
unary encodings of Wang et al., 2017, ask for exactly one set bit.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from deniable.epsilon import Epsilon
from deniable.mechanisms._sorts import log2
from deniable.mechanisms._support import Supporting
from deniable.payload import Bitmap
from deniable.randomness import WORD, word

__all__ = ["BitwiseResponse", "flipped_chance"]


@dataclass(frozen=True, slots=True)
class BitwiseResponse(Supporting):
    """Flips every bit now and then."""

    name: ClassVar[str] = "bitwise_response"

    epsilon: Epsilon
    flags: int
    inputs: int = field(init=False)
    flips: int = field(init=False)

    def __post_init__(self) -> None:
        _ = self.shape  # checks how many flags there are
        object.__setattr__(self, "inputs", 1 << self.flags)
        object.__setattr__(self, "flips", _fewest_flips(self.epsilon, self.flags))

    @property
    def shape(self) -> Bitmap:
        """A bit a flag, any number of them set."""
        return Bitmap(self.flags)

    @property
    def p(self) -> Fraction:
        """The chance that a flag that is set is sent."""
        return 1 - self.q

    @property
    def q(self) -> Fraction:
        """The chance that a flag that is not set is sent."""
        return Fraction(self.flips, WORD)

    @property
    def asked(self) -> int:
        """The flags, each for itself."""
        return self.flags

    @property
    def supported(self) -> int:
        """All flags."""
        return self.flags

    @property
    def factor(self) -> Fraction:
        """That of a bit, as often as there are bits."""
        return (2 * (self.p**2 + self.q**2)) ** self.flags

    @property
    def collision(self) -> float:
        """That of a bit, as often as there are bits."""
        return -self.flags * log2(self.p**2 + self.q**2)

    def randomize(self, value: int) -> int:
        """The bits, some of them flipped."""
        flips, flipped = self.flips, 0
        for _ in range(self.flags):
            flipped += flipped + (word() < flips)
        return value ^ flipped

    def probability(self, payload: int, value: int) -> Fraction:
        """By how many bits are flipped."""
        return flipped_chance(self.flips, WORD, self.flags, (payload ^ value).bit_count())

    def payloads(self) -> Iterator[int]:
        """All bitmaps."""
        return iter(range(self.inputs))

    def parameters(self) -> dict[str, int]:
        """The flags and the threshold."""
        return {"flags": self.flags, "flips": self.flips}


@lru_cache(maxsize=1024)
def flipped_chance(flips: int, whole: int, flags: int, flipped: int) -> Fraction:
    """The chance that certain `flipped` of the flags are flipped and no others, where each is with flips / whole."""
    return Fraction(flips**flipped * (whole - flips) ** (flags - flipped), whole**flags)


def _fewest_flips(epsilon: Epsilon, flags: int) -> int:
    """The least threshold that keeps (2^64 - flips)^flags <= exp flips^flags."""
    most, least = epsilon.exp.numerator, epsilon.exp.denominator
    low, high = 0, WORD // 2
    while high - low > 1:
        middle = low + high >> 1
        enough = (WORD - middle) ** flags * least <= most * middle**flags
        low, high = (low, middle) if enough else (middle, high)
    return high
