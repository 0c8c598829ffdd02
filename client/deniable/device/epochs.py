"""One epoch's way through the state file: values are kept while it lasts, then answered once and erased.

words:
  keep   add what was recorded to the epoch's values in the file
  seal   end epochs: reduce, spend, randomise, queue and erase, in one transaction: all of it or none of it
  ours   values of a metric with the identity that it has in our collection: whichever version of it asked when they
         were recorded, they mean the same
  fed    a metric that is answered from what an epoch's values of others (its sources) have been reduced to, within
         the same transaction; where one of them has none, it is not answered

A crash before the transaction's end leaves the values, unspent; after it the answer is queued and will never be
drawn again. Budget can be wasted (spent, never uploaded), but never exceeded.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from deniable.collection import Collection, Metric, Report
from deniable.device import asked, coins, outbox, transcript
from deniable.device.ledger import Cost, Ledger
from deniable.device.memo import Memo
from deniable.device.outbox import Batch
from deniable.device.state import count
from deniable.errors import BudgetExceededError
from deniable.randomness import WORD, renew, shuffle, word

__all__ = ["Sealing", "charge", "end_of", "keep", "kept", "seal", "withhold"]

_NONSENSE = (ArithmeticError, LookupError, TypeError, ValueError)
"""What values raise that were never written: a file can be damaged where SQLite does not notice."""
_STRANGE_AFTER = 7 * 86400
"""Values of a collection that nobody seals any more are erased so many seconds after their epoch."""
_FIRST, _LAST = -(1 << 62), 1 << 62
"""Beyond all epochs."""


@dataclass(frozen=True, slots=True)
class Sealing:
    """What has to be known to end an epoch, besides what was recorded."""

    segment: int
    """The segment that the device is in."""
    leeway: float
    """Batches are due at a random moment of so many seconds from now."""
    most: int
    """How many batches may wait; beyond that the oldest is dropped."""
    refused: Callable[[str, str], object] = lambda _metric, _why: None
    """Is told which metric is not answered, and why."""


def end_of(metric: Metric, collection: Collection) -> float:
    """The first epoch that a metric does not answer for."""
    if metric.expires is None:
        return float("inf")
    expires = datetime(metric.expires.year, metric.expires.month, metric.expires.day, tzinfo=UTC)
    return -(-expires.timestamp() // collection.epoch_seconds)


def _identity(collection: Collection, name: str) -> str:
    return f"{collection.identities[name]:016x}"


def keep(
    connection: sqlite3.Connection, collection: Collection, recorded: Mapping[tuple[str, int], Any]
) -> list[str]:
    """Merge states of (metric, epoch) into what the file has; the metrics whose values are let go, as the device is
    not drawn for their epoch."""
    ours = sorted({epoch for _, epoch in recorded})
    taking = {epoch: coins.takes_part(connection, collection, epoch) for epoch in ours}
    for (name, epoch), later in recorded.items():
        if not taking[epoch]:
            continue
        key = (collection.name, _identity(collection, name), name, epoch)
        known = connection.execute(
            "SELECT state FROM raw WHERE collection = ? AND digest = ? AND metric = ? AND epoch = ?", key
        ).fetchone()
        text = json.dumps(later if known is None else _merged(collection.metrics[name], known[0], later))
        if known is None or known[0] != text:
            ends = (epoch + 1) * collection.epoch_seconds
            connection.execute("INSERT OR REPLACE INTO raw VALUES (?, ?, ?, ?, ?, ?)", (*key, ends, text))
    return [name for name, epoch in recorded if not taking[epoch]]


def _merged(metric: Metric, earlier: str, later: Any) -> Any:
    try:
        return metric.reducer.merge(json.loads(earlier), later)
    except _NONSENSE:
        return later


def seal(
    connection: sqlite3.Connection, collection: Collection, now: float, sealing: Sealing, *, everything: bool = False
) -> list[tuple[int, list[Report]]]:
    """Answer the epochs that have ended, or all, each in a batch of its own; their numbers and reports."""
    current = collection.epoch_at(now)
    _take_over(connection, collection)
    _forget_strangers(connection, collection, now)
    _bring_back(connection, collection, current)
    rows = _ours(connection, collection, (_FIRST, current + everything - 1))
    sealed = []
    for epoch in dict.fromkeys(row[0] for row in rows):
        if not coins.takes_part(connection, collection, epoch):
            continue
        renew()
        states = {metric: state for number, metric, state in rows if number == epoch}
        answers = list(_answers(connection, collection, epoch, states, sealing.refused))
        shuffle(answers)
        reports = [report for _, report, _ in answers]
        if reports:
            batch = Batch.of(os.urandom(16), collection, epoch, sealing.segment, reports)
            due = now + sealing.leeway * word() / WORD
            ends = (epoch + 1) * collection.epoch_seconds
            outbox.put(connection, collection.name, batch, ends=ends, due=due, most=sealing.most)
            transcript.add(connection, collection, epoch, batch.batch_id, answers)
            sealed.append((epoch, reports))
    if sealed and not asked.is_noted(connection, collection):
        Memo(connection, collection.name).find_out(collection.metrics.values())
        asked.note(connection, collection)
    return sealed


def _ours(
    connection: sqlite3.Connection, collection: Collection, epochs: tuple[int, int]
) -> list[tuple[int, str, str]]:
    """Take our values of these epochs, the last included, out of the file: epochs, metrics and states."""
    rows = connection.execute(
        "SELECT epoch, metric, state, digest FROM raw WHERE collection = ? AND epoch BETWEEN ? AND ? "
        "ORDER BY epoch, metric",
        (collection.name, *epochs),
    ).fetchall()
    own = [row for row in rows if row[1] in collection.metrics and row[3] == _identity(collection, row[1])]
    for epoch, metric, _, identity in own:
        connection.execute(
            "DELETE FROM raw WHERE collection = ? AND digest = ? AND metric = ? AND epoch = ?",
            (collection.name, identity, metric, epoch),
        )
    return [row[:3] for row in own]


def kept(connection: sqlite3.Connection, collection: Collection) -> list[str]:
    """The metrics of which the file has values of ours."""
    rows = connection.execute("SELECT DISTINCT metric, digest FROM raw WHERE collection = ?", (collection.name,))
    return [name for name, own in rows if name in collection.metrics and own == _identity(collection, name)]


def _take_over(connection: sqlite3.Connection, collection: Collection) -> None:
    """Values that were recorded before metrics had identities were kept under the collection's digest: are ours."""
    key = (collection.name, f"{collection.digest:016x}")
    earlier = connection.execute(
        "SELECT metric, epoch, state FROM raw WHERE collection = ? AND digest = ?", key
    ).fetchall()
    if earlier:
        later = _ours(connection, collection, (_FIRST, _LAST))
        connection.execute("DELETE FROM raw WHERE collection = ? AND digest = ?", key)
        _keep_again(connection, collection, {(metric, epoch): state for metric, epoch, state in earlier})
        _keep_again(connection, collection, {(metric, epoch): state for epoch, metric, state in later})


def _keep_again(
    connection: sqlite3.Connection, collection: Collection, states: Mapping[tuple[str, int], str]
) -> None:
    for where, state in states.items():
        with suppress(*_NONSENSE):
            keep(connection, collection, {where: json.loads(state)})


def _forget_strangers(connection: sqlite3.Connection, collection: Collection, now: float) -> None:
    """Erase values that nobody will answer: of what this collection means no more, or of one that is gone."""
    ended = connection.execute(
        "SELECT DISTINCT metric, digest FROM raw WHERE collection = ? AND ends <= ?", (collection.name, now)
    ).fetchall()
    erased = 0
    for metric, identity in ended:
        if metric not in collection.metrics or identity != _identity(collection, metric):
            erased += connection.execute(
                "DELETE FROM raw WHERE collection = ? AND metric = ? AND digest = ? AND ends <= ?",
                (collection.name, metric, identity, now),
            ).rowcount
    erased += connection.execute(
        "DELETE FROM raw WHERE collection <> ? AND ends <= ?", (collection.name, now - _STRANGE_AFTER)
    ).rowcount
    count(connection, "lost to a change of the collection", erased)


def _bring_back(connection: sqlite3.Connection, collection: Collection, current: int) -> None:
    """Where the clock has gone back, values are about an epoch that has not begun: they become the current one's."""
    for _, metric, state in _ours(connection, collection, (current + 1, _LAST)):
        _keep_again(connection, collection, {(metric, current): state})


def _answers(
    connection: sqlite3.Connection,
    collection: Collection,
    epoch: int,
    states: Mapping[str, str],
    refused: Callable[[str, str], object],
) -> Iterator[tuple[Metric, Report, Cost]]:
    ledger, memo = Ledger(connection, collection), Memo(connection, collection.name)
    for metric, value in _values(connection, collection, epoch, states):
        try:
            report, cost = _answer(ledger, memo, metric, metric.kind.check(value) if metric.sources else value, epoch)
        except BudgetExceededError as error:
            count(connection, "refused by the ledger")
            refused(metric.name, str(error))
            continue
        except _NONSENSE:
            count(connection, "could not be answered")
            continue
        count(connection, "answered")
        yield metric, report, cost


def _values(
    connection: sqlite3.Connection, collection: Collection, epoch: int, states: Mapping[str, str]
) -> Iterator[tuple[Metric, Any]]:
    """What the values of an epoch have been reduced to, and for each metric that is fed what its sources' have."""
    recorded = {name: metric for name, metric in collection.metrics.items() if not metric.sources}
    reduced: dict[str, Any] = {}
    for name, state in states.items():
        try:
            metric = recorded[name]
            if epoch >= end_of(metric, collection):
                count(connection, "expired")
                continue
            reduced[name] = metric.reducer.finish(json.loads(state))
        except _NONSENSE:
            count(connection, "could not be answered")
            continue
        yield metric, reduced[name]
    for name, metric in collection.metrics.items():
        whole = name not in recorded and reduced.keys() >= set(metric.kind.of)
        if whole and epoch < end_of(metric, collection):
            yield metric, {source: reduced[source] for source in metric.kind.of}


def _answer(ledger: Ledger, memo: Memo, metric: Metric, value: Any, epoch: int) -> tuple[Report, Cost]:
    """One answer with its cost; of a memoized metric the one that was given to this value before.

    The first time that is drawn, charged and remembered.
    """
    if not metric.memoize:
        cost = charge(ledger, memo, metric, epoch)
        return metric.randomize(value), cost
    column, chosen = metric.encode(value, memo.draws(metric).__next__)
    recalled = memo.recall(metric, column, chosen)
    cost = charge(ledger, memo, metric, epoch, remembered=recalled is not None)
    if recalled is None:
        recalled = column, column.mechanism.remember(chosen)
        memo.remember(metric, column, chosen, recalled[1])
    column, remembered = recalled
    return Report(column.number, column.mechanism.renew(remembered)), cost


def withhold(connection: sqlite3.Connection) -> None:
    """Erase what was recorded and what was not sent: the person does not agree to it."""
    erased = connection.execute("DELETE FROM raw").rowcount + outbox.clear(connection)
    count(connection, "erased without consent", erased)


def charge(ledger: Ledger, memo: Memo, metric: Metric, epoch: int, *, remembered: bool = False) -> Cost:
    """Charge an answer for an epoch; BudgetExceededError where it may not be given, whatever it is."""
    if not metric.memoize:
        return ledger.charge(metric, epoch)
    known = memo.known(metric) > 0
    if not known:
        ledger.check_question(metric, memo.question(metric))
    cost = ledger.charge(metric, epoch, remembered=remembered, reserves=0 if known else metric.recalled)
    ledger.note_question(metric, memo.question(metric))
    return cost
