"""Spelling: words as bits, by a public prefix code in which common characters have few.

words:
  code     the bits of a word: of its UTF-8 bytes, one after another, and of its end
  weight   how often a byte is thought to come, in no certain unit; never measured of any fleet
  inner    a byte within a character, after its first; there are 64 of them, with 6 bits each

The code is complete: every sequence of bits begins with the code of one word, as long as its bytes are a text. So of
all words together 2^-bits adds up to 1 at the most, which is what a word's length is weighed by where it is searched.
It is Huffman's (1952), in its canonical form: the same on every machine, as it follows from whole numbers alone.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

__all__ = ["Spelt", "read", "spell"]

_END = 256
"""The symbol of a word's end."""
_INNER = range(0x80, 0xC0)
_INNER_BITS = 6
_LETTERS = {
    "e": 110, "a": 85, "i": 75, "o": 70, "n": 70, "t": 70, "r": 70, "s": 65, "l": 45, "d": 40, "c": 38, "u": 35,
    "m": 30, "p": 28, "h": 25, "g": 22, "b": 18, "f": 14, "y": 12, "v": 12, "k": 10, "w": 10, "z": 6, "x": 4,
    "j": 4, "q": 2,
}  # fmt: skip
_OFTEN = {_END: 150, ord(" "): 8, ord("-"): 8, ord("_"): 8, ord("."): 8, ord("/"): 4, ord(":"): 3, ord("@"): 2}
_LEADS = {**dict.fromkeys(range(0xC2, 0xF5), 1), 0xC3: 8, 0xD0: 8, 0xD1: 6, 0xE3: 4, 0xE5: 3, 0xE6: 3}
"""First bytes of longer characters: Latin with accents, Cyrillic, Chinese and Japanese before the others."""
_SCALE = 64
"""Control characters weigh one such part."""


class Spelt(NamedTuple):
    """The code of a word."""

    bits: int
    """As a number, the first bit the most significant."""
    length: int
    """How many there are."""


_NOTHING = Spelt(0, 0)


def _weights() -> dict[int, int]:
    """Of every byte that a character can begin with, and of the end."""
    weights = dict.fromkeys(range(128), 1) | dict.fromkeys(range(0x21, 0x7F), _SCALE)
    weights |= {ord(digit): 5 * _SCALE for digit in "0123456789"}
    for letter, weight in _LETTERS.items():
        weights[ord(letter)] = weight * _SCALE
        weights[ord(letter.upper())] = max(weight // 25, 1) * _SCALE
    return weights | {place: weight * _SCALE for place, weight in (_OFTEN | _LEADS).items()}


def _lengths(weights: Mapping[int, int]) -> dict[int, int]:
    """How many bits Huffman's code has for each symbol."""
    heap: list[tuple[int, int, list[int]]] = [(weight, symbol, [symbol]) for symbol, weight in weights.items()]
    heapq.heapify(heap)
    lengths = dict.fromkeys(weights, 0)
    while len(heap) > 1:
        (one, _, left), (other, order, right) = heapq.heappop(heap), heapq.heappop(heap)
        for symbol in (*left, *right):
            lengths[symbol] += 1
        heapq.heappush(heap, (one + other, order, left + right))
    return lengths


@cache
def _codes() -> dict[int, Spelt]:
    """The code of each symbol: shorter ones first, and those of one length in the order of their numbers."""
    codes: dict[int, Spelt] = {}
    code = before = 0
    for length, symbol in sorted((length, symbol) for symbol, length in _lengths(_weights()).items()):
        code <<= length - before
        codes[symbol] = Spelt(code, length)
        code, before = code + 1, length
    return codes


@cache
def _ranges() -> tuple[int, list[int], list[tuple[int, int]]]:
    """The bits of the longest code; where codes begin, as numbers of so many bits; the symbol and length of each."""
    codes = _codes()
    longest = max(code.length for code in codes.values())
    order = sorted((code.bits << longest - code.length, symbol) for symbol, code in codes.items())
    return longest, [start for start, _ in order], [(symbol, codes[symbol].length) for _, symbol in order]


@cache
def _every() -> list[Spelt]:
    """The code of each byte, wherever it stands, of the end, and at last of nothing."""
    own = _codes() | {symbol: Spelt(symbol - _INNER.start, _INNER_BITS) for symbol in _INNER}
    return [own.get(symbol, _NOTHING) for symbol in range(_END + 2)]


def spell(word: str, most: int) -> Spelt:
    """The code of a word, as far as it has no more bytes than these: in as many steps for every word."""
    codes, bits, length = _every(), 0, 0
    for symbol in [*word.encode()[:most], _END, *[_END + 1] * most][: most + 1]:
        own = codes[symbol]
        bits, length = bits << own.length | own.bits, length + own.length
    return Spelt(bits, length)


def read(bits: int, length: int) -> tuple[str, int] | None:
    """The word that a sequence of bits begins with, and how many of them are its code; None where there is none."""
    (longest, starts, symbols), found, place, inner = _ranges(), bytearray(), 0, 0
    padded = bits << longest  # what follows the end is taken for zeros, and no code that reaches there is one
    while place < length:
        if inner:
            symbol, taken = _INNER.start + (bits >> max(length - place - _INNER_BITS, 0) & 63), _INNER_BITS
            inner -= 1
        else:
            next_bits = padded >> length - place & (1 << longest) - 1
            symbol, taken = symbols[bisect_right(starts, next_bits) - 1]
            if taken > length - place:
                return None
        place += taken
        if symbol == _END:
            return _text(found, place)
        if symbol >= _INNER.stop:
            inner = 1 + (symbol >= 0xE0) + (symbol >= 0xF0)
        found.append(symbol)
    return None


def _text(found: bytearray, place: int) -> tuple[str, int] | None:
    try:
        return found.decode(), place
    except UnicodeDecodeError:
        return None
