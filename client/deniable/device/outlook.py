"""What is to become of what an application records: what it is told when it asks why nothing happens.

words:
  outlook     of one moment: what was recorded and waits for its epoch's end, when the next answer leaves, and which
              metrics would not be answered
  unanswered  a metric that would not be answered in the epoch that lasts, with the reason: its word, its price, its
              time or the device's coin; whether values were recorded for it, and which, does not matter
  missing     what was given to `record` and is not stored, by the words of the health counts
"""

from __future__ import annotations

from collections.abc import Mapping
from sqlite3 import Connection
from typing import NamedTuple

from deniable.collection import Collection
from deniable.device import coins, epochs, outbox
from deniable.device.ledger import Ledger
from deniable.device.memo import Memo
from deniable.errors import BudgetExceededError

__all__ = ["UNKNOWN", "Outlook", "missing", "outlook"]

_MISSING = frozenset({
    "could not be answered", "dropped from a full queue", "erased without consent", "expired", "invalid value",
    "lost before they were written", "out of time", "refused by the ledger", "rejected", "too old to be taken",
    "unknown metric",
})  # fmt: skip
"""What can become of a value instead of an answer that is stored, as the health counts call it."""


class Outlook(NamedTuple):
    """What is to become of what was recorded, as far as the state file knows."""

    recorded: tuple[str, ...]
    """Metrics with values that wait for the end of their epoch."""
    due: float | None
    """When the first batch that waits may leave; None where none waits."""
    waiting: int
    """How many wait."""
    unanswered: Mapping[str, str]
    """By metric: why it would not be answered in the epoch that lasts."""
    drawn: bool = True
    """Whether the device may take part in the epoch that lasts: it is drawn for it, or has not looked yet."""


UNKNOWN = Outlook((), None, 0, {})
"""Of a state file that can not be read."""


def outlook(connection: Connection, collection: Collection, now: float) -> Outlook:
    """The outlook of this moment, within a transaction of the state file, which is left as it was."""
    recorded = tuple(epochs.kept(connection, collection))
    waiting, due = outbox.waiting(connection, collection.name)
    if coins.found(connection, collection, collection.epoch_at(now)) is False:
        unanswered = dict.fromkeys(collection.metrics, coins.not_drawn(collection))
        return Outlook(recorded, due, waiting, unanswered, drawn=False)
    connection.execute("SAVEPOINT outlook")
    try:
        unanswered = dict(_unanswered(connection, collection, collection.epoch_at(now)))
    finally:
        connection.execute("ROLLBACK TO outlook")
        connection.execute("RELEASE outlook")
    return Outlook(recorded, due, waiting, unanswered)


def _unanswered(connection: Connection, collection: Collection, epoch: int) -> list[tuple[str, str]]:
    """Charge every metric as sealing does, to be undone: which are refused, and why."""
    ledger, memo = Ledger(connection, collection), Memo(connection, collection.name)
    found = []
    for metric in collection.metrics.values():
        expired = [own for own in (metric, *metric.sources) if epoch >= epochs.end_of(own, collection)]
        if expired:
            what = "it" if expired[0] is metric else expired[0].name
            found.append((metric.name, f"{what} expired on {expired[0].expires}"))
            continue
        try:
            epochs.charge(ledger, memo, metric, epoch)
        except BudgetExceededError as error:
            found.append((metric.name, str(error)))
    return found


def missing(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    """What has been counted in between and means that a value is not stored."""
    return sorted(what for what in _MISSING if after.get(what, 0) > before.get(what, 0))
