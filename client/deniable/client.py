"""The client: what an application holds. It records, and everything else happens behind it.

words:
  record    note a value for the current epoch; in memory, and in the state file within a second
  seal      end an epoch: reduce, spend, randomise, queue (see epochs.py)
  round     what the worker, the one background thread, does again and again (see worker.py): it has what was recorded
            written and epochs sealed (keeping.py), and sends what is due (sending.py)
  fed       a metric that is answered from what is recorded for others, its sources: nothing is recorded for itself

Threads: every method may be called from any thread. Forks: a child has a client that works, with no part of what the
parent has recorded and not yet written; without a state file a child records nothing, for it could not know what
its parent spends. Processes: several can share one state file.

A state file that can not be written keeps values in memory while their epoch lasts, and nothing is answered.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from types import TracebackType
from typing import Any, Self, TypeVar

from deniable.collection import Collection
from deniable.device import losses, processes, transcript
from deniable.device.consent import WITHHELD, Consent, of_environment
from deniable.device.flushing import Flushes
from deniable.device.keeping import PATIENCE, Keeper
from deniable.device.ledger import Charge, charges
from deniable.device.outlook import UNKNOWN, Outlook, outlook
from deniable.device.sending import Sender
from deniable.device.settings import DEBUGGING, Settings, Status, asks_to_debug
from deniable.device.state import BusyError, State, health, start_over
from deniable.device.taking import takers
from deniable.device.transcript import Entry
from deniable.device.worker import Worker
from deniable.errors import StateError
from deniable.mistakes import Mistakes, check_given
from deniable.wire.credentials import Credentials, check_endpoint

__all__ = ["Client"]

_log = logging.getLogger("deniable")
_Result = TypeVar("_Result")

_AGAIN_SECONDS = 60.0
"""After something that should not happen, or a file that can not be written, the worker tries again."""
_LOOK_SECONDS = 3600.0
"""The worker looks at the clock at least so often: clocks jump, and machines sleep."""
_DEBUG_BEHIND = 0.1
"""Whoever debugs waits so long for the debug view to move."""
_ASK_AGAIN_SECONDS = 0.1
"""A flush that waits looks so often for what another process of the same file has sent: that one tells nobody."""
_LEAST_PATIENCE = 0.2
"""Writing may take so long, however little time a caller has."""

_FORKED = "a forked process without a state file collects nothing"


class Client:
    """Records answers of one device to one collection."""

    _heeds_environment = True

    def __init__(
        self,
        collection: Collection,
        *,
        endpoint: str | None = None,
        state: str | Path | None = None,
        consent: Consent | str | None = None,
        segment: Mapping[str, str] | None = None,
        credentials: Credentials | None = None,
        strict: bool = False,
        settings: Settings | None = None,
        debug: bool = False,
    ) -> None:
        check_given(collection, settings=(settings, Settings), credentials=(credentials, Credentials))
        environment = os.environ if self._heeds_environment else {}
        self._debug = debug or asks_to_debug(environment)
        if endpoint is not None:
            check_endpoint(endpoint)
            if state is None and not self._debug:
                losses.check_forgetful(collection)
        given = None if consent is None else Consent.of(consent)
        self.collection = collection.unsampled if self._debug else collection
        """The collection whose metrics this client answers."""
        settings = settings or Settings()
        self._environment = word = of_environment(environment, count_ci=settings.count_ci)
        self._settings = settings = replace(settings, write_behind=_DEBUG_BEHIND) if self._debug else settings
        self._strict = strict
        self._takers = takers(collection)
        self._mistakes = Mistakes(collection, strict, self._mistaken)
        self._say = self._mistakes.say
        self._closed = self._orphan = False
        persons: Consent | None = None
        make: Callable[..., Sender] = Sender
        if self._debug:
            from deniable.device import debugging

            agreed = partial(debugging.agreed, state, word.consent)
            make, collection = partial(debugging.DebugSender, agreed, collection.sample), self.collection
            (persons, _), (given, unread) = debugging.agreed(state, None), debugging.agreed(state, given)
            state = None
            self._say(unread)
            self._say(DEBUGGING)
        self._state = State(state, settings.clock, self._say)
        self._begin_anew()
        if word.misspelt or self._debug:
            self._say(word.why)
        elif word.why:  # whoever says no is not to be bothered by it
            _log.info("deniable: %s", word.why)
        segment_index = self._segment_index(segment or {})
        self._keeper = Keeper(collection, segment_index, settings, self._state, given, word.consent, self._say)
        self._keeper.persons = persons
        self._flushes = Flushes(self._state, self._keeper, collection, settings.clock)
        self._sender = make(endpoint, credentials, collection, settings, self._state, self._keeper, self._say)
        try:
            self._keeper.change(self._keeper.heed)
            self._flushes.look()
        except StateError as error:
            # What the file remembers decides once it can be read.
            self._keeper.consent = (given or Consent.WITHHELD).and_(word.consent)
            self._fail(error)
        processes.look_after(self)

    def _begin_anew(self) -> None:
        self._trouble = ""
        self._emptied = threading.Condition()
        self._worker = Worker(self._round, self._last_round, self._settings.write_behind)

    # What an application calls.

    def record(self, metric: str, value: Any) -> None:
        """Note a value; never waits for disk or network. A mistake is counted and logged once; raised if strict."""
        keeper = self._keeper
        if keeper.consent is Consent.WITHHELD:
            self._flushes.offered = True
            return
        try:
            take, merge, ends = self._takers[metric]
        except Exception:  # noqa: BLE001 - no such name, or whatever something else does when it is looked up
            self._mistakes.unknown(metric, self._takers)
            return
        try:
            state = take(value)
        except Exception as error:  # noqa: BLE001 - whatever a value does when it is looked at
            self._mistakes.invalid(metric, value, error)
            return
        epoch = int(self._settings.clock() // self.collection.epoch_seconds)
        if epoch >= ends or self._closed or self._orphan or keeper.segment is None:
            self._flushes.offered = True
            return
        keeper.add((metric, epoch), state, merge)
        if not self._worker.wake.is_set():
            self._start()

    def flush(self, timeout: float = 5.0) -> bool:
        """End the epoch for what has been recorded so far, and upload it now; whether all of it was stored in time.

        It is False where anything that was given to `record` since the flush before is not: refused as a mistake, by
        the ledger or by the aggregator, not taken without consent, given up, or still waiting. The log says which.
        It is about one epoch, the newest that this client has ended. What waits of older ones leaves at moments of
        its own, and makes no flush False: sent beside the new one, it would be known to come from the same device.

        What is recorded later for a metric that was answered is refused until the next epoch. No flush is needed.
        """
        try:
            found = self._flushes.judge(lambda: self._flush(timeout))
        except StateError as error:
            self._fail(error)
            return False
        if not found.stored and self._sender.endpoint is not None:
            self._say(found.told(self._stopped, self._sender.failure, *self._mistakes.since()))
        return found.stored

    def _flush(self, timeout: float) -> bool:
        """End the epoch, and upload it; whether nothing of it waits any more."""
        end = time.monotonic() + timeout
        clock = self._settings.clock
        patience = max(timeout, _LEAST_PATIENCE)
        self._write(everything=not self._debug, patience=patience)
        epoch = self.collection.epoch_at(clock()) if self._keeper.sealed is None else self._keeper.sealed
        since = (epoch + 1) * self.collection.epoch_seconds
        if not self._sends or self._closed:
            return self._sender.waiting(since) == 0
        self._sender.hurry(since, patience)
        with self._emptied:
            self._worker.hurry()
            self._start()
            while not (done := self._sender.waiting(since) == 0) and (left := (end - time.monotonic())) > 0.0:
                self._emptied.wait(min(left, _ASK_AGAIN_SECONDS))
        if not done:
            self._sender.calm(patience)
        return done

    @property
    def _stopped(self) -> str:
        """Why nothing at all is recorded; empty where it is."""
        if self._closed:
            return "the client is closed"
        if self._keeper.consent is Consent.WITHHELD:
            return WITHHELD.get(self._keeper.withheld_by, self._environment.why)
        if self._orphan:
            return _FORKED
        return self._trouble if self._keeper.segment is None else ""

    def set_consent(self, consent: Consent | str) -> None:
        """Change what the person has agreed to, for now and for every start to come.

        Withholding erases at once what was recorded and what was not sent. The ledger and what has been answered
        before stay on the device: otherwise coming back would be a way to ask again and again.
        """
        consent = Consent.of(consent)
        try:
            self._keeper.agree(consent)
            if consent is Consent.WITHHELD:
                _log.info("deniable: consent withheld; what was not sent is erased, the ledger and the memo are kept")
        except StateError as error:
            self._fail(error)
        if consent is not Consent.GRANTED:
            self._sender.cut()
        self._start()

    def start_over(self) -> None:
        """Go on although the state file was damaged, or removed in use: budgets and memories begin at nothing.

        What was spent, remembered and said before is not known any more. Until this is called nothing is collected
        without a new word of the person's (`set_consent`), and what has a memory, a delta or a lifetime's budget is
        not answered. Ask the person first: their device may tell more than it has promised to, or they have said no.
        """
        try:
            self._keeper.change(start_over)
        except StateError as error:
            self._fail(error)

    @property
    def consent(self) -> Consent:
        """What the person has agreed to, as far as this process knows."""
        return self._keeper.consent

    def ledger(self) -> list[Charge]:
        """Every epsilon that this device has spent, the oldest first."""
        return self._look(charges, [])

    def transcript(self) -> list[Entry]:
        """What has left this device, in words, the oldest first."""
        return self._look(transcript.entries, [])

    def status(self) -> Status:
        """How the client is doing: consent, trouble, what waits and until when, and what has happened how often."""
        now, keeper = self._settings.clock(), self._keeper
        unwritten, counts = keeper.recorded, keeper.counts(self._look(health, {}))
        seen: Outlook = self._look(lambda connection: outlook(connection, self.collection, now), UNKNOWN)
        trouble = self._trouble or self._look(lambda connection: losses.why(connection, self.collection, now), "")
        trouble = trouble or "; ".join(filter(None, (DEBUGGING if self._debug else "", self._environment.why)))
        recorded = tuple(sorted({*seen.recorded, *unwritten}))
        ends = None
        if recorded or not seen.drawn:  # who is not drawn may be for the next epoch
            ends = float((self.collection.epoch_at(now) + 2 - seen.drawn) * self.collection.epoch_seconds)
        going = self._sends and not (self._closed or self._debug)
        leaves = (ends if seen.due is None else max(now, seen.due)) if going else None
        unanswered = dict.fromkeys(self.collection.metrics, self._stopped) if self._stopped else seen.unanswered
        return Status(keeper.consent, trouble, seen.waiting, counts, recorded, leaves, self._sender.last_error,
                      unanswered, keeper.withheld_by)  # fmt: skip

    def close(self, timeout: float | None = None) -> None:
        """Write what was recorded and stop; waits at most this long, and for an upload under way no longer."""
        if self._closed:
            return
        end = time.monotonic() + (self._settings.close_timeout if timeout is None else timeout)
        self._closed = True
        self._worker.stop(end, self._sender.cut)
        if self._keeper.unwritten:
            try:
                self._write(patience=max(_LEAST_PATIENCE, end - time.monotonic()))
            except StateError as error:
                self._fail(error)
        self._state.close()
        processes.release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # What can go wrong.

    def _segment_index(self, segment: Mapping[str, str]) -> int | None:
        try:
            return self.collection.segment_index(segment)
        except ValueError as error:
            if self._strict:
                raise
            self._trouble = f"{error}; without its segment nothing is collected"
            self._say(self._trouble)
            return None

    def _mistaken(self, what: str, error: Exception) -> None:
        self._keeper.count(what)
        if self._sender.mistaken(error):
            self._start()

    def _fail(self, error: StateError) -> None:
        self._trouble = str(error)
        if self._strict and not self._worker.here and not isinstance(error, BusyError):
            raise error
        self._say(f"{error}: values stay in memory while their epoch lasts, and nothing is answered")

    # What happens behind it.

    def _look(self, work: Callable[[Connection], _Result], otherwise: _Result) -> _Result:
        try:
            return self._state.run(work, PATIENCE)
        except StateError as error:
            self._fail(error)
            return otherwise

    def _start(self) -> None:
        if not self._closed and not self._orphan:
            self._worker.start()

    def _round(self) -> float:
        """What the worker does again and again; the seconds until there is something to do."""
        try:
            self._write()
            return self._upload()
        except Exception as error:  # noqa: BLE001 - see below
            self._survive(error)
            return _AGAIN_SECONDS

    def _last_round(self) -> None:
        try:
            if self._debug:
                self._write()
            self._sender.send_missed()
        except Exception as error:  # noqa: BLE001 - see below
            self._survive(error)

    def _survive(self, error: Exception) -> None:
        """Telemetry must never end with an application's surprise."""
        if isinstance(error, StateError):
            self._fail(error)
        else:
            self._mistakes.survive(error)

    def _write(self, *, everything: bool = False, patience: float = 10.0) -> None:
        """Move what was recorded into the file, and seal the epochs that have ended, or all of them."""
        self._keeper.write(everything=everything, patience=patience)
        if self._keeper.segment is not None:
            self._trouble = ""

    def _upload(self) -> float:
        """Send what is due; the seconds until there is something to do again."""
        if self._sends:
            while self._sender.send_next() and not self._worker.stopping:
                pass
            with self._emptied:
                self._emptied.notify_all()
        due = self._sender.due()
        now, epoch = self._settings.clock(), self.collection.epoch_seconds
        wait = min(epoch - now % epoch + 1.0, _LOOK_SECONDS)
        return wait if due is None or not self._sends else min(wait, max(0.05, due - now))

    @property
    def _sends(self) -> bool:
        """Whether what waits may leave."""
        return self._sender.endpoint is not None and self._keeper.consent is Consent.GRANTED

    # Forks (see processes.py).

    def _before_fork(self) -> None:
        self._state.before_fork()

    def _after_fork_in_parent(self) -> None:
        self._state.after_fork_in_parent()

    def _after_fork_in_child(self) -> None:
        """Begin anew in a child: what was recorded is the parent's, and so are its thread and its connections."""
        self._begin_anew()
        self._keeper.begin_anew()
        self._sender.begin_anew()
        self._flushes.offered = False
        self._mistakes.since()
        self._state.after_fork_in_child()
        if self._state.path is None and not self._debug:
            self._orphan = True
            self._trouble = _FORKED
