"""What a client keeps: in memory for a moment, then in its state file, as far as the person has agreed.

words:
  unwritten   what was recorded, or counted, and is in memory only; a worker writes it within a second
  heed        find out what the person has agreed to, in whichever process, and erase what they have not
  move        write what is unwritten, seal the epochs that have ended, and erase what is too old: one transaction

What can not be written goes back into memory while its epoch lasts; values of an epoch that has ended are erased.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from sqlite3 import Connection
from typing import Any

from deniable.collection import Collection
from deniable.device import coins, epochs, losses, outbox, transcript
from deniable.device import consent as consents
from deniable.device.consent import Consent
from deniable.device.settings import Settings, leeway_of
from deniable.device.state import BusyError, State, count

__all__ = ["PATIENCE", "Keeper"]

_log = logging.getLogger("deniable")

PATIENCE = 1.0
"""The application's threads wait so long for a state file that another process holds."""

_Key = tuple[str, int]
"""A metric and an epoch."""


class Keeper:
    """Moves what one device records into its state file, and seals its epochs."""

    def __init__(
        self,
        collection: Collection,
        segment: int | None,
        settings: Settings,
        state: State,
        given: Consent | None,
        allowed: Consent | None,
        say: Callable[[str], None],
    ) -> None:
        self.allowed = allowed
        """What the environment allows: nothing that anybody says goes beyond it."""
        self.consent = Consent.WITHHELD
        """What the person has agreed to, as far as this process knows."""
        self.persons: Consent | None = None
        """The person's own word, where one is known."""
        self._given = given  # what the application says that they have agreed to; None once the file remembers it
        self.segment = segment
        """Whose device it is, as an index; None where the application named none that the collection has."""
        self._collection = collection
        self._settings = settings
        self._state = state
        self._say = say
        self._leeway = leeway_of(settings, collection)
        self.begin_anew()

    def begin_anew(self) -> None:
        """Begin with nothing unwritten, and with locks that nobody holds, as after a fork."""
        self._lock = threading.RLock()  # a signal handler may record in the middle of a record
        self._writing = threading.Lock()
        self._recorded: dict[_Key, Any] = {}
        self._moving: Mapping[_Key, Any] = {}  # what is being written
        self._counts: dict[str, int] = {}
        self.sealed: int | None = None
        """The newest epoch that was sealed here."""
        self.moved = 0
        """How often values were moved into the file here."""
        self.refused: dict[str, str] = {}
        """By metric: why it was not answered, since the last flush."""

    # What is unwritten.

    def add(self, key: _Key, state: Any, merge: Callable[[Any, Any], Any]) -> None:
        """Keep a value that was recorded."""
        with self._lock:
            recorded = self._recorded
            recorded[key] = merge(recorded[key], state) if key in recorded else state

    def count(self, what: str, times: int = 1) -> None:
        """Count something that has happened."""
        with self._lock:
            self._counts[what] = self._counts.get(what, 0) + times

    def counts(self, written: Mapping[str, int]) -> dict[str, int]:
        """What has happened how often: as it is written, with what is not yet."""
        counts = dict(written)
        with self._lock:
            for what, times in self._counts.items():
                counts[what] = counts.get(what, 0) + times
        return counts

    @property
    def recorded(self) -> set[str]:
        """The metrics of which values are in memory only."""
        with self._lock:
            return {metric for metric, _ in (*self._recorded, *self._moving)}

    @property
    def unwritten(self) -> bool:
        """Whether something is in memory only."""
        return bool(self._recorded or self._counts)

    def _refuse(self, metric: str, why: str) -> None:
        """Keep why a metric was not answered."""
        if self.refused.get(metric) != why:
            self.refused[metric] = why
            _log.info("deniable: %s: not answered: %s", metric, why)

    def _put_back(self, recorded: Mapping[_Key, Any], counts: Mapping[str, int]) -> None:
        """Keep what could not be written while its epoch lasts; values of an epoch that has ended are erased."""
        current = self._collection.epoch_at(self._settings.clock())
        with self._lock:
            for what, times in counts.items():
                self.count(what, times)
            for key, state in recorded.items():
                if key[1] < current:
                    self.count("lost before they were written")
                elif self.consent is not Consent.WITHHELD:
                    later = self._recorded.get(key)
                    merge = self._collection.metrics[key[0]].reducer.merge
                    self._recorded[key] = state if later is None else merge(state, later)

    # What the person has agreed to.

    def agree(self, consent: Consent) -> None:
        """Take the person's word, and have the file remember it; where it can not, this process does."""
        self._given = self.persons = consent
        self.change(lambda connection: consents.remember(connection, consent))
        self._given = None

    def change(self, work: Callable[[Connection], object]) -> None:
        """Change what the person has agreed to, and do at once what follows from it."""
        self.consent = self.consent.and_(self._given)

        def changed(connection: Connection) -> None:
            work(connection)
            self.heed(connection)

        self._state.run(changed, PATIENCE)
        if self.consent is Consent.WITHHELD:
            with self._lock:
                self._recorded.clear()

    def heed(self, connection: Connection) -> Consent:
        """Find out what the person has agreed to, in whichever process; erase what they have not."""
        recalled = consents.recall(connection)
        if recalled is not None and not consents.is_lost(connection):
            self.persons = recalled
        consent = (recalled or self._given or Consent.WITHHELD).and_(self._given).and_(self.allowed)
        if consent is Consent.WITHHELD:
            epochs.withhold(connection)
            self._state.erase_set_aside(float("inf"))
        self._say(losses.why(connection, self._collection, self._settings.clock()))
        self.consent = consent
        return consent

    @property
    def withheld_by(self) -> str:
        """Whose word it is that nothing is collected; empty where something may be."""
        withheld = self.consent is Consent.WITHHELD
        return consents.withheld_by(self.persons, self.allowed, self._given) if withheld else ""

    # What is written.

    def write(self, *, everything: bool, patience: float) -> None:
        """Move what was recorded into the file, and seal the epochs that have ended, or all of them."""
        if not self._writing.acquire(timeout=max(0.0, patience)):
            raise BusyError("another thread takes long to write")
        try:  # one at a time, so that what was recorded first is merged first
            with self._lock:
                recorded, self._recorded = self._recorded, {}
                self._moving = recorded
                counts, self._counts = self._counts, {}
            try:
                move = partial(self._move, recorded=recorded, counts=counts, everything=everything)
                sealed = self._state.run(move, patience)
            except BaseException:
                self._put_back(recorded, counts)
                raise
            self.sealed = self.sealed if sealed is None else sealed
            self.moved += bool(recorded)
        finally:
            self._moving = {}
            self._writing.release()

    def _move(
        self, connection: Connection, recorded: Mapping[_Key, Any], counts: Mapping[str, int], everything: bool
    ) -> int | None:
        """What `write` does, within a transaction; the newest epoch that was sealed, if one was."""
        for what, times in counts.items():
            count(connection, what, times)
        consent = self.heed(connection)
        settings, collection = self._settings, self._collection
        now = settings.clock()
        outbox.give_up(connection, collection.name, now - settings.accept_late * collection.epoch_seconds)
        if consent is Consent.WITHHELD or self.segment is None:
            return None
        for name in epochs.keep(connection, collection, recorded):
            self._refuse(name, coins.not_drawn(collection))
        sealing = epochs.Sealing(self.segment, self._leeway, settings.queue_limit, self._refuse)
        sealed = epochs.seal(connection, collection, now, sealing, everything=everything)
        transcript.erase_before(connection, now - settings.transcript_days * 86400)
        self._state.erase_set_aside(now - now % collection.epoch_seconds)
        return max((epoch for epoch, _ in sealed), default=None)
