# ruff: noqa: SLF001 - no program may feed the client's generator: what is public can not
"""Words for vectors: drawn from a name, put at the edges of what they decide, and noted with what came of them.

words:
  stream     numbers that follow from a name, the same on every machine
  edge       a word that decides by one: at a threshold or beside it, where a draw is discarded, or at an end
  drawn      what a sampler has made of its words, draw by draw
  discarded  words after which a draw was made again
"""

from __future__ import annotations

import contextlib
import struct
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from hashlib import shake_128
from types import ModuleType
from typing import Any, Self, TypeVar

from deniable import randomness
from deniable.mechanisms import Mechanism
from deniable.mechanisms.exponential import Exponential
from deniable.mechanisms.gaussian import Gaussian
from deniable.randomness import WORD, FineCoin

__all__ = ["Noted", "Stream", "fed", "hexes", "noted", "pool", "words_of"]

_BLOCK = struct.Struct("<64Q")
_EDGES = 4
"""One draw of so many is put at an edge."""
_Item = TypeVar("_Item")


class Stream:
    """Numbers of a name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._blocks = 0
        self._left: list[int] = []

    def word(self) -> int:
        """64 bits."""
        if not self._left:
            seed = f"{self._name} {self._blocks}".encode()
            self._left = list(_BLOCK.unpack(shake_128(seed).digest(_BLOCK.size)))
            self._blocks += 1
        return self._left.pop(0)

    def below(self, limit: int) -> int:
        """One of so many numbers, about as likely as each other one."""
        drawn = 0
        for _ in range(limit.bit_length() // 64 + 2):
            drawn = drawn << 64 | self.word()
        return drawn % limit

    def choice(self, items: Sequence[_Item]) -> _Item:
        """One of some items."""
        return items[self.below(len(items))]


class Noted:
    """The words that a sampler is given, and what it makes of them."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.taken: list[int] = []
        self.drawn: list[int] = []
        self.discarded = 0
        self.pool: Sequence[tuple[int, ...]] = ()
        """Edges of what the sampler compares words with itself."""
        self._wanted: list[int] = []

    def begin(self, pool: Sequence[tuple[int, ...]]) -> None:
        """Forget what was noted: another case begins."""
        self.taken, self.drawn, self.discarded, self.pool = [], [], 0, pool
        self._wanted.clear()

    def take(self) -> int:
        """The next word."""
        self.taken.append(self._wanted.pop(0) if self._wanted else self.stream.word())
        return self.taken[-1]

    def want(self, edges: Sequence[tuple[int, ...]]) -> None:
        """Now and then let the next words be those of an edge, if no others are wanted."""
        if edges and not self._wanted and not self.stream.below(_EDGES):
            self._wanted += self.stream.choice(edges)

    def below(self, limit: int, real: Callable[[int], int] = randomness.below) -> int:
        """As the client's."""
        least = max(-(-(limit - 1).bit_length() // 64), 1)
        self.want(_around_limit(limit, least))
        before = len(self.taken)
        self.drawn.append(real(limit))
        self.discarded += len(self.taken) - before - least
        return self.drawn[-1]

    def coin(self, threshold: int, real: Callable[[int], bool] = randomness.coin) -> bool:
        """As the client's."""
        self.want([(edge,) for edge in _around(threshold, WORD)])
        self.drawn.append(real(threshold))
        return bool(self.drawn[-1])

    def toss(self, coin: FineCoin, real: Callable[[FineCoin], bool] = FineCoin.toss) -> bool:
        """As the client's."""
        rest = coin.threshold % (1 << 192)
        near = [(coin.upper, *_words(edge, 3)) for edge in _around(rest, 1 << 192)] if coin.upper < WORD else []
        self.want([*near, *((edge,) for edge in _around(coin.upper, WORD) if edge != coin.upper)])
        self.drawn.append(real(coin))
        return bool(self.drawn[-1])

    def word(self, real: Callable[[], int] = randomness.word) -> int:
        """A word as the client's, which notes with what it is compared."""
        self.want(self.pool)
        return _Compared(real(), self.drawn)

    def bisect(self, *about: Any) -> int:
        """As Python's, in tables that a draw is looked up in."""
        self.drawn.append(bisect_right(*about))
        return self.drawn[-1]


class _Compared(int):
    """A word, which notes how it compares, and its last bit."""

    _drawn: list[int]

    def __new__(cls, word: int, drawn: list[int]) -> Self:
        found = super().__new__(cls, word)
        found._drawn = drawn
        return found

    def __lt__(self, other: int) -> bool:
        self._drawn.append(int(self) < other)
        return bool(self._drawn[-1])

    def __and__(self, other: int) -> int:
        self._drawn.append(int(self) & other)
        return self._drawn[-1]


@contextlib.contextmanager
def noted(stream: Stream) -> Iterator[Noted]:
    """What mechanisms draw while this lasts."""
    found = Noted(stream)
    changed: list[tuple[ModuleType | type, str, Any]] = []

    def change(where: ModuleType | type, name: str, by: Any) -> None:
        changed.append((where, name, getattr(where, name)))
        setattr(where, name, by)

    def toss(coin: FineCoin) -> bool:
        return found.toss(coin)

    change(randomness, "_take", found.take)
    change(FineCoin, "toss", toss)
    for name, module in list(sys.modules.items()):
        if name.startswith("deniable.mechanisms."):
            for each, by in (("below", found.below), ("coin", found.coin), ("word", found.word)):
                if getattr(module, each, None) is getattr(randomness, each):
                    change(module, each, by)
    for sort in (Exponential, Gaussian):
        change(sys.modules[sort.__module__], "bisect_right", found.bisect)
    try:
        yield found
    finally:
        for where, name, before in changed:
            setattr(where, name, before)


@contextlib.contextmanager
def fed(words: Sequence[int]) -> Iterator[list[int]]:
    """Let the client's next words be these; what is left of them, the last one first."""
    randomness._buffer[:] = words[::-1]
    try:
        yield randomness._buffer
    finally:
        randomness._buffer.clear()


def pool(mechanism: Mechanism, value: int) -> list[tuple[int, ...]]:
    """The edges of what a mechanism compares words with itself."""
    return _pool(mechanism, value if isinstance(mechanism, Exponential) else 0)


@lru_cache(maxsize=64)
def _pool(mechanism: Mechanism, value: int) -> list[tuple[int, ...]]:
    if isinstance(mechanism, Gaussian):
        return [_words(edge, 2) for mark in mechanism.cumulative for edge in _around(mark, 1 << 128)]
    if isinstance(mechanism, Exponential):
        sums, left = mechanism.cumulative, mechanism.inputs - 1 - value
        stretch = [each - sums[left] for each in sums[left : left + mechanism.inputs + 1]]
        marks = [-(-(each << 128) // stretch[-1]) for each in stretch]
        return [_words(edge, 2) for mark in marks for edge in _around(mark, 1 << 128)]
    marks = [number for number in mechanism.parameters().values() if number < WORD]
    return [(edge,) for mark in marks for edge in _around(mark, WORD)]


def hexes(words: Sequence[int]) -> str:
    """Words one after another, 16 digits each."""
    return "".join(f"{word:016x}" for word in words)


def words_of(text: str) -> list[int]:
    """The words of such a text."""
    return [int(text[at : at + 16], 16) for at in range(0, len(text), 16)]


def _around(mark: int, end: int) -> list[int]:
    return [each for each in (mark - 1, mark, mark + 1, 0, end - 1) if 0 <= each < end]


def _around_limit(limit: int, words: int) -> list[tuple[int, ...]]:
    """Where draws below a limit begin to be discarded, and where they are 0 or the last."""
    if limit > WORD:
        spare = 64 * words - (limit - 1).bit_length()
        return [_words(each << spare, words) for each in (0, limit - 1, limit) if each << spare < 1 << 64 * words]
    fair = WORD - WORD % limit
    return [(edge,) for edge in _around(fair, WORD)]


def _words(number: int, count: int) -> tuple[int, ...]:
    """A number as so many words, the most significant first."""
    return tuple(number >> 64 * place & WORD - 1 for place in reversed(range(count)))
