"""Coins: whether this device takes part in an epoch of a collection that asks a part of its devices only.

words:
  coin   the word that a device has drawn for one epoch of one collection, the first time that something was recorded
         in it: below the collection's threshold it takes part, else nothing of the epoch is kept, charged or sent

A coin is remembered: a crash, a clock that goes back, another process and a flush all find the same one. It is drawn
before anything that was recorded is looked at, and in the transaction that keeps the first values: a crash leaves
both in the file or neither. The word is remembered, and not what followed from it, so that under a version of the
collection that asks another part of its devices the epoch's chance is that part. Coins of other epochs and of other
collections are drawn by themselves: in which epochs a device is silent tells nothing of those of another collection.

Whoever sees batches sees who takes part: a coin saves budget, energy and traffic, and is no privacy.
"""

from __future__ import annotations

import sqlite3

from deniable.collection import Collection
from deniable.device.state import count
from deniable.randomness import WORD, renew, word

__all__ = ["forget", "found", "not_drawn", "settle", "takes_part"]

_BYTES = 8


def takes_part(connection: sqlite3.Connection, collection: Collection, epoch: int) -> bool:
    """Whether this device takes part in an epoch; its coin is drawn where it has none."""
    known = found(connection, collection, epoch)
    if known is not None:
        return known
    renew()
    drawn = word()
    connection.execute(
        "INSERT INTO coin VALUES (?, ?, ?, ?)",
        (*_key(collection, epoch), drawn.to_bytes(_BYTES, "big")),
    )
    own = drawn < collection.sample * WORD
    count(connection, "epochs not drawn", int(not own))
    return own


def found(connection: sqlite3.Connection, collection: Collection, epoch: int) -> bool | None:
    """The same as far as it is known: None where no coin has been drawn. All take part where all are asked."""
    if collection.sample == 1:
        return True
    row = connection.execute(
        "SELECT word FROM coin WHERE collection = ? AND start = ? AND seconds = ?", _key(collection, epoch)
    ).fetchone()
    return None if row is None else int.from_bytes(row[0], "big") < collection.sample * WORD


def not_drawn(collection: Collection) -> str:
    """Why nothing of an epoch is recorded."""
    part = f"{float(collection.sample):.4g} of all epochs"
    return f"not drawn this epoch: a device takes part in {part}, by a coin of its own"


def settle(connection: sqlite3.Connection, before: float) -> None:
    """Erase the coins of epochs that have ended before a time, which is closed."""
    connection.execute("DELETE FROM coin WHERE start + seconds <= ?", (before,))


def forget(connection: sqlite3.Connection) -> None:
    """Forget in which epochs this device has taken part."""
    connection.execute("DELETE FROM coin")


def _key(collection: Collection, epoch: int) -> tuple[str, int, int]:
    return collection.name, epoch * collection.epoch_seconds, collection.epoch_seconds
