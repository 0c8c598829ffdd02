"""Memoized bitwise response: a bitmap is flipped once and remembered, and the remembered one flipped afresh.

words:
  permanent   the first randomisation; drawn once and paid for once
  fresh       the second, over the remembered bitmap; drawn every time
  flipped     a bit that is sent as it is not: flipped by just one of the two

As with every memo, all reports of one answer together tell no more of it than what is remembered does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.epsilon import Epsilon
from deniable.mechanisms._mechanism import Mechanism
from deniable.mechanisms.bitwise_response import BitwiseResponse, flipped_chance
from deniable.payload import Bitmap
from deniable.randomness import WORD

__all__ = ["MemoizedBitwise"]


@dataclass(frozen=True, slots=True)
class MemoizedBitwise(Mechanism):
    """Bitwise response, remembered, under bitwise response."""

    name: ClassVar[str] = "memoized_bitwise"
    tight: ClassVar[bool] = False

    permanent: BitwiseResponse
    """The first randomisation."""
    fresh: BitwiseResponse
    """The second."""

    def __post_init__(self) -> None:
        if self.permanent.flags != self.fresh.flags:
            raise ValueError(f"{self.permanent.flags} remembered flags are not {self.fresh.flags}")

    @property
    def first(self) -> Mechanism:
        """The permanent one."""
        return self.permanent

    @property
    def epsilon(self) -> Epsilon:  # type: ignore[override]
        """What all reports of one answer together cost."""
        return self.permanent.epsilon

    @property
    def inputs(self) -> int:  # type: ignore[override]
        """As many as both have."""
        return self.permanent.inputs

    @property
    def shape(self) -> Bitmap:
        """What the second sends."""
        return self.fresh.shape

    @property
    def p(self) -> Fraction:
        """The chance that a flag that is set is sent."""
        return 1 - self.q

    @property
    def q(self) -> Fraction:
        """The chance that a flag that is not set is sent."""
        return Fraction(self._flips, WORD * WORD)

    @property
    def _flips(self) -> int:
        """Of so many of WORD^2 pairs of words just one flips a bit."""
        first, second = self.permanent.flips, self.fresh.flips
        return first * (WORD - second) + (WORD - first) * second

    def randomize(self, value: int) -> int:
        """Both, as for an answer that was never given before."""
        return self.renew(self.remember(value))

    def remember(self, value: int) -> int:
        """The bitmap that stands for the answer from now on."""
        return self.permanent.randomize(value)

    def renew(self, remembered: int) -> int:
        """The remembered bitmap, flipped afresh."""
        return self.fresh.randomize(remembered)

    def probability(self, payload: int, value: int) -> Fraction:
        """By how many bits are flipped."""
        return flipped_chance(self._flips, WORD * WORD, self.permanent.flags, (payload ^ value).bit_count())

    def payloads(self) -> Iterator[int]:
        """All bitmaps."""
        return self.fresh.payloads()

    def parameters(self) -> dict[str, int]:
        """The flags and both thresholds."""
        return {"flags": self.fresh.flags, "permanent": self.permanent.flips, "fresh": self.fresh.flips}
