"""The memo: what this device has answered before, so that it tells the same lie every time.

words:
  secret   32 random bytes of this device, made once, never sent
  question HMAC of the secret over all that gives what is remembered its meaning: another question is another memory.
           How it is randomised afresh is no part of it: to change that draws, and costs, nothing anew
  key      HMAC of the secret over question, column and input: what is remembered is not written in the clear (but
           who has the file has the secret too, and can try all inputs of a small domain)
  draws    the words that choose a column or a grid point; for one question the same every time
  recalled how many distinct answers a device remembers of a question, at most; a further one is answered as the
           latest of these, because a refusal would say that the answer is new

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
from collections.abc import Iterator, Sequence

from deniable.collection import Column, Metric, meaning

__all__ = ["Memo", "forget"]


class Memo:
    """What is remembered, read and written within a transaction of the state file."""

    def __init__(self, connection: sqlite3.Connection, collection: str) -> None:
        self._connection = connection
        self._collection = collection
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('secret', ?)", (os.urandom(32),))
        (self._secret,) = connection.execute("SELECT value FROM meta WHERE key = 'secret'").fetchone()

    def draws(self, metric: Metric) -> Iterator[int]:
        """Words for one question: random, and the same every time."""
        query = "SELECT question FROM memo WHERE question IN (?, ?) ORDER BY number LIMIT 1"
        first = self._connection.execute(query, self._questions(metric)).fetchone()
        question = (first[0] if first else self.question(metric)).hex()
        for number in itertools.count():
            yield int.from_bytes(self._hmac("draw", question, number)[:8], "little")

    def recall(self, metric: Metric, column: Column, chosen: int) -> tuple[Column, int] | None:
        """What is remembered of an input, or, when no more is remembered, of the latest; None where it is new."""
        row = self._row("key", [self._key(question, metric, column, chosen) for question in self._questions(metric)])
        if row is None and self.known(metric) >= metric.recalled:
            row = self._row("question", self._questions(metric))
        if row is None:
            return None
        place, remembered = row
        return metric.columns[place], int.from_bytes(remembered, "little")

    def known(self, metric: Metric) -> int:
        """How many answers are remembered of a question."""
        query = "SELECT count(*) FROM memo WHERE question IN (?, ?)"
        return int(self._connection.execute(query, self._questions(metric)).fetchone()[0])

    def remember(self, metric: Metric, column: Column, chosen: int, remembered: int) -> None:
        """Remember for good what was drawn for an input."""
        question, _ = self._questions(metric)
        stored = remembered.to_bytes(-(-remembered.bit_length() // 8), "little")
        self._connection.execute(
            "INSERT INTO memo (key, question, place, remembered) VALUES (?, ?, ?, ?)",
            (self._key(question, metric, column, chosen), question, metric.columns.index(column), stored),
        )

    def _row(self, name: str, values: Sequence[bytes]) -> tuple[int, bytes] | None:
        query = f"SELECT place, remembered FROM memo WHERE {name} IN (?, ?) ORDER BY number DESC LIMIT 1"  # noqa: S608
        row: tuple[int, bytes] | None = self._connection.execute(query, values).fetchone()
        return row

    def question(self, metric: Metric) -> bytes:
        """What a metric means, in its collection."""
        return self._questions(metric)[0]

    def _questions(self, metric: Metric) -> tuple[bytes, bytes]:
        """The question as it is written, and as it was when the second randomisation was a part of it."""
        asked = meaning(metric)
        first = (column.mechanism.first for column in metric.columns)
        columns = [{"mechanism": mechanism.name, **mechanism.parameters()} for mechanism in first]
        return (
            self._hmac("question", metric.name, asked | {"columns": columns}),
            self._hmac("question", metric.name, asked),
        )

    def _key(self, question: bytes, metric: Metric, column: Column, chosen: int) -> bytes:
        return self._hmac("answer", question.hex(), metric.columns.index(column), f"{chosen:x}")

    def _hmac(self, *about: object) -> bytes:
        text = json.dumps([self._collection, *about], sort_keys=True)
        return hmac.new(self._secret, text.encode(), hashlib.sha256).digest()


def forget(connection: sqlite3.Connection) -> None:
    """Forget all answers, and the secret that would tell what they were: what is answered then is drawn anew."""
    connection.execute("DELETE FROM memo")
    connection.execute("DELETE FROM meta WHERE key = 'secret'")
