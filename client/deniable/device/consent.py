"""Consent: what the person using the device has agreed to, and what their device remembers of it."""

from __future__ import annotations

import enum
import sqlite3
from collections.abc import Mapping

from deniable.device.state import get, lost, put

__all__ = ["ENVIRONMENT", "Consent", "is_lost", "of_environment", "recall", "remember"]


ENVIRONMENT = "DENIABLE_CONSENT"
"""What whoever starts a program can say, for that run: it holds where it is stricter than what else was said."""


class Consent(enum.Enum):
    """What the person using the device has agreed to."""

    GRANTED = "granted"
    """Collect and upload."""
    PAUSED = "paused"
    """Collect, do not upload."""
    WITHHELD = "withheld"
    """Collect nothing; what was collected is erased."""

    @classmethod
    def of(cls, word: Consent | str) -> Consent:
        """A word as an application says it, as a Consent or as text; ValueError with those that there are."""
        try:
            return cls(word)
        except ValueError:
            known = ", ".join(repr(each.value) for each in cls)
            raise ValueError(f"consent: takes one of {known}, or a deniable.Consent, not {word!r}") from None

    def and_(self, other: Consent | None) -> Consent:
        """The stricter of two words: what both allow."""
        return self if other is None or _STRICTNESS[self] >= _STRICTNESS[other] else other


_STRICTNESS = {Consent.GRANTED: 0, Consent.PAUSED: 1, Consent.WITHHELD: 2}


def of_environment(environment: Mapping[str, str]) -> tuple[Consent | None, str]:
    """What the environment says, and what is to be told of it; a word that nobody knows is a no."""
    word = environment.get(ENVIRONMENT, "").strip().lower()
    if not word:
        return None, ""
    try:
        return Consent(word), ""
    except ValueError:
        known = ", ".join(each.value for each in Consent)
        return Consent.WITHHELD, f"{ENVIRONMENT}={word!r} is none of {known}: it counts as withheld"


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
