"""The memo: what this device has answered before, so that it tells the same lie every time.

words:
  secret   32 random bytes of this device, made once, never sent
  question HMAC of the secret over all that gives what is remembered its meaning: another question is another memory.
           How it is randomised afresh, and the words that it is asked in, are no part of it: to change these draws,
           and costs, nothing anew
  former   a name that a question had before: with its words in it, or with its second randomisation
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from deniable.collection import Column, Metric, meaning
from deniable.device.asked import asked

__all__ = ["Memo", "forget"]


class Memo:
    """What is remembered, read and written within a transaction of the state file."""

    def __init__(self, connection: sqlite3.Connection, collection: str) -> None:
        self._connection = connection
        self._collection = collection
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('secret', ?)", (os.urandom(32),))
        (self._secret,) = connection.execute("SELECT value FROM meta WHERE key = 'secret'").fetchone()
        self._named: dict[str, tuple[Metric, tuple[bytes, ...]]] = {}

    def find_out(self, metrics: Iterable[Metric]) -> None:
        """Find out under which names something is remembered of them, while it is known in which words they were."""
        for metric in metrics:
            if metric.memoize:
                self._questions(metric)

    def draws(self, metric: Metric) -> Iterator[int]:
        """Words for one question: random, and the same every time."""
        question = self.question(metric).hex()
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
        count = "SELECT count(*) FROM memo WHERE question = ?"
        return sum(self._connection.execute(count, (own,)).fetchone()[0] for own in self._questions(metric))

    def remember(self, metric: Metric, column: Column, chosen: int, remembered: int) -> None:
        """Remember for good what was drawn for an input."""
        question = self.question(metric)
        stored = remembered.to_bytes(-(-remembered.bit_length() // 8), "little")
        self._connection.execute(
            "INSERT INTO memo (key, question, place, remembered) VALUES (?, ?, ?, ?)",
            (self._key(question, metric, column, chosen), question, metric.columns.index(column), stored),
        )

    def _row(self, name: str, values: Sequence[bytes]) -> tuple[int, bytes] | None:
        query = f"SELECT number, place, remembered FROM memo WHERE {name} = ? ORDER BY number DESC LIMIT 1"  # noqa: S608
        found = [row for own in values if (row := self._connection.execute(query, (own,)).fetchone())]
        return max(found)[1:] if found else None

    def question(self, metric: Metric) -> bytes:
        """What a metric means, in its collection; under the name by which something was remembered first."""
        return self._questions(metric)[0]

    def _questions(self, metric: Metric) -> tuple[bytes, ...]:
        """The names under which something may be remembered, the one that it is written under first."""
        named, names = self._named.get(metric.name, (None, ()))
        if named is not metric:
            names = self._found(metric)
            self._named[metric.name] = metric, names
        return names

    def _found(self, metric: Metric) -> tuple[bytes, ...]:
        """The names that a question has, found out once: the words in them are forgotten when it gets others."""
        now = self._name(metric, worded=False, whole=False)

        def first(name: bytes) -> int | None:
            query = "SELECT min(number) FROM memo WHERE question = ?"
            number: int | None = self._connection.execute(query, (name,)).fetchone()[0]
            return number

        rows = self._connection.execute("SELECT former FROM former WHERE question = ?", (now,))
        known: list[bytes] = [name for (name,) in rows]
        if not known and first(now) is None:
            known = [name for name in dict.fromkeys(self._former(metric)) if first(name) is not None]
            for name in known:
                self._connection.execute("INSERT INTO former VALUES (?, ?)", (now, name))
        return tuple(sorted(known, key=lambda name: first(name) or 0)) or (now,)

    def _former(self, metric: Metric) -> Iterator[bytes]:
        """The names that it may have had with its words in them: those of today, or those that were noted."""
        for words in ({}, self._noted):
            worded = _in(words, metric)
            worded = replace(worded, sources=tuple(_in(words, source) for source in metric.sources))
            yield self._name(worded, worded=True, whole=False)
            yield self._name(worded, worded=True, whole=True)

    @cached_property
    def _noted(self) -> Mapping[str, str]:
        """By metric: the words in which it was asked before, as the file has noted them."""
        noted = asked(self._connection).get(self._collection)
        return noted.questions if noted else {}

    def _name(self, metric: Metric, *, worded: bool, whole: bool) -> bytes:
        """With its words, or without; with the whole mechanism, or with what is remembered of it."""
        told = meaning(metric, worded=worded)
        if not whole:
            first = (column.mechanism.first for column in metric.columns)
            told["columns"] = [{"mechanism": mechanism.name, **mechanism.parameters()} for mechanism in first]
        return self._hmac("question", metric.name, told)

    def _key(self, question: bytes, metric: Metric, column: Column, chosen: int) -> bytes:
        return self._hmac("answer", question.hex(), metric.columns.index(column), f"{chosen:x}")

    def _hmac(self, *about: object) -> bytes:
        text = json.dumps([self._collection, *about], sort_keys=True)
        return hmac.new(self._secret, text.encode(), hashlib.sha256).digest()


def forget(connection: sqlite3.Connection) -> None:
    """Forget all answers, and the secret that would tell what they were: what is answered then is drawn anew."""
    connection.execute("DELETE FROM memo")
    connection.execute("DELETE FROM former")
    connection.execute("DELETE FROM meta WHERE key = 'secret'")


def _in(words: Mapping[str, str], metric: Metric) -> Metric:
    """A metric, asked in the words that it had."""
    return replace(metric, description=words.get(metric.name, metric.description))
