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
from typing import NamedTuple

import numpy as np

from deniable.payload import PAYLOAD_BITS, Bitmap, Integer, Shape, Symbol
from deniable_aggregator.ingest.layout import Layout
from deniable_aggregator.store import KEY, Additions, IntArray

__all__ = ["Note", "entries_of", "notes_of"]

_PAYLOAD = (1 << PAYLOAD_BITS) - 1
_PAYLOAD_BYTES = PAYLOAD_BITS // 8
_LIMB_BITS = 32
_KEY_HEAD, _KEY_TAIL = struct.Struct("<QI"), struct.Struct("<II")
_BITS = tuple(
    tuple(tuple(1 + 8 * place + bit for bit in range(8) if byte >> bit & 1) for byte in range(256))
    for place in range(_PAYLOAD_BYTES)
)
"""The counters of the bits of a bitmap's byte, by its place."""


class Note(NamedTuple):
    """What has to be known of a column."""

    shape: type[Shape]
    limit: int
    """Payloads are below this; 0 where no row is allowed."""
    weight: int
    """How many bits a payload has; -1 where that does not matter."""
    gap: int
    """How much farther out the outermost integers count."""
    metric: str
    counters: int
    key: bytes
    """How its keys begin."""


def notes_of(layout: Layout) -> tuple[Note, ...]:
    """What has to be known of each column."""
    return tuple(_note(layout, column) for column in range(len(layout.columns)))


def _note(layout: Layout, column: int) -> Note:
    metric, shape = layout.columns[column]
    limit = weight = gap = 0
    if isinstance(shape, Symbol):
        limit = shape.size
    elif isinstance(shape, Integer):
        limit, gap = shape.size, shape.gap
    elif isinstance(shape, Bitmap) and not shape.wide:
        limit, weight = 1 << shape.size, -1 if shape.weight is None else shape.weight
    return Note(type(shape), limit, weight, gap, metric, shape.counters, _KEY_HEAD.pack(layout.digest, column))


def entries_of(notes: tuple[Note, ...], rows: bytes, epoch: int, segment: int) -> Additions | None:
    """What the rows of one batch add; None where one of them can not be, or two are of one metric."""
    found: list[Note] = []
    entries: list[int] = []
    counters: list[int] = []
    amounts: dict[int, int] = {}
    for row in sorted(struct.unpack(f"<{len(rows) // 8}Q", rows)):
        column, payload = row >> PAYLOAD_BITS, row & _PAYLOAD
        if column >= len(notes):
            return None
        note = notes[column]
        shape, limit, weight = note[:3]
        if payload >= limit:
            return None
        found.append(note)
        if shape is Symbol:
            counters.append(payload)
            entries.append(1)
            continue
        first = len(counters)
        counters.append(0)
        if shape is Integer:
            level = payload + note.gap * ((payload >= 2) + (payload >= limit - 2))
            counters += (1, 2, 3)
            amounts |= zip((first + 1, first + 2, first + 3), _moments(level), strict=True)
        elif weight in (-1, payload.bit_count()):
            for byte, places in zip(payload.to_bytes(_PAYLOAD_BYTES, "little"), _BITS, strict=True):
                if byte:
                    counters += places[byte]
        else:
            return None
        entries.append(len(counters) - first)
    if len({note.metric for note in found}) < len(found):
        return None
    amount = np.ones(len(counters), dtype=np.int64)
    if amounts:
        amount[list(amounts)] = list(amounts.values())
    tail = _KEY_TAIL.pack(epoch, segment)
    return Additions(
        np.frombuffer(tail.join([*[note.key for note in found], b""]), KEY),
        _array([note.counters for note in found]),
        _array(entries),
        _array(counters),
        amount,
    )


def _moments(level: int) -> tuple[int, int, int]:
    """What an integer adds beside one report: itself, and its square in two limbs."""
    square = level * level
    return level, square & (1 << _LIMB_BITS) - 1, square >> _LIMB_BITS


def _array(numbers: list[int]) -> IntArray:
    """As numpy would make it, but in a third of the time."""
    return np.frombuffer(struct.pack(f"<{len(numbers)}q", *numbers), np.int64)
