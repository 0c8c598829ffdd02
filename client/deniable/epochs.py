"""One epoch's way through the state file: values are kept while it lasts, then answered once and erased.

words:
  keep   add what was recorded to the epoch's values in the file
  seal   end an epoch: reduce, spend, randomise, queue and erase, in one transaction: all of it or none of it

A crash before the transaction's end leaves the values, unspent; after it the answer is queued and will never be
drawn again. Budget can be wasted (spent, never uploaded), but never exceeded.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from typing import Any

from deniable.collection import Collection, Metric, Report
from deniable.errors import BudgetExceededError
from deniable.ledger import Ledger
from deniable.memo import Memo
from deniable.outbox import Batch, put
from deniable.randomness import shuffle
from deniable.state import count

__all__ = ["erase", "keep", "seal"]


def _digest(collection: Collection) -> str:
    return f"{collection.digest:016x}"


def keep(connection: sqlite3.Connection, collection: Collection, recorded: Mapping[tuple[str, int], Any]) -> None:
    """Merge states of (metric, epoch) into what the file has."""
    digest = _digest(collection)
    for (metric, epoch), state in recorded.items():
        key = (digest, metric, epoch)
        known = connection.execute(
            "SELECT state FROM raw WHERE digest = ? AND metric = ? AND epoch = ?", key
        ).fetchone()
        if known is not None:
            state = collection.metrics[metric].reducer.merge(json.loads(known[0]), state)  # noqa: PLW2901
        connection.execute("INSERT OR REPLACE INTO raw VALUES (?, ?, ?, ?)", (*key, json.dumps(state)))


def seal(connection: sqlite3.Connection, collection: Collection, before: int, segment: int, due: float) -> int:
    """Answer all epochs before this one, each in a batch that is uploaded when due; the number of batches."""
    digest = _digest(collection)
    erased = connection.execute("DELETE FROM raw WHERE digest <> ?", (digest,)).rowcount
    count(connection, "lost to a change of the collection", erased)
    rows = connection.execute("SELECT epoch, metric, state FROM raw WHERE epoch < ?", (before,)).fetchall()
    connection.execute("DELETE FROM raw WHERE epoch < ?", (before,))
    batches = 0
    for epoch in sorted({row[0] for row in rows}):
        states = {metric: json.loads(state) for number, metric, state in rows if number == epoch}
        reports = _answers(connection, collection, epoch, states)
        if reports:
            batch = Batch.of(os.urandom(16), collection, epoch, segment, reports)
            put(connection, batch, due)
            batches += 1
    return batches


def _answers(
    connection: sqlite3.Connection, collection: Collection, epoch: int, states: Mapping[str, Any]
) -> list[Report]:
    ledger, memo = Ledger(connection, collection), Memo(connection, collection.name)
    reports = []
    for name, state in states.items():
        metric = collection.metrics[name]
        value = metric.reducer.finish(state)
        try:
            if metric.memoize:
                report = _remembered(ledger, memo, metric, value, epoch)
            else:
                ledger.charge(metric, epoch)
                report = metric.randomize(value)
        except BudgetExceededError:
            count(connection, "refused by the ledger")
            continue
        reports.append(report)
        count(connection, "answered")
    shuffle(reports)
    return reports


def _remembered(ledger: Ledger, memo: Memo, metric: Metric, value: Any, epoch: int) -> Report:
    """The answer that was given to this value before; the first time it is drawn, charged and remembered."""
    column, chosen = metric.encode(value, memo.draws(metric).__next__)
    key = memo.key(metric, column, chosen)
    remembered = memo.recall(key)
    ledger.charge(metric, epoch, remembered=remembered is not None)
    if remembered is None:
        remembered = column.mechanism.remember(chosen)
        memo.remember(key, remembered)
    return Report(column.number, column.mechanism.renew(remembered))


def erase(connection: sqlite3.Connection) -> None:
    """Forget all values that have not been answered."""
    connection.execute("DELETE FROM raw")
