"""Batches as they are read plainly: field by field and row by row, by nothing that the product has them read by.

The wire format is what protobuf says of it, with the bounds that its parser in C has: tags of 32 bits in up to five
bytes, numbers of 64 in up to ten, lengths below 2^31, groups within groups up to a hundred.
"""

from __future__ import annotations

import struct
from collections import Counter
from typing import NamedTuple

from deniable_aggregator.ingest import Layout
from support.plain_rows import sums_of

__all__ = ["Plain", "Sums", "batch_of", "fields", "sums"]

Sums = Counter[tuple[int, int]]
"""What is added, by column and counter."""
_DEEPEST = 100
_VARINT, _FIXED64, _BYTES, _BEGIN, _END, _FIXED32 = range(6)
_ENCODINGS = {1: _BYTES, 2: _FIXED64, 3: _VARINT, 4: _VARINT, 5: _BYTES}
"""Of a batch's fields, but for its wide rows."""
_FIXED = {_FIXED64: 8, _FIXED32: 4}


class _NoMessageError(Exception):
    """Bytes that are none."""


class Plain(NamedTuple):
    """A message that is read as a batch."""

    batch_id: bytes
    digest: int
    epoch: int
    segment: int
    rows: bytes
    wide_rows: tuple[tuple[int, bytes], ...]


def fields(message: bytes) -> list[tuple[int, int, int | bytes]] | None:
    """Number, encoding and value of each field; None for what is no message."""
    try:
        return _fields(message)
    except _NoMessageError:
        return None


def batch_of(message: bytes) -> Plain | None:
    """What a message says; None for what is none."""
    found = fields(message)
    if found is None:
        return None
    said: dict[int, int | bytes] = {}
    wide = []
    for number, encoding, value in found:
        if number == 6 and encoding == _BYTES:
            assert isinstance(value, bytes)
            row = fields(value)
            if row is None:
                return None
            own = {number: value for number, encoding, value in row if (number, encoding) in {(1, 0), (2, 2)}}
            wide.append((_low(own.get(1, 0)), _bytes(own.get(2, b""))))
        elif _ENCODINGS.get(number) == encoding:
            said[number] = value
    return Plain(
        _bytes(said.get(1, b"")), _whole(said.get(2, 0)), _low(said.get(3, 0)), _low(said.get(4, 0)),
        _bytes(said.get(5, b"")), tuple(wide),
    )  # fmt: skip


def sums(layout: Layout, batch: Plain) -> Sums | None:
    """What a batch adds; None where a report of it can not be, or two are of one metric."""
    narrow = [(row >> 48, row & (1 << 48) - 1) for (row,) in struct.iter_unpack("<Q", batch.rows)]
    total: Sums = Counter()
    metrics: set[str] = set()
    reports: list[tuple[int, int | bytes]] = [*narrow, *batch.wide_rows]
    for column, payload in reports:
        added = sums_of(layout, column, payload)
        if added is None or layout.columns[column][0] in metrics:
            return None
        metrics.add(layout.columns[column][0])
        for counter, amount in added.items():  # of no column there are two reports
            total[column, counter] = amount
    return total


def _whole(value: int | bytes) -> int:
    assert isinstance(value, int)
    return value


def _low(value: int | bytes) -> int:
    return _whole(value) & (1 << 32) - 1


def _bytes(value: int | bytes) -> bytes:
    assert isinstance(value, bytes)
    return value


def _fields(message: bytes) -> list[tuple[int, int, int | bytes]]:
    found: list[tuple[int, int, int | bytes]] = []
    at, end, groups = 0, len(message), list[int]()
    while at < end:
        tag, at = _number(message, at, 5)
        number, encoding = tag >> 3, tag & 7
        if (not number and not groups) or tag >> 32:  # what is skipped is not looked at
            raise _NoMessageError
        value: int | bytes = 0
        if encoding == _VARINT:
            value, at = _number(message, at, 10)
        elif encoding == _BYTES:
            length, at = _number(message, at, 5)  # a longer one is no length, whatever it says
            value, at = message[at : at + length], at + length
        elif encoding in _FIXED:
            length = _FIXED[encoding]
            value, at = int.from_bytes(message[at : at + length], "little"), at + length
        elif encoding == _BEGIN and len(groups) < _DEEPEST:
            groups.append(number)
        elif not (encoding == _END and groups and groups.pop() == number):
            raise _NoMessageError
        if at > end:
            raise _NoMessageError
        if not groups and encoding != _END:
            found.append((number, encoding, value))
    if groups:
        raise _NoMessageError
    return found


def _number(message: bytes, at: int, most: int) -> tuple[int, int]:
    """A number of so many bytes at the most, and where it ends."""
    value = place = 0
    for byte in message[at : at + most]:
        value |= (byte & 0x7F) << place
        at += 1
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        place += 7
    raise _NoMessageError
