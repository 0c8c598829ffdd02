"""The transcript: what has left this device, in words, for the person that it belongs to.

words:
  entry        one report: the epoch it is about, what was answered, what that cost, what it gives away
  fate         waiting: still here; sent: it left, and may have arrived; stored: an aggregator has acknowledged it;
               refused: an aggregator has taken it for malformed or out of time; given up: it left, nobody has
               acknowledged it, and it is too old to be sent again
  conclusion   what someone who sees the report could conclude, from the mechanism's own probabilities

Entries are written in the transaction that queues their batch, marked as sent before it is, and erased after a while.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from deniable import linkage, odds
from deniable.collection import Collection, Metric, Report
from deniable.device.ledger import Cost
from deniable.device.state import reading
from deniable.mechanisms import Mechanism

__all__ = [
    "Entry",
    "add",
    "conclusion",
    "entries",
    "erase_before",
    "fate_of",
    "forget",
    "give_up",
    "mark",
    "of_batch",
    "read",
    "rename",
    "withdraw",
]

WAITING, SENT, STORED, REFUSED, GIVEN_UP = "waiting", "sent", "stored", "refused", "given up"
_FIELDS = "collection, metric, start, seconds, answer, conclusion, fate, cost, delta_cost"
_EXACT = 256
"""Up to so many answers their probabilities are spelt out."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One report, as the transcript has it."""

    collection: str
    """The collection that asked."""
    metric: str
    """The metric that was answered."""
    start: int
    """When the epoch began, in seconds since 1970-01-01T00:00:00Z."""
    seconds: int
    """How long the epoch was."""
    answer: str
    """The randomised answer."""
    conclusion: str
    """What someone who sees it could conclude."""
    fate: str
    """What became of it: sent, stored, refused or given up; waiting in what is about to be sent."""
    epsilon: float
    """What it cost; 0 where the answer is remembered, and was paid for before."""
    delta: float = 0.0
    """The delta that it cost; for most kinds of question none."""

    def __str__(self) -> str:
        delta = f" and delta {self.delta:g}" if self.delta else ""
        return f"{self.metric}: {self.fate} {self.answer} at epsilon {self.epsilon:g}{delta}; {self.conclusion}"


def add(
    connection: sqlite3.Connection,
    collection: Collection,
    epoch: int,
    batch_id: bytes,
    answers: Iterable[tuple[Metric, Report, Cost]],
) -> None:
    """Note a batch's reports with their costs."""
    seconds = collection.epoch_seconds
    for metric, report, cost in answers:
        place = report.column - metric.columns[0].number
        mechanism = metric.columns[place].mechanism
        answer = metric.kind.describe(place, mechanism, report.payload)
        concluded = f"{conclusion(mechanism, report.payload, metric.kind.delta)}; {_link(metric)}"
        if others := [other.name for other in collection.about(metric)]:
            concluded += f"; answers of {', '.join(others)} are about the same values: epsilons add up"
        about = (batch_id, WAITING, collection.name, metric.name, epoch * seconds, seconds)
        row = (*about, cost.epsilon, answer, concluded, cost.delta)
        connection.execute("INSERT INTO transcript VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def conclusion(mechanism: Mechanism, payload: int, delta: Fraction = Fraction(0)) -> str:
    """How much likelier some answers make this payload than others.

    Where there is a delta, a report that tells more than twice e^epsilon comes with a chance of 2 delta at most: the
    excess of one answer's chances over e^epsilon times another's adds up to delta, and of such reports at least half
    of the chance is excess.
    """
    inputs = mechanism.inputs
    if not (mechanism.plain and mechanism.shape.size == inputs <= _EXACT):
        # Of what is remembered a report tells no more than the fresh noise lets it.
        times = math.exp(min(float(mechanism.instantaneous), float(mechanism.epsilon))) * (2 if delta else 1)
        but = f", but for a chance of {2 * float(delta):.2g}" if delta else ""
        return (
            f"of two answers to be confused, neither leads to this more than {times:.3g} times as often as the "
            f"other{but}; {'but for that ' if delta else ''}{_sure(times)}"
        )
    own, *others = (
        float(mechanism.probability(payload, value))
        for value in (payload, *(other for other in range(inputs) if other != payload))
    )
    low, high = _percent(min(others)), _percent(max(others))
    spread = low if low == high else f"{low} to {high}"
    which = "the other" if inputs == 2 else "any other"
    told = f"devices with {which} answer send this {spread} of the time, those with this one {_percent(own)}"
    return f"{told}; {_sure(max(own, *others) / min(own, *others))}"


def _sure(ratio: float) -> str:
    """What seeing a report of this ratio does to an even bet."""
    return f"who held an answer to be an even bet is at most {odds.sure(ratio)} sure of it then"


def _link(metric: Metric) -> str:
    """What a report tells of which device it is from."""
    bits = linkage.bits(metric)
    if linkage.repeats(metric):
        return (
            f"the same is sent every time, which tells this device from {linkage.others(bits)} others with its answer"
        )
    known = "knows what is remembered" if metric.memoize else "sees the same answer again and again"
    return f"of which device it is from, it tells someone who {known} at most {bits:.2g} bits"


def _percent(share: float) -> str:
    return f"{share:.0%}" if 0.1 <= share <= 0.9 else f"{100 * share:.2g}%" if share < 0.1 else f"{share:.1%}"


def mark(connection: sqlite3.Connection, batch_id: bytes, fate: str) -> int | None:
    """Note what becomes of a batch; when the epoch that it is about began."""
    connection.execute("UPDATE transcript SET fate = ? WHERE batch_id = ?", (fate, batch_id))
    (start,) = connection.execute("SELECT max(start) FROM transcript WHERE batch_id = ?", (batch_id,)).fetchone()
    if fate in {STORED, REFUSED}:  # the id has served its purpose
        connection.execute("UPDATE transcript SET batch_id = NULL WHERE batch_id = ?", (batch_id,))
    return None if start is None else int(start)


def fate_of(connection: sqlite3.Connection, collection: str, metric: str, start: int) -> str | None:
    """What became of a metric's answer about the epoch that begins then; None where there is none."""
    about = "collection = ? AND metric = ? AND start = ?"
    query = f"SELECT fate FROM transcript WHERE {about} ORDER BY number DESC LIMIT 1"  # noqa: S608
    found = connection.execute(query, (collection, metric, start)).fetchone()
    return None if found is None else str(found[0])


def rename(connection: sqlite3.Connection, batch_id: bytes, new: bytes) -> None:
    """Note the new id of a batch."""
    connection.execute("UPDATE transcript SET batch_id = ? WHERE batch_id = ?", (new, batch_id))


def give_up(connection: sqlite3.Connection, batch_ids: Iterable[bytes]) -> None:
    """Note that batches are gone, too old; what has never left is forgotten."""
    for batch_id in batch_ids:
        change = (GIVEN_UP, batch_id, SENT)
        connection.execute("UPDATE transcript SET fate = ? WHERE batch_id = ? AND fate = ?", change)
    withdraw(connection)


def withdraw(connection: sqlite3.Connection) -> None:
    """Forget the reports that have not left and never will: those whose batches are gone."""
    gone = "batch_id IS NOT NULL AND batch_id NOT IN (SELECT batch_id FROM queue)"
    connection.execute(f"DELETE FROM transcript WHERE fate = ? AND {gone}", (WAITING,))  # noqa: S608
    connection.execute(f"UPDATE transcript SET batch_id = NULL WHERE {gone}")  # noqa: S608


def forget(connection: sqlite3.Connection) -> None:
    """Forget every report."""
    connection.execute("DELETE FROM transcript")


def erase_before(connection: sqlite3.Connection, time: float) -> None:
    """Forget what is about epochs before a time."""
    connection.execute("DELETE FROM transcript WHERE start + seconds < ? AND batch_id IS NULL", (time,))


def entries(connection: sqlite3.Connection) -> list[Entry]:
    """What has left, in its order."""
    return _entries(connection, "fate <> ?", WAITING)


def of_batch(connection: sqlite3.Connection, batch_id: bytes) -> list[Entry]:
    """A batch's reports."""
    return _entries(connection, "batch_id = ?", batch_id)


def _entries(connection: sqlite3.Connection, condition: str, value: str | bytes) -> list[Entry]:
    query = f"SELECT {_FIELDS} FROM transcript WHERE {condition} ORDER BY number"  # noqa: S608
    made = []
    for collection, metric, start, seconds, answer, concluded, fate, *cost in connection.execute(query, (value,)):
        made.append(Entry(collection, metric, start, seconds, answer, concluded, fate, *Cost(*cost).told()))
    return made


def read(path: str | Path) -> list[Entry]:
    """What has left, from a state file."""
    with reading(path) as connection:
        return entries(connection)
