"""Memoized bitwise response: a bitmap is flipped once and remembered, and the remembered one flipped afresh.

words:
  permanent   the first randomisation; drawn once and paid for once
  fresh       the second, over the remembered bitmap; drawn every time
  flipped     a bit that is sent as it is not: flipped by just one of the two

As with every memo, all reports of one answer together tell no more of it than what is remembered does.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.mechanisms._wrapper import Twice
from deniable.mechanisms.bitwise_response import BitwiseResponse, flipped_chance
from deniable.randomness import WORD

__all__ = ["MemoizedBitwise"]


@dataclass(frozen=True, slots=True)
class MemoizedBitwise(Twice):
    """Bitwise response, remembered, under bitwise response."""

    name: ClassVar[str] = "memoized_bitwise"

    permanent: BitwiseResponse
    """The first randomisation."""
    fresh: BitwiseResponse
    """The second."""

    def __post_init__(self) -> None:
        if self.permanent.flags != self.fresh.flags:
            raise ValueError(f"{self.permanent.flags} remembered flags are not {self.fresh.flags}")

    @property
    def _flips(self) -> int:
        """Of so many of WORD^2 pairs of words just one flips a bit."""
        first, second = self.permanent.flips, self.fresh.flips
        return first * (WORD - second) + (WORD - first) * second

    def probability(self, payload: int, value: int) -> Fraction:
        """By how many bits are flipped."""
        return flipped_chance(self._flips, WORD * WORD, self.permanent.flags, (payload ^ value).bit_count())

    def parameters(self) -> dict[str, int]:
        """The flags and both thresholds."""
        return {"flags": self.fresh.flags, "permanent": self.permanent.flips, "fresh": self.fresh.flips}
