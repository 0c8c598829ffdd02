"""Randomness: the operating system's, buffered, never shared, never repeated.

words:
  word       64 random bits as an integer
  threshold  an integer T; a coin that shows heads when a word is below T has P(heads) = T / 2^64 exactly

Words are drawn from `os.urandom` 512 at a time (13 ns a word instead of 300) and taken out of the buffer with
`list.pop`, which is atomic: two threads can not take the same word. A fork drops the child's copy of the buffer,
so that parent and child never share noise.
"""

from __future__ import annotations

import os
import struct
from typing import TypeVar

__all__ = ["WORD", "below", "coin", "fine_coin", "shuffle", "word"]

_Item = TypeVar("_Item")

WORD = 1 << 64
"""How many words there are."""

_MASK = WORD - 1
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


def coin(threshold: int) -> bool:
    """True with probability threshold / 2^64."""
    return word() < threshold


def fine_coin(threshold: int) -> bool:
    """True with probability threshold / 2^128.

    The second word decides only where the first equals the upper half: once in 2^64 times.
    """
    first, upper = word(), threshold >> 64
    return first < upper or (first == upper and word() < threshold & _MASK)


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
