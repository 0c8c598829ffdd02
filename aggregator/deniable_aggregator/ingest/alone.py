"""A batch that is flushed alone: its rows checked and written down one by one.

A function of numpy takes as long for one number as for some hundred, and to check and add up a flush takes some
eighty of them: that is the most of what a flush of one batch costs, as most flushes are where calls are few. And one
batch leaves nothing to add up: no two of its reports are of one column. So what it adds never is an array: it is
written down as it will be sent. From a few batches on arrays are cheaper (`rows.py`).

words:
  note  what has to be known of a column to read one of its rows
"""

from __future__ import annotations

import struct
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

from deniable.payload import PAYLOAD_BITS, Bitmap, Integer, Symbol
from deniable_aggregator.ingest.layout import Layout
from deniable_aggregator.store import Written

__all__ = ["Note", "entries_of", "notes_of"]

Note: TypeAlias = tuple[int, int, int, str, bytes, bytes]
"""Of a column: below what its payloads are, 0 where no row is allowed; how many bits a bitmap has, or what it is if
none (`_SYMBOL`, `_INTEGER`); how much farther out the outermost integers count; the metric; and, as they are written
down, how many counters it has, and how its keys begin. Plain, since Python takes a named tuple apart more slowly."""

_ANY_BITS, _SYMBOL, _INTEGER = -1, -2, -3
_ROW = struct.Struct("<IHH")
"""A payload's low and high bits, and a column."""
_LIMB_BITS = 32
_KEY_HEAD, _KEY_TAIL, _SIZE = struct.Struct("<QI"), struct.Struct("<II"), struct.Struct("<I")
_MOMENTS = struct.Struct("<3q")
_BITS = tuple(
    tuple(tuple(1 + 8 * place + bit for bit in range(8) if byte >> bit & 1) for byte in range(256))
    for place in range(PAYLOAD_BITS // 8)
)
"""The counters of the bits of a bitmap's byte, by its place."""
_ONE = struct.pack("<q", 1)
_column = itemgetter(2)


def notes_of(layout: Layout) -> tuple[Note, ...] | None:
    """What has to be known of each column to read one of its rows; None where columns of one metric are apart, so
    that rows of one metric need not follow each other when they are in order."""
    metrics = [metric for metric, _ in layout.columns]
    if len(list(groupby(metrics))) > len(set(metrics)):
        return None
    return tuple(_note(layout, column) for column in range(len(layout.columns)))


def _note(layout: Layout, column: int) -> Note:
    metric, shape = layout.columns[column]
    limit, bits, gap = 0, _SYMBOL, 0
    if isinstance(shape, Symbol):
        limit = shape.size
    elif isinstance(shape, Integer):
        limit, bits, gap = shape.size, _INTEGER, shape.gap
    elif isinstance(shape, Bitmap) and not shape.wide:
        limit, bits = 1 << shape.size, _ANY_BITS if shape.weight is None else shape.weight
    return limit, bits, gap, metric, _SIZE.pack(shape.counters), _KEY_HEAD.pack(layout.digest, column)


def entries_of(notes: tuple[Note, ...], rows: bytes, epoch: int, segment: int) -> Written | None:
    """What the rows of one batch add; None where one of them can not be, or two are of one metric."""
    before: str | None = None
    sizes, keys = [], []
    entries: list[int] = []
    counters: list[int] = []
    levels: list[tuple[int, int]] = []
    for low, high, column in sorted(_ROW.iter_unpack(rows), key=_column):
        if column >= len(notes):
            return None
        limit, bits, gap, metric, size, key = notes[column]
        payload = high << 32 | low if high else low
        if payload >= limit or metric == before:
            return None
        before = metric
        sizes.append(size)
        keys.append(key)
        if bits == _SYMBOL:
            counters.append(payload)
            entries.append(1)
            continue
        first = len(counters)
        counters.append(0)
        if bits == _INTEGER:
            levels.append((first + 1, payload + gap * ((payload >= 2) + (payload >= limit - 2))))
            counters += (1, 2, 3)
        elif bits == payload.bit_count() or bits == _ANY_BITS:
            place = 0
            while payload:
                counters += _BITS[place][payload & 255]
                payload >>= 8
                place += 1
        else:
            return None
        entries.append(len(counters) - first)
    keys.append(b"")
    amounts = _amounts(len(counters), levels)
    entries += counters
    numbers = struct.pack(f"<{len(entries)}I", *entries)
    return Written(_KEY_TAIL.pack(epoch, segment).join(keys), b"".join(sizes), numbers, amounts)


def _amounts(entries: int, levels: list[tuple[int, int]]) -> bytes:
    """What each entry adds: one, or for integers what is said of them."""
    if not levels:
        return _ONE * entries
    amounts = bytearray(_ONE * entries)
    for entry, level in levels:
        _MOMENTS.pack_into(amounts, entry * len(_ONE), *_moments(level))
    return bytes(amounts)


def _moments(level: int) -> tuple[int, int, int]:
    """What an integer adds beside one report: itself, and its square in two limbs."""
    square = level * level
    return level, square & (1 << _LIMB_BITS) - 1, square >> _LIMB_BITS
