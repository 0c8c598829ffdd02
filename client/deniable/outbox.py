"""The outbox: batches that wait in the state file until an aggregator has acknowledged them.

words:
  batch   one device's reports for one epoch, under a random id that exists only so that a retry is not counted twice
  due     when it may leave, drawn at random so that its arrival tells nothing
  lease   one process is sending it; after a while, or with that process, the lease ends
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from deniable.collection import Collection, Report
from deniable.rows import encode_rows, encode_wide_rows

__all__ = ["Batch", "clear", "put", "put_back", "remove", "take", "waiting"]

_LEASE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Batch:
    """A SubmitReportsRequest, as bytes."""

    batch_id: bytes
    """16 random bytes."""
    request: bytes
    """The whole message as it travels, so that every retry sends the same bytes."""

    @classmethod
    def of(
        cls, batch_id: bytes, collection: Collection, epoch: int, segment: int, reports: Iterable[Report]
    ) -> Batch:
        """The batch of some reports, which are in random order already."""
        reports, columns = list(reports), collection.columns
        fields = [
            _bytes_field(1, batch_id),
            b"\x11" + collection.digest.to_bytes(8, "little"),
            _number_field(3, epoch),
            _number_field(4, segment),
            _bytes_field(5, encode_rows(reports, columns)),
        ]
        for column, payload in encode_wide_rows(reports, columns):
            fields.append(_bytes_field(6, _number_field(1, column) + _bytes_field(2, payload)))
        return cls(batch_id, b"".join(fields))


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _number_field(number: int, value: int) -> bytes:
    """As proto3 has it: 0 is not sent."""
    return _varint(number << 3) + _varint(value) if value else b""


def _bytes_field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value if value else b""


def put(connection: sqlite3.Connection, batch: Batch, due: float) -> None:
    """Queue a batch."""
    connection.execute("INSERT INTO queue VALUES (?, ?, ?, 0)", (batch.batch_id, batch.request, due))


def take(connection: sqlite3.Connection, now: float, due_by: float) -> Batch | None:
    """Lease the batch that is due first, if one is due and no other process is sending it."""
    row = connection.execute(
        "SELECT batch_id, request FROM queue WHERE due <= ? AND (leased_until <= ? OR leased_until > ?) "
        "ORDER BY due LIMIT 1",
        (due_by, now, now + _LEASE_SECONDS),  # a lease beyond that was given before the clock went back
    ).fetchone()
    if row is None:
        return None
    connection.execute("UPDATE queue SET leased_until = ? WHERE batch_id = ?", (now + _LEASE_SECONDS, row[0]))
    return Batch(*row)


def remove(connection: sqlite3.Connection, batch_id: bytes) -> None:
    """Forget a batch: it is stored, or never will be."""
    connection.execute("DELETE FROM queue WHERE batch_id = ?", (batch_id,))


def put_back(connection: sqlite3.Connection, batch_id: bytes, due: float) -> None:
    """Keep a batch for later."""
    connection.execute("UPDATE queue SET leased_until = 0, due = ? WHERE batch_id = ?", (due, batch_id))


def clear(connection: sqlite3.Connection) -> None:
    """Forget all batches."""
    connection.execute("DELETE FROM queue")


def waiting(connection: sqlite3.Connection) -> tuple[int, float | None]:
    """How many batches wait, and when the first of them is due."""
    number, first = connection.execute("SELECT count(*), min(max(due, leased_until)) FROM queue").fetchone()
    return int(number), first
