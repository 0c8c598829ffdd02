"""Imprints: what a word is asked as, so that one report is evidence for the whole of it.

words:
  group     a part of the fleet that is drawn; each asks of a word's imprint one symbol
  symbol    one of 256 signs; an imprint has one for each group
  shelf    one of 64 parts of all words, by a hash of the whole word
  cell      a shelf and a symbol: what a device of a group is in, one of so many
  frame     a number of bits that words are brought to: those of a word's code, and zeros
  block     a frame's bits, scrambled: words that begin alike have blocks that are not alike at all
  piece     the bits of a block that a symbol brings in; each symbol is a hash of its piece and of those before it

A device draws a group and answers with the one cell of its word there, by a mechanism for one of all cells. Whoever
adds up, over all groups, the reports that support a word's cells counts the word as if every device had been asked
about just this one: no device is spent on a part of it. That two words are in one cell is as rare as hashes collide.

A short word has few bits and as many symbols as a long one, so that most of what its symbols say is redundancy: a
tree code (Wozencraft, 1957), in each shelf one of its own. All hashes are public, and the same for every device.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

from deniable.kinds._spelling import Spelt, read, spell

__all__ = [
    "CELLS",
    "FACTORS",
    "FRAMES",
    "GROUPS",
    "SHELVES",
    "SHORTEST",
    "STEP",
    "SYMBOLS",
    "Imprint",
    "Imprints",
    "mixed",
    "pieces",
]

GROUPS = 16
SHELVES = 64
SYMBOLS = 256
CELLS = SHELVES * SYMBOLS
"""In how many a word can be, in each group."""
SHORTEST = 6
"""The bits of the shortest codes, about."""
FRAMES = tuple(range(20, 129, 6))
"""The frames; a word is in the first that its code fits in."""

STEP = 0x9E3779B97F4A7C15
"""What one more than a piece is multiplied by, so that pieces are far apart."""
FACTORS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_ALL = (1 << 64) - 1
_ROUNDS = 4


def mixed(number: int) -> int:
    """64 bits made of 64 others, one to one (Steele, Lea, Flood, 2014: the end of SplitMix)."""
    first, second = FACTORS
    number = (number ^ number >> 30) * first & _ALL
    number = (number ^ number >> 27) * second & _ALL
    return number ^ number >> 31


def pieces(frame: int) -> tuple[int, ...]:
    """The bits of each group's piece: of the first as many as a symbol has, of the others as even as can be."""
    first = (SYMBOLS - 1).bit_length()
    ends = [first + (frame - first) * group // (GROUPS - 1) for group in range(GROUPS)]
    return (first, *(end - before for before, end in pairwise(ends)))


class Imprint(NamedTuple):
    """What a word is asked as."""

    cells: tuple[int, ...]
    """Its cell in each group."""
    length: int
    """The bits of its code."""
    frame: int
    """The frame that it is in."""

    @property
    def fits(self) -> bool:
        """Whether its code is no longer than the frame."""
        return self.length <= self.frame


@dataclass(frozen=True)
class Imprints:
    """The imprints of one metric."""

    salt: str
    """What tells them from those of other metrics."""
    seeds: dict[int, int] = field(init=False, repr=False, compare=False)
    """For each frame where its hashes begin."""

    def __post_init__(self) -> None:
        numbers = {frame: sha256(f"{frame} {self.salt}".encode()).digest() for frame in FRAMES}
        seeds = {frame: int.from_bytes(number[:8], "big") for frame, number in numbers.items()}
        object.__setattr__(self, "seeds", seeds)

    def of(self, word: str, most: int = FRAMES[-1]) -> Imprint:
        """That of a word of no more bytes than these; where it is too long, that of another one."""
        spelt = spell(word, most)
        frame = _frame(spelt.length)
        state = self.seeds[frame]
        block, rest, symbols = _turned(_framed(spelt, frame), frame, state), frame, []
        for size in pieces(frame):
            rest -= size
            state = mixed(state + (block >> rest & (1 << size) - 1) * STEP + STEP & _ALL)
            symbols.append(state * SYMBOLS >> 64)
        shelf = self.shelf(state)
        return Imprint(tuple(shelf * SYMBOLS + symbol for symbol in symbols), spelt.length, frame)

    def word(self, frame: int, block: int) -> tuple[str, int] | None:
        """The word of a frame's block, and the bits of its code; None where there is none."""
        bits = _turned(block, frame, self.seeds[frame], back=True)
        found = read(bits, frame)
        if found is None or bits & (1 << frame - found[1]) - 1 or _frame(found[1]) != frame:
            return None
        return found

    def shelf(self, state: int) -> int:
        """That of the last symbol's hash."""
        return mixed(state ^ _ALL) * SHELVES >> 64


def _frame(length: int) -> int:
    return FRAMES[min(bisect_left(FRAMES, length), len(FRAMES) - 1)]


def _framed(spelt: Spelt, frame: int) -> int:
    return spelt.bits << frame >> spelt.length


def _turned(block: int, frame: int, seed: int, back: bool = False) -> int:
    """The bits of a frame scrambled, or back: four rounds of Feistel's, each half by a hash of the other."""
    size = frame // 2
    left, right = block >> size, block & (1 << size) - 1
    order = range(_ROUNDS)
    for turn in reversed(order) if back else order:
        if back:
            left, right = right ^ _half(left, turn, seed, size), left
        else:
            left, right = right, left ^ _half(right, turn, seed, size)
    return left << size | right


def _half(number: int, turn: int, seed: int, size: int) -> int:
    return mixed(mixed(number + seed & _ALL) + (turn + 1) * STEP & _ALL) >> 64 - size
