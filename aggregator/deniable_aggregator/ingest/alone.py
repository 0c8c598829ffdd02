"""A batch that is flushed alone: its rows checked and written down one by one.

A function of numpy takes as long for one number as for some hundred, and to check and add up a flush takes some
eighty of them: that is the most of what a flush of one batch costs, as most flushes are where calls are few. And one
batch leaves nothing to add up: no two of its reports are of one column. From a few batches on arrays are cheaper
(`rows.py`).

words:
  note  what has to be known of a column to read one of its rows
"""

from __future__ import annotations

import struct
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from deniable.payload import PAYLOAD_BITS, Bitmap, Integer, Symbol
from deniable_aggregator.ingest.layout import Layout
from deniable_aggregator.store import KEY, Additions, IntArray

__all__ = ["Note", "entries_of", "notes_of"]

_ROW = struct.Struct("<IHH")
"""A payload's low and high bits, and a column."""
_LIMB_BITS = 32
_KEY_HEAD, _KEY_TAIL, _SIZE = struct.Struct("<QI"), struct.Struct("<II"), struct.Struct("<I")
_BITS = tuple(
    tuple(tuple(1 + 8 * place + bit for bit in range(8) if byte >> bit & 1) for byte in range(256))
    for place in range(PAYLOAD_BITS // 8)
)
"""The counters of the bits of a bitmap's byte, by its place."""
_ONES = np.ones(1 << 10, dtype=np.int64)
_ONES.flags.writeable = False
_column = itemgetter(2)


class Note(NamedTuple):
    """What has to be known of a column."""

    limit: int
    """Payloads are below this; 0 where no row is allowed."""
    symbol: bool
    weight: int | None
    """How many bits a bitmap has; -1 where that does not matter, None where it is none."""
    gap: int
    """How much farther out the outermost integers count."""
    metric: str
    size: bytes
    """How many counters it has, and how its keys begin, as they are written down."""
    key: bytes


def notes_of(layout: Layout) -> tuple[Note, ...]:
    """What has to be known of each column."""
    return tuple(_note(layout, column) for column in range(len(layout.columns)))


def _note(layout: Layout, column: int) -> Note:
    metric, shape = layout.columns[column]
    limit, gap, weight = 0, 0, None
    if isinstance(shape, Symbol):
        limit = shape.size
    elif isinstance(shape, Integer):
        limit, gap = shape.size, shape.gap
    elif isinstance(shape, Bitmap) and not shape.wide:
        limit, weight = 1 << shape.size, -1 if shape.weight is None else shape.weight
    key = _KEY_HEAD.pack(layout.digest, column)
    return Note(limit, isinstance(shape, Symbol), weight, gap, metric, _SIZE.pack(shape.counters), key)


def entries_of(notes: tuple[Note, ...], rows: bytes, epoch: int, segment: int) -> Additions | None:
    """What the rows of one batch add; None where one of them can not be, or two are of one metric."""
    metrics, sizes, keys = [], [], []
    entries: list[int] = []
    counters: list[int] = []
    amounts: dict[int, int] = {}
    for low, high, column in sorted(_ROW.iter_unpack(rows), key=_column):
        if column >= len(notes):
            return None
        limit, symbol, weight, gap, metric, size, key = notes[column]
        payload = high << 32 | low if high else low
        if payload >= limit:
            return None
        metrics.append(metric)
        sizes.append(size)
        keys.append(key)
        if symbol:
            counters.append(payload)
            entries.append(1)
            continue
        first = len(counters)
        counters.append(0)
        if weight is None:
            level = payload + gap * ((payload >= 2) + (payload >= limit - 2))
            counters += (1, 2, 3)
            amounts |= zip((first + 1, first + 2, first + 3), _moments(level), strict=True)
        elif weight in (-1, payload.bit_count()):
            place = 0
            while payload:
                counters += _BITS[place][payload & 255]
                payload >>= 8
                place += 1
        else:
            return None
        entries.append(len(counters) - first)
    if len(set(metrics)) < len(metrics):
        return None
    keys.append(b"")
    return Additions(
        np.frombuffer(_KEY_TAIL.pack(epoch, segment).join(keys), KEY),
        np.frombuffer(b"".join(sizes), "<u4"),
        np.frombuffer(bytes(entries), np.uint8),  # of 49 at the most
        np.frombuffer(struct.pack(f"<{len(counters)}I", *counters), "<u4"),
        _amount(len(counters), amounts),
    )


def _moments(level: int) -> tuple[int, int, int]:
    """What an integer adds beside one report: itself, and its square in two limbs."""
    square = level * level
    return level, square & (1 << _LIMB_BITS) - 1, square >> _LIMB_BITS


def _amount(entries: int, amounts: dict[int, int]) -> IntArray:
    """One for every entry, but for those of which something else is said."""
    if not amounts and entries <= len(_ONES):
        return _ONES[:entries]
    amount = np.ones(entries, dtype=np.int64)
    amount[list(amounts)] = list(amounts.values())
    return amount
