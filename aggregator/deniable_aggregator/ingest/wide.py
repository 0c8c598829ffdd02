"""Wide rows: payloads of more than 48 bits, which are gathered one by one, and added up column by column on arrays.

words:
  raw  a key by number: its group and its column (`rows.py`)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deniable.payload import Bitmap, Integers, Shape
from deniable_aggregator.store import IntArray

__all__ = ["BoolArray", "Entries", "Vectors", "WideBitmaps", "begins", "gather", "too_long", "wide_bytes"]

_LIMB = (1 << 32) - 1
_LANE_ROWS = 255
"""So many bits can be added up in a byte."""

BoolArray = NDArray[np.bool_]
ByteArray = NDArray[np.uint8]
Entries = tuple[IntArray, IntArray, IntArray]
"""Keys by number, counters, amounts; in the order of keys and counters."""


def begins(values: IntArray) -> BoolArray:
    """Where another value begins than the one before. (Much of what numpy offers for this is written in Python, and
    takes as long as all the rest does for a few values: so it is with `append`, `diff`, `stack` and `ones_like`.)"""
    begins = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return begins


def _sorted(raw: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The order of the keys, the keys themselves, and where each begins in that order."""
    order = np.argsort(raw, kind="stable")
    ordered = raw[order]
    (starts,) = begins(ordered).nonzero()
    return order, ordered[starts], starts


def _nonzero(keys: IntArray, sums: IntArray) -> Entries:
    """A matrix of a row a key and a column a counter, as entries."""
    row, counter = np.nonzero(sums)
    return keys[row], counter, sums[row, counter]


def _bit_entries(raw: IntArray, rows: ByteArray) -> Entries:
    """Reports, then how often each bit is set."""
    order, keys, starts = _sorted(raw)
    reports = np.diff(np.append(starts, len(raw)))
    return _nonzero(keys, np.column_stack((reports, _bit_sums(rows[order], starts))))


def _bit_sums(rows: ByteArray, starts: IntArray) -> IntArray:
    """For each stretch of rows, how often each bit is set.

    Bits become bytes, of which eight are added at once as one 64-bit lane; no byte carries into the next
    before 256 rows, so stretches are cut into pieces of 255.
    """
    pieces = -(-np.diff(np.append(starts, len(rows))) // _LANE_ROWS)
    first = np.cumsum(pieces) - pieces
    step = np.arange(pieces.sum()) - np.repeat(first, pieces)
    lanes = np.unpackbits(rows, axis=1, bitorder="little").view(np.uint64)
    sums = np.add.reduceat(lanes, np.repeat(starts, pieces) + _LANE_ROWS * step, axis=0)
    return np.add.reduceat(sums.view(np.uint8).astype(np.int64), first, axis=0)


class WideBitmaps:
    """All wide rows of one column of bitmaps."""

    def __init__(self, column: int, shape: Bitmap, owners: list[int], payloads: list[bytes]) -> None:
        self.column = column
        self.owner = np.array(owners)
        self._shape = shape
        self._rows = np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(len(payloads), -1)

    def bad(self) -> BoolArray:
        """Rows with bits beyond the last, or with a wrong number of bits."""
        spare = -self._shape.size % 8
        bad: BoolArray = np.zeros(len(self._rows), dtype=np.bool_)
        if spare:
            bad |= (self._rows[:, -1] >> (8 - spare)) != 0
        if self._shape.weight is not None:
            bad |= np.bitwise_count(self._rows).sum(axis=1, dtype=np.int64) != self._shape.weight
        return bad

    def entries(self, raw: IntArray, chosen: BoolArray) -> Entries:
        """What the chosen rows add to keys numbered so."""
        return _bit_entries(raw, self._rows[chosen])


class Vectors:
    """All wide rows of one column of vectors."""

    def __init__(self, column: int, shape: Integers, owners: list[int], payloads: list[bytes]) -> None:
        self.column = column
        self.owner = np.array(owners)
        self._shape = shape
        self._rows = np.frombuffer(b"".join(payloads), dtype="<i4").reshape(len(payloads), -1)

    def bad(self) -> BoolArray:
        """Rows with an entry beyond the bound, or longer than the norm."""
        beyond = (self._rows > self._shape.bound) | (self._rows < -self._shape.bound)
        bad: BoolArray = np.logical_or.reduce(beyond, axis=1)
        return bad | too_long(self._shape, self._rows)

    def entries(self, raw: IntArray, chosen: BoolArray) -> Entries:
        """Reports, the sums, then the low and the high limbs of the sums of squares."""
        order, keys, starts = _sorted(raw)
        values = self._rows[chosen][order].astype(np.int64)
        if self._shape.gap:
            inner = self._shape.bound - 2
            values += self._shape.gap * ((values > inner).astype(np.int64) - (values < -inner))
        squares = values * values
        reports = np.ones((len(values), 1), dtype=np.int64)
        columns = np.hstack((reports, values, squares & _LIMB, squares >> 32))
        return _nonzero(keys, np.add.reduceat(columns, starts, axis=0))


def too_long(shape: Integers, rows: NDArray[np.int32]) -> BoolArray:
    """Rows of a greater norm than the shape's; as doubles add up, it may be greater by one part in 2^40."""
    if shape.norm is None:
        return np.zeros(len(rows), dtype=np.bool_)
    lengths = np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1))
    long: BoolArray = lengths > shape.norm * (1 + 2.0**-40)
    return long


def gather(
    shapes: Sequence[Shape | None], batches: Sequence[Sequence[tuple[int, bytes]]]
) -> tuple[list[WideBitmaps | Vectors], list[int]]:
    """The wide rows by column, and the batches that have one that no column has."""
    if not any(batches):
        return [], []
    owners: defaultdict[int, list[int]] = defaultdict(list)
    payloads: defaultdict[int, list[bytes]] = defaultdict(list)
    bad = []
    for number, rows in enumerate(batches):
        for column, payload in rows:
            if column < len(shapes) and len(payload) == wide_bytes(shapes[column]):
                owners[column].append(number)
                payloads[column].append(payload)
            else:
                bad.append(number)
    wide: list[WideBitmaps | Vectors] = []
    for column, numbers in owners.items():
        shape = shapes[column]
        if isinstance(shape, Bitmap):
            wide.append(WideBitmaps(column, shape, numbers, payloads[column]))
        elif isinstance(shape, Integers):
            wide.append(Vectors(column, shape, numbers, payloads[column]))
    return wide, bad


def wide_bytes(shape: Shape | None) -> int:
    """The length of a wide row's payload; -1 for a column that has no wide rows."""
    match shape:
        case Bitmap(size) if shape.wide:
            return -(-size // 8)
        case Integers(size):
            return 4 * size
        case _:
            return -1
