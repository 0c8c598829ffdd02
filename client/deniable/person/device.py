"""What one state file tells of its device, read in one moment and changed by nobody who reads it.

words:
  telling   how much reports have told together: the epsilon and delta of all that was ever paid for about a question
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from deniable import odds
from deniable.device import asked, ledger, outbox, statefile, transcript
from deniable.device.asked import Asked
from deniable.device.consent import Consent, recall
from deniable.device.ledger import Charge, Cost
from deniable.device.state import lost, reading
from deniable.device.statefile import StrangerError
from deniable.device.transcript import Entry
from deniable.errors import StateError

__all__ = ["Device", "Question", "devices", "known", "look"]

_FARTHEST = 250_000_000_000
"""Seconds: no epoch begins later, or no calendar has its day."""
_NONSENSE = (ArithmeticError, TypeError, ValueError)
_Line = TypeVar("_Line", Charge, Entry)


@dataclass(slots=True)
class Question:
    """One metric, with all that was answered and paid for it."""

    collection: str
    """The collection that asked."""
    metric: str
    """Its name there."""
    words: str
    """What is asked; empty where the file does not say."""
    charges: list[Charge] = field(default_factory=list)
    """The lines of the ledger, the oldest first."""
    entries: list[Entry] = field(default_factory=list)
    """What has left and is not forgotten yet, the oldest first."""

    @property
    def answered(self) -> str:
        """How many answers there are; of those that were added up, only that there are some."""
        lines = sum(charge.start > 0 for charge in self.charges)
        if lines == len(self.charges):
            return f"{lines:,}"
        return f"{lines:,} and earlier ones" if lines else "earlier ones"

    @property
    def epsilon(self) -> float:
        """What all its answers cost."""
        return math.fsum(charge.epsilon for charge in self.charges)

    @property
    def delta(self) -> float:
        """The delta that all its answers cost."""
        return math.fsum(charge.delta for charge in self.charges)

    @property
    def telling(self) -> str:
        """How sure somebody is at most who has seen everything, of what was an even bet before."""
        if not self.charges:
            return "not known"
        twice = math.log(2) if self.delta else 0.0  # where there is a delta, ratios are those of twice e^epsilon
        told = odds.in_words(odds.believed(0.5, self.epsilon + twice))
        return f"{told}, but for a chance of {min(1.0, 2 * self.delta):.2g}" if self.delta else told


@dataclass(frozen=True, slots=True)
class Device:
    """What one state file tells."""

    path: Path
    """The file."""
    consent: Consent | None
    """What the person has said; None where they have not been asked, or the application does not keep it."""
    lost: bool
    """Whether what an older file knew was lost, and nobody has said to go on."""
    waiting: int
    """Batches that have not been acknowledged."""
    asked: Mapping[str, Asked]
    """What each collection asks, as far as the file says."""
    questions: tuple[Question, ...]
    """All that was ever answered, by collection and name."""
    reserved: Cost
    """What is held against budgets of a lifetime."""
    last: Charge | None
    """The line of the ledger that is about the latest time."""
    taken: Cost
    """What that time has taken of the budget of an epoch."""

    @property
    def entries(self) -> list[Entry]:
        """All that has left and is not forgotten yet, the oldest first."""
        every = (entry for question in self.questions for entry in question.entries)
        return sorted(every, key=lambda entry: (entry.start, entry.collection, entry.metric))


def look(path: str | Path) -> Device:
    """Read a state file; a StateError says why it can not be read, and what to do."""
    try:
        return _look(Path(path))
    except StateError as error:
        raise StateError(f"{error}; {_next_step(error)}") from error
    except _NONSENSE as error:
        raise StateError(
            f"{path}: it has lines that were never written there: no part of it is to be trusted"
        ) from error


def _next_step(error: StateError) -> str:
    if "locked" in str(error.__cause__):
        return "an application is writing to it: try again in a moment"
    return "`python -m deniable` lists the state files that it finds"


def _look(path: Path) -> Device:
    with reading(path) as connection:
        connection.execute("BEGIN")  # all that follows is of one moment
        words = asked.asked(connection)
        charges = [_checked(charge) for charge in ledger.charges(connection)]
        questions = _questions(words, charges, [_checked(entry) for entry in transcript.entries(connection)])
        last = max((charge for charge in charges if charge.start), key=lambda each: each.start, default=None)
        shares = ledger.taken(connection, last.start, last.start + last.seconds) if last else []
        return Device(
            path,
            recall(connection),
            lost(connection),
            outbox.waiting_in_all(connection),
            words,
            questions,
            ledger.reserved(connection),
            last,
            Cost(sum(share.epsilon for _, share in shares), sum(share.delta for _, share in shares)),
        )


def _checked(line: _Line) -> _Line:
    """A line of which every number is one; what a text says is shown, and not believed."""
    numbers = (line.start, line.seconds, line.epsilon, line.delta)
    if not all(isinstance(number, int | float) and 0 <= number < _FARTHEST for number in numbers):
        raise ValueError("a number that no device has written")
    return line


def _questions(
    words: Mapping[str, Asked], charges: Iterable[Charge], entries: Iterable[Entry]
) -> tuple[Question, ...]:
    found: dict[tuple[str, str], Question] = {}

    def of(line: Charge | Entry) -> Question:
        key = (str(line.collection), str(line.metric))
        if key not in found:
            own = words.get(key[0])
            found[key] = Question(*key, own.questions.get(key[1], "") if own else "")
        return found[key]

    for charge in charges:
        of(charge).charges.append(charge)
    for entry in entries:
        of(entry).entries.append(entry)
    return tuple(found[key] for key in sorted(found))


def known() -> list[Path]:
    """The state files that are found where applications are told to put them; what only has their name is not one."""
    return [path for path in statefile.found() if _is_ours(path)]


def _is_ours(path: Path) -> bool:
    try:
        with reading(path):
            return True
    except StateError as error:
        return not isinstance(error.__cause__, StrangerError)  # ours and not readable: whoever reads it says why


def devices(path: Path | None) -> list[Device]:
    """That of a path, or without one those that are found; a StateError where there is none."""
    paths = known() if path is None else [path]
    if not paths:
        raise StateError(
            "no state file was found where applications are told to put theirs: an application's settings or its "
            "makers can say where its state file is; then: python -m deniable STATE"
        )
    return [look(each) for each in paths]
