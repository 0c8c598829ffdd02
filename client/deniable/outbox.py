"""The outbox: batches that wait in the state file until an aggregator has acknowledged them.

words:
  batch   one device's reports for one epoch, under a random id that exists only so that a retry is not counted twice
  due     when it may leave, drawn at random so that its arrival tells nothing
  lease   one process is sending it: it is due again when that must have ended
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from deniable import transcript
from deniable.collection import Collection, Report
from deniable.rows import encode_rows, encode_wide_rows
from deniable.state import count

__all__ = ["Batch", "clear", "hurry", "postpone", "put", "release", "remove", "take", "waiting"]

_FARTHEST = 8 * 86400.0
"""No batch has to wait longer than an epoch and a day: what is due later was queued before the clock went back."""


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


def put(connection: sqlite3.Connection, collection: str, batch: Batch, due: float, most: int) -> None:
    """Queue a batch; of more than `most` of a collection the oldest are dropped."""
    connection.execute("INSERT INTO queue VALUES (?, ?, ?, ?)", (batch.batch_id, collection, batch.request, due))
    dropped = connection.execute(
        "DELETE FROM queue WHERE batch_id IN "
        "(SELECT batch_id FROM queue WHERE collection = ? ORDER BY due DESC LIMIT -1 OFFSET ?)",
        (collection, most),
    ).rowcount
    if dropped:
        count(connection, "dropped from a full queue", dropped)
        transcript.withdraw(connection)


def take(connection: sqlite3.Connection, collection: str, now: float, lease: float) -> Batch | None:
    """Lease the batch that is due first, if one is due; from now on it may have left this device."""
    row = connection.execute(
        "SELECT batch_id, request FROM queue WHERE collection = ? AND (due <= ? OR due > ?) ORDER BY due LIMIT 1",
        (collection, now, now + _FARTHEST),
    ).fetchone()
    if row is None:
        return None
    batch = Batch(*row)
    connection.execute("UPDATE queue SET due = ? WHERE batch_id = ?", (now + lease, batch.batch_id))
    transcript.mark(connection, batch.batch_id, transcript.SENT)
    return batch


def remove(connection: sqlite3.Connection, batch_id: bytes) -> None:
    """Forget a batch: it is stored, or never will be."""
    connection.execute("DELETE FROM queue WHERE batch_id = ?", (batch_id,))


def postpone(connection: sqlite3.Connection, collection: str, until: float) -> None:
    """Let no batch of a collection leave before this time."""
    connection.execute("UPDATE queue SET due = max(due, ?) WHERE collection = ?", (until, collection))


def hurry(connection: sqlite3.Connection, collection: str, now: float) -> None:
    """Let all batches of a collection leave now."""
    connection.execute("UPDATE queue SET due = min(due, ?) WHERE collection = ?", (now, collection))


def release(connection: sqlite3.Connection, batch_id: bytes, due: float) -> None:
    """End a lease: the batch is due again at this time."""
    connection.execute("UPDATE queue SET due = ? WHERE batch_id = ?", (due, batch_id))


def clear(connection: sqlite3.Connection) -> int:
    """Forget all batches; how many there were."""
    cleared = connection.execute("DELETE FROM queue").rowcount
    transcript.withdraw(connection)
    return cleared


def waiting(connection: sqlite3.Connection, collection: str) -> tuple[int, float | None]:
    """How many batches of a collection wait, and when the first of them is due."""
    query = "SELECT count(*), min(due) FROM queue WHERE collection = ?"
    number, first = connection.execute(query, (collection,)).fetchone()
    return int(number), first
