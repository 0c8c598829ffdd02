"""How large a message is at the most, known from the collections that are served.

words:
  bound  the length of the longest batch that a collection can make, and how many fields it has. What is beyond it for
         every collection is no batch; it is refused before anything is made of it

A field of two bytes becomes an object of fifty, so that a megabyte of them took 24. A message within the bound makes
no more of itself than its length can, and of the longer ones the fields are counted first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from deniable.payload import Bitmap, Integers, Shape
from deniable.v1.report_service_pb2 import SubmitReportsRequest, WideRow
from deniable_aggregator.ingest.layout import Layout

__all__ = ["STREAM_BYTES", "Bound", "bound_of", "digest_of", "most_bytes"]

STREAM_BYTES = 1 << 16
"""A message of a stream is full when its batches have so many bytes: it is longer by one batch at the most."""
_LEAST_ROOM = 1 << 16
"""Collections that come by a reload may have batches of so many bytes, whatever was served when a worker began."""
_FRAME_BYTES = 32
"""Around the batches of a stream's message: its number, and the field of the last one."""
_LONG = 1 << 12
"""Up to here a message makes so little of itself that its fields are not counted."""
_FIELDS = 5
"""Of a batch, besides its wide rows."""
_ROW_BYTES, _ID_BYTES = 8, 16
_DIGEST_TAG = 0x11
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_VARINT_BYTES = 10


class Bound(NamedTuple):
    """What no batch exceeds."""

    size: int
    """Bytes."""
    fields: int
    """Fields, each wide row being one."""

    def holds(self, message: bytes) -> bool:
        """Whether a message may be a batch."""
        return len(message) <= self.size and (len(message) <= _LONG or _fields(message, self.fields) is not None)


def bound_of(layouts: Iterable[Layout]) -> Bound:
    """The bound of the batches of all these layouts."""
    size, wide = 0, 0
    for layout in layouts:
        rows, own = _rows(layout)
        size, wide = max(size, rows), max(wide, own)
    return Bound(size, _FIELDS + wide)


def most_bytes(bound: Bound) -> int:
    """How long a message of any method can be."""
    return STREAM_BYTES + max(bound.size, _LEAST_ROOM) + _FRAME_BYTES


def digest_of(message: bytes) -> int | None:
    """The digest that a message begins with, or has among its first fields; None where there is none."""
    found = _fields(message, _FIELDS, stop=_DIGEST_TAG)
    return (
        None if found is None or found >= len(message) else int.from_bytes(message[found + 1 : found + 9], "little")
    )


def _rows(layout: Layout) -> tuple[int, int]:
    """The length of the longest batch, and how many wide rows there can be."""
    narrow: dict[str, int] = {}
    wide: dict[str, int] = {}
    for number, (metric, shape) in enumerate(layout.columns):
        if shape.wide:
            row = WideRow(column=number, payload=bytes(_payload_bytes(shape)))
            wide[metric] = max(wide.get(metric, 0), SubmitReportsRequest(wide_rows=[row]).ByteSize())
        else:
            narrow[metric] = _ROW_BYTES
    head = SubmitReportsRequest(
        batch_id=bytes(_ID_BYTES),
        collection_digest=(1 << 64) - 1,
        epoch=(1 << 32) - 1,
        segment=(1 << 32) - 1,
        rows=bytes(sum(narrow.values())),
    )
    return head.ByteSize() + sum(wide.values()), len(wide)


def _payload_bytes(shape: Shape) -> int:
    """The length of a wide row's payload."""
    match shape:
        case Bitmap(size):
            return -(-size // 8)
        case Integers(size):
            return 4 * size
        case _:
            raise ValueError(f"{shape} has no wide rows")


def _fields(message: bytes, most: int, stop: int | None = None) -> int | None:
    """Where a message ends that has at most so many fields, or where the field of a tag begins; None where it is no
    such message. Nothing is made of any field: they are stepped over."""
    at, end, found = 0, len(message), 0
    while at < end:
        tag = message[at]
        found += 1
        if found > most:
            return None
        if tag == stop:
            return at if end - at > _ROW_BYTES else None
        behind = _behind(message, at, tag & 7)
        if behind is None or behind > end:
            return None
        at = behind
    return at


def _behind(message: bytes, at: int, kind: int) -> int | None:
    """Where the field ends that begins here; None where none does."""
    after_tag = _varint(message, at)
    if after_tag is None:
        return None
    at = after_tag[1]
    if kind in {_FIXED64, _FIXED32}:
        return at + (8 if kind == _FIXED64 else 4)
    value = _varint(message, at)
    if value is None or kind not in {_VARINT, _BYTES}:
        return None
    return value[1] + (value[0] if kind == _BYTES else 0)


def _varint(message: bytes, at: int) -> tuple[int, int] | None:
    """A number and where it ends."""
    value = 0
    for place, byte in enumerate(message[at : at + _VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    return None
