"""Flushes, as they are judged: a flush is true where all is stored that was recorded since the one before.

words:
  offered   something was given to `record`, and not taken: without consent, of a metric that has expired
  counted   the health counts, as the last flush has found them; what has come to be missing since then is in them
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from sqlite3 import Connection
from typing import NamedTuple

from deniable.collection import Collection
from deniable.device import transcript
from deniable.device.keeping import PATIENCE, Keeper
from deniable.device.outlook import missing
from deniable.device.state import State, health

__all__ = ["Flushes", "Verdict"]


class Verdict(NamedTuple):
    """What is to be said of a flush."""

    stored: bool
    """Whether nothing is missing."""
    refused: list[str]
    """Which metrics were not answered, and why; of one that had been in this epoch, what became of that answer."""
    missing: list[str]
    """What else is missing, by the words of the health counts, or why it may be."""

    def told(self, *more: str) -> str:
        """In a line, with what else is known of why."""
        why = [each for each in (*more, *self.refused) if each]
        return f"flush: not all that was recorded is stored: {'; '.join(why or self.missing)}"


class Flushes:
    """What the flushes of one client know of each other."""

    def __init__(self, state: State, keeper: Keeper, collection: Collection, clock: Callable[[], float]) -> None:
        self._state = state
        self._keeper = keeper
        self._collection = collection
        self._clock = clock
        self._counted: Mapping[str, int] | None = None  # None where nobody could look
        self.offered = False
        """Whether something was recorded since the last flush, and not taken."""

    def look(self) -> None:
        """Find out what had happened before the first flush."""
        self._counted = self._state.run(health, PATIENCE)

    def judge(self, upload: Callable[[], bool]) -> Verdict:
        """Upload what waits, and find out what is missing."""
        before = self._state.run(health, PATIENCE) if self._counted is None else self._counted
        done = upload()
        self._counted = self._keeper.counts(self._state.run(health, PATIENCE))
        lost = missing(before, self._counted)
        refused, self._keeper.refused = self._keeper.refused, {}
        offered, self.offered = self.offered, False
        otherwise = lost or ["a metric has expired" if done else "it waits"]
        whole = done and not (lost or offered or refused)
        return Verdict(whole, self._told(refused) if refused else [], otherwise)

    def _told(self, refused: Mapping[str, str]) -> list[str]:
        """Why metrics were not answered. Who began without an aggregator and comes again learns that the answer which
        waited is stored now."""
        name, start = self._collection.name, self._collection.epoch_at(self._clock()) * self._collection.epoch_seconds

        def told(connection: Connection) -> Iterator[str]:
            for metric, why in refused.items():
                fate = transcript.fate_of(connection, name, metric, start)
                became = f"; that answer is {fate}, and a later epoch is another question" if fate else ""
                yield f"{metric}: {why}{became}"

        return self._state.run(lambda connection: list(told(connection)), PATIENCE)
