"""Consent: what the person using the device has agreed to, and what their device remembers of it."""

from __future__ import annotations

import enum
import sqlite3

from deniable.device.state import get, lost, put

__all__ = ["Consent", "is_lost", "recall", "remember"]


class Consent(enum.Enum):
    """What the person using the device has agreed to."""

    GRANTED = "granted"
    """Collect and upload."""
    PAUSED = "paused"
    """Collect, do not upload."""
    WITHHELD = "withheld"
    """Collect nothing; what was collected is erased."""

    def and_(self, other: Consent | None) -> Consent:
        """The stricter of two words: what both allow."""
        return self if other is None or _STRICTNESS[self] >= _STRICTNESS[other] else other


_STRICTNESS = {Consent.GRANTED: 0, Consent.PAUSED: 1, Consent.WITHHELD: 2}


def remember(connection: sqlite3.Connection, consent: Consent) -> None:
    """Keep the person's word, for every process that shares the file and for all that come."""
    put(connection, "consent", consent.value)


def recall(connection: sqlite3.Connection) -> Consent | None:
    """What the person has last said; None where they have not been asked. What can not be read is a no."""
    if is_lost(connection):
        return Consent.WITHHELD
    kept = get(connection, "consent")
    try:
        return None if kept is None else Consent(kept)
    except ValueError:
        return Consent.WITHHELD


def is_lost(connection: sqlite3.Connection) -> bool:
    """Whether the person may have said something that was lost with a state file, and has not said it again."""
    return lost(connection) and get(connection, "consent") is None
