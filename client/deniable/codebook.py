"""Codebooks: random directions that a number of a few bytes tells, to who draws one and to who adds it up.

words:
  seed      a number; it makes a codebook of as many codewords as are asked for
  codeword  a vector of normal entries, so that it points in any direction as likely; known by its seed and number
  page      some codewords that come from one hash: as many as there are for the price of a long one
  table     the entries: the mean of each of 65,536 equally likely parts of the normal law, as an integer

A hash (SHAKE-128) of the seed and a page's number gives 16 bits for every entry, which look it up in the table. As
entries are means of their parts, what is linear in one entry is exact; a table of 256 parts, whose last one is at 2.9
deviations, would be wrong by per cents for a vector that has one large entry. The table is the same on every machine:
none of its entries is so near to halfway between two integers that another logarithm could round it otherwise.
"""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Iterator
from functools import cache
from hashlib import shake_128

__all__ = ["LENGTH", "PARTS", "codebook", "codeword", "pages", "table", "unrounded"]

PARTS = 1 << 16
"""How many entries the table has."""
LENGTH = 1 << 15
"""The length to which a codeword is brought before its entries are rounded and added up."""
_SCALE = 1 << 16
"""The table's integers for one deviation: the smallest is 1, so that no codeword is all zeros."""
_TAG = b"deniable codebook 1"
_NAME = struct.Struct("<QI")
_PAGE = 256
"""A page has so many entries at most, or one codeword: four blocks of the hash cost as much as two hashes."""


def unrounded() -> list[float]:
    """The upper half of the table, before it is rounded: the lower one is the same, below zero."""
    from statistics import NormalDist  # most devices have no codewords, and need not load it at their start

    quantile = NormalDist().inv_cdf
    halves = [_SCALE * quantile(half / (2 * PARTS)) for half in range(PARTS, 2 * PARTS)]
    # The mean of a part by Simpson's rule; of the last one, which has no end, by the density where it begins.
    means = [
        (low + 4 * middle + high) / 6
        for low, middle, high in zip(halves[::2], halves[1::2], halves[2::2], strict=False)
    ]
    last = halves[-2] / _SCALE
    return [*means, PARTS * _SCALE / math.sqrt(2 * math.pi) * math.exp(-last * last / 2)]


@cache
def table() -> array[float]:
    """The table, as floats that hold integers: they take the same time whatever they are. As objects all over the
    memory, they would take a device twice the time; 32 bits have them exactly."""
    upper = [float(round(entry)) for entry in unrounded()]
    return array("f", [*(-entry for entry in reversed(upper)), *upper])


def pages(seed: int, codewords: int, entries: int) -> Iterator[bytes]:
    """All codewords of a seed, page by page, as they come from the hash: two bytes an entry, little-endian."""
    each = _each(entries)
    for page, first in enumerate(range(0, codewords, each)):
        yield _page(seed, page, 2 * entries * min(each, codewords - first))


def codebook(seed: int, codewords: int, entries: int) -> Iterator[tuple[int, ...]]:
    """All codewords of a seed, page by page, as the places of their entries in the table."""
    return (struct.unpack(f"<{len(page) // 2}H", page) for page in pages(seed, codewords, entries))


def codeword(seed: int, number: int, entries: int) -> bytes:
    """One of them, as it comes from the hash."""
    page, place = divmod(number, _each(entries))
    return _page(seed, page, 2 * entries * (place + 1))[2 * entries * place :]


def _each(entries: int) -> int:
    """The codewords of a page."""
    return max(_PAGE // entries, 1)


def _page(seed: int, page: int, length: int) -> bytes:
    """So many bytes of a page."""
    return shake_128(_TAG + _NAME.pack(seed, page)).digest(length)
