"""From reports to what travels: eight-byte rows, and wide rows for what does not fit 48 bits.

words:
  row       8 bytes, little-endian: bits 63..48 the column, bits 47..0 the payload
  wide row  a column and its payload's bytes, little-endian: a bitmap's bits, or a vector's entries as int32
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from deniable.collection import Column, Report
from deniable.payload import PAYLOAD_BITS, Bitmap, Integers

__all__ = ["ROW_BYTES", "encode_rows", "encode_wide_rows"]

ROW_BYTES = 8
"""The length of a row."""


def encode_rows(reports: Iterable[Report], columns: Sequence[Column]) -> bytes:
    """The reports that fit a row, in their order."""
    rows = [column << PAYLOAD_BITS | payload for column, payload in reports if not columns[column].shape.wide]
    return struct.pack(f"<{len(rows)}Q", *rows)


def encode_wide_rows(reports: Iterable[Report], columns: Sequence[Column]) -> list[tuple[int, bytes]]:
    """The reports that need wide rows, in their order: columns and payloads."""
    return [(column, _wide(payload, columns[column])) for column, payload in reports if columns[column].shape.wide]


def _wide(payload: int, column: Column) -> bytes:
    shape = column.shape
    assert isinstance(shape, Bitmap | Integers)
    bits = shape.size if isinstance(shape, Bitmap) else 32 * shape.size
    return payload.to_bytes(-(-bits // 8), "little")
