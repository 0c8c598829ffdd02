"""Randomness: the operating system's, buffered, never shared, never repeated.

words:
  word       64 random bits as an integer
  threshold  an integer T; a coin that shows heads when a word is below T has P(heads) = T / 2^64 exactly

Words are drawn from `os.urandom` 512 at a time (13 ns a word instead of 300) and taken out of the buffer with
`list.pop`, which is atomic: two threads can not take the same word. A fork drops the child's copy of the buffer,
so that parent and child never share noise. Neither do two copies of a virtual machine, which no program is told of:
an epoch is sealed with words that were drawn for it (`renew`), and not with what was left over before.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

__all__ = ["FINE", "WORD", "FineCoin", "below", "coin", "renew", "shuffle", "word"]

_Item = TypeVar("_Item")

WORD = 1 << 64
"""How many different words there are."""

FINE = 1 << 256
"""How many values the threshold of a fine coin can have."""

_BUFFERED = struct.Struct("<512Q")
_buffer: list[int] = []
_take = _buffer.pop

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_buffer.clear)


def word() -> int:
    """64 random bits."""
    while True:
        try:
            return _take()
        except IndexError:
            _buffer.extend(_BUFFERED.unpack(os.urandom(_BUFFERED.size)))


def renew() -> None:
    """Let the next word be drawn from the operating system after this moment."""
    _buffer.clear()


def coin(threshold: int) -> bool:
    """True with probability threshold / 2^64."""
    return word() < threshold


@dataclass(frozen=True, slots=True)
class FineCoin:
    """Shows heads with probability threshold / 2^256.

    The words after the first decide only where the first equals the upper quarter: once in 2^64 times.
    """

    threshold: int
    upper: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= FINE:
            raise ValueError(f"a threshold lies between 0 and 2^256, not at {self.threshold}")
        object.__setattr__(self, "upper", self.threshold >> 192)

    @classmethod
    def of(cls, probability: Fraction) -> FineCoin:
        """The coin whose probability is nearest."""
        return cls(round(probability * FINE))

    def toss(self) -> bool:
        """Whether it shows heads."""
        first = word()
        if first != self.upper:
            return first < self.upper
        rest = word() << 128 | word() << 64 | word()
        return rest < self.threshold & (FINE >> 64) - 1


def below(limit: int) -> int:
    """A uniform integer in [0, limit): words are drawn again until one falls into a whole multiple of the limit.

    How often depends on the limit and on discarded words alone, never on the result.
    """
    if limit > WORD:
        return _below_large(limit)
    fair = WORD - WORD % limit
    while (drawn := word()) >= fair:
        pass
    return drawn % limit


def _below_large(limit: int) -> int:
    bits = (limit - 1).bit_length()
    words = -(-bits // 64)
    while True:
        drawn = 0
        for _ in range(words):
            drawn = drawn << 64 | word()
        drawn >>= 64 * words - bits
        if drawn < limit:
            return drawn


def shuffle(items: list[_Item]) -> None:
    """Put a list in random order, every order equally likely (Fisher and Yates)."""
    for last in range(len(items) - 1, 0, -1):
        other = below(last + 1)
        items[last], items[other] = items[other], items[last]
