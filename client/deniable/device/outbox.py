"""The outbox: batches that wait in the state file until an aggregator has acknowledged them.

words:
  batch       one device's reports for one epoch, under a random id that exists only so that a retry is not counted
              twice
  due         when it may leave, drawn at random, for each batch by itself, so that its arrival tells nothing
  lease       one process is sending it: it is due again when that must have ended
  missed      nobody was there when it was due, or another batch was: it gets a new moment
  hurried     it leaves at once, because the application asked for that
  unanswered  how often it has been sent without a word on whether it was stored: while that is not 0, an
              acknowledgement may be outstanding, and its id stays

No batch's fate moves another one's moment: an aggregator, whatever it answers, must not be able to tell which batches
of several epochs wait on one device.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from deniable.collection import Collection, Report
from deniable.device import state, transcript
from deniable.randomness import WORD, shuffle, word
from deniable.wire.protobuf import bytes_field, fields, number_field, tag_of
from deniable.wire.rows import ROW_BYTES, encode_rows, encode_wide_rows

__all__ = [
    "Batch",
    "calm",
    "clear",
    "failed",
    "give_up",
    "hurry",
    "missed",
    "put",
    "release",
    "remove",
    "renew",
    "take",
    "take_missed",
    "waiting",
    "waiting_in_all",
]

_FARTHEST = 8 * 86400.0
"""No batch has to wait longer than an epoch and a day: what is due later was queued before the clock went back."""
_LATE = 60.0
"""A batch that is due for longer was missed: the machine slept, or no process ran."""
_SOON = 600.0
"""One of those that were missed leaves within so many seconds: many applications run for minutes only."""
_AT_ONCE = 0.0
"""When a hurried batch is due."""


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
        encoded = [
            bytes_field(1, batch_id),
            b"\x11" + collection.digest.to_bytes(8, "little"),
            number_field(3, epoch),
            number_field(4, segment),
            bytes_field(5, encode_rows(reports, columns)),
        ]
        for column, payload in encode_wide_rows(reports, columns):
            encoded.append(bytes_field(6, number_field(1, column) + bytes_field(2, payload)))
        return cls(batch_id, b"".join(encoded))

    def renewed(self) -> Batch:
        """The same reports under a new id and in another random order: nobody can tell that it was sent before."""
        parts = fields(self.request)
        head = [whole for tag, whole, _ in parts if tag not in {_ID, _ROWS, _WIDE_ROW}]
        wide = [whole for tag, whole, _ in parts if tag == _WIDE_ROW]
        packed = b"".join(value for tag, _, value in parts if tag == _ROWS)
        rows = [packed[at : at + ROW_BYTES] for at in range(0, len(packed), ROW_BYTES)]
        shuffle(rows)
        shuffle(wide)
        batch_id = os.urandom(16)
        encoded = [bytes_field(1, batch_id), *head, bytes_field(5, b"".join(rows)), *wide]
        return Batch(batch_id, b"".join(encoded))


_ID, _ROWS, _WIDE_ROW = map(tag_of, (1, 5, 6))


def put(connection: sqlite3.Connection, collection: str, batch: Batch, *, ends: int, due: float, most: int) -> None:
    """Queue a batch of an epoch that ends then; of more than `most` of a collection the oldest are dropped."""
    connection.execute(
        "INSERT INTO queue (batch_id, collection, request, due, ends, failures, unanswered) "
        "VALUES (?, ?, ?, ?, ?, 0, 0)",
        (batch.batch_id, collection, batch.request, due, ends),
    )
    dropped = connection.execute(
        "DELETE FROM queue WHERE batch_id IN "
        "(SELECT batch_id FROM queue WHERE collection = ? ORDER BY ends DESC, due DESC LIMIT -1 OFFSET ?)",
        (collection, most),
    ).rowcount
    if dropped:
        state.count(connection, "dropped from a full queue", dropped)
        transcript.withdraw(connection)


def take(connection: sqlite3.Connection, collection: str, now: float, lease: float) -> Batch | None:
    """Lease the batch that is due first, if one is due; from now on it may have left this device."""
    row = connection.execute(
        "SELECT batch_id, request FROM queue WHERE collection = ? AND (due <= ? OR due > ?) ORDER BY due LIMIT 1",
        (collection, now, now + _FARTHEST),
    ).fetchone()
    return None if row is None else _leased(connection, Batch(*row), now, lease)


def _leased(connection: sqlite3.Connection, batch: Batch, now: float, lease: float) -> Batch:
    connection.execute(
        "UPDATE queue SET due = ?, unanswered = unanswered + 1 WHERE batch_id = ?", (now + lease, batch.batch_id)
    )
    transcript.mark(connection, batch.batch_id, transcript.SENT)
    state.put(connection, "left", now)
    return batch


def missed(
    connection: sqlite3.Connection, collection: str, now: float, leeway: float, *, busy: bool = False
) -> list[bytes]:
    """Let no two batches leave together: which ones get new moments.

    One that is due just now, and alone, leaves. Where several are due, or one has been for long, a random one gets a
    moment soon, and each of the others one of the leeway's. `busy`: another has just been sent, all get one of those.
    """
    rows = connection.execute(
        "SELECT batch_id, due FROM queue WHERE collection = ? AND due <> ? AND (due <= ? OR due > ?)",
        (collection, _AT_ONCE, now, now + _FARTHEST),
    ).fetchall()
    if not busy and len(rows) == 1 and 0.0 <= now - rows[0][1] <= _LATE:
        return []
    moved = [batch_id for batch_id, _ in rows]
    shuffle(moved)
    for place, batch_id in enumerate(moved):
        span = min(leeway, _SOON) if place == 0 and not busy else leeway
        release(connection, batch_id, now + span * word() / WORD)
    return moved


def take_missed(
    connection: sqlite3.Connection, batch_ids: Iterable[bytes], now: float, leeway: float, lease: float
) -> Batch | None:
    """Lease one of those that were missed before its new moment, unless another has left within a leeway's time."""
    if abs(now - float(state.get(connection, "left") or 0.0)) < leeway:
        return None
    for batch_id in batch_ids:  # they are in random order
        query = "SELECT batch_id, request FROM queue WHERE batch_id = ?"
        row = connection.execute(query, (batch_id,)).fetchone()
        if row is not None:
            return _leased(connection, Batch(*row), now, lease)
    return None


def remove(connection: sqlite3.Connection, batch_id: bytes) -> None:
    """Forget a batch: it is stored, or never will be."""
    connection.execute("DELETE FROM queue WHERE batch_id = ?", (batch_id,))


def give_up(connection: sqlite3.Connection, collection: str, before: float) -> None:
    """Drop the batches of epochs that ended before a time: no aggregator takes them any more."""
    old = "collection = ? AND ends <= ?"
    chosen = connection.execute(f"SELECT batch_id FROM queue WHERE {old}", (collection, before)).fetchall()  # noqa: S608
    if chosen:
        connection.execute(f"DELETE FROM queue WHERE {old}", (collection, before))  # noqa: S608
        state.count(connection, "too old to be taken", len(chosen))
        transcript.give_up(connection, [batch_id for (batch_id,) in chosen])


def hurry(connection: sqlite3.Connection, collection: str, since: int) -> None:
    """Let the batches of epochs that end then or later leave at once."""
    connection.execute("UPDATE queue SET due = ? WHERE collection = ? AND ends >= ?", (_AT_ONCE, collection, since))


def calm(connection: sqlite3.Connection, collection: str, now: float) -> None:
    """End the hurry: nobody waits any longer for what has not left."""
    connection.execute("UPDATE queue SET due = ? WHERE collection = ? AND due = ?", (now, collection, _AT_ONCE))


def release(connection: sqlite3.Connection, batch_id: bytes, due: float) -> None:
    """End a lease: the batch is due again at this time."""
    connection.execute("UPDATE queue SET due = ? WHERE batch_id = ?", (due, batch_id))


def failed(connection: sqlite3.Connection, batch_id: bytes) -> int:
    """Count a failure of a batch; how many it had before."""
    connection.execute("UPDATE queue SET failures = failures + 1 WHERE batch_id = ?", (batch_id,))
    found = connection.execute("SELECT failures - 1 FROM queue WHERE batch_id = ?", (batch_id,)).fetchone()
    return 0 if found is None else int(found[0])


def renew(connection: sqlite3.Connection, batch_id: bytes) -> None:
    """Note that a batch was not stored this time; where it can not have been at another one, it gets a new id."""
    connection.execute("UPDATE queue SET unanswered = unanswered - 1 WHERE batch_id = ?", (batch_id,))
    query = "SELECT request FROM queue WHERE batch_id = ? AND unanswered = 0"
    row = connection.execute(query, (batch_id,)).fetchone()
    if row is not None:
        new = Batch(batch_id, *row).renewed()
        change = (new.batch_id, new.request, batch_id)
        connection.execute("UPDATE queue SET batch_id = ?, request = ? WHERE batch_id = ?", change)
        transcript.rename(connection, batch_id, new.batch_id)


def clear(connection: sqlite3.Connection) -> int:
    """Forget all batches; how many there were."""
    cleared = connection.execute("DELETE FROM queue").rowcount
    transcript.withdraw(connection)
    return cleared


def waiting(connection: sqlite3.Connection, collection: str, since: int = 0) -> tuple[int, float | None]:
    """How many batches of epochs that end then or later wait, and when the first of them is due."""
    query = "SELECT count(*), min(due) FROM queue WHERE collection = ? AND ends >= ?"
    number, first = connection.execute(query, (collection, since)).fetchone()
    return int(number), first


def waiting_in_all(connection: sqlite3.Connection) -> int:
    """How many batches wait, of whatever collection."""
    return int(connection.execute("SELECT count(*) FROM queue").fetchone()[0])
