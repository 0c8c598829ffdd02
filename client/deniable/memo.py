"""The memo: what this device has answered before, so that it tells the same lie every time.

words:
  secret   32 random bytes of this device, made once, never sent
  key      HMAC of the secret over metric, channel and input: the file does not say which answer a memo is about
  draws    the words that choose a column or a grid point; for one metric the same every time

Noise that is drawn afresh for the same answer every day can be averaged away; noise that is remembered can not. A
device pays for each distinct answer that it has remembered, once, however often it reports. For a number the draws
are its rounding points (Ding, Kulkarni, Yekhanin, arXiv 1712.01524: alpha-point rounding).
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import os
import sqlite3
from collections.abc import Iterator

from deniable.collection import Column, Metric

__all__ = ["Memo"]


class Memo:
    """What is remembered, read and written within a transaction of the state file."""

    def __init__(self, connection: sqlite3.Connection, collection: str) -> None:
        self._connection = connection
        self._collection = collection
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('secret', ?)", (os.urandom(32),))
        (self._secret,) = connection.execute("SELECT value FROM meta WHERE key = 'secret'").fetchone()

    def draws(self, metric: Metric) -> Iterator[int]:
        """Words for one metric: random, and the same every time."""
        for number in itertools.count():
            yield int.from_bytes(self._hmac("draw", metric.name, number)[:8], "little")

    def key(self, metric: Metric, column: Column, chosen: int) -> bytes:
        """What an answer is remembered under; another channel would be another memory."""
        mechanism = column.mechanism
        return self._hmac("answer", metric.name, mechanism.name, mechanism.parameters(), f"{chosen:x}")

    def recall(self, key: bytes) -> int | None:
        """What is remembered; None where nothing is."""
        row = self._connection.execute("SELECT remembered FROM memo WHERE key = ?", (key,)).fetchone()
        return None if row is None else int.from_bytes(row[0], "little")

    def remember(self, key: bytes, remembered: int) -> None:
        """Remember for good."""
        stored = remembered.to_bytes(-(-remembered.bit_length() // 8), "little")
        self._connection.execute("INSERT INTO memo VALUES (?, ?)", (key, stored))

    def _hmac(self, *about: object) -> bytes:
        text = json.dumps([self._collection, *about], sort_keys=True)
        return hmac.new(self._secret, text.encode(), hashlib.sha256).digest()
