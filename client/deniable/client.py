"""The client: what an application holds. It records, and everything else happens behind it.

words:
  record    note a value for the current epoch; in memory, and in the state file within a second
  seal      end an epoch: reduce, spend, randomise, queue (see epochs.py)
  round     what the worker, the one background thread, does again and again (see worker.py): it has what was recorded
            written and epochs sealed (keeping.py), and sends what is due (sending.py)
  misuse    a name, type or value that is wrong: counted, logged once, and raised only if `strict`
  fed       a metric that is answered from what is recorded for others, its sources: nothing is recorded for itself

Threads: every method may be called from any thread. Forks: a child has a client that works, with no part of what the
parent has recorded and not yet written; without a state file a child records nothing, for it could not know what
its parent spends. Processes: several can share one state file.

A state file that can not be written keeps values in memory while their epoch lasts, and nothing is answered.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from sqlite3 import Connection
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from deniable._section import nearest
from deniable.collection import Collection
from deniable.device import epochs, losses, outbox, processes, transcript
from deniable.device.consent import Consent
from deniable.device.keeping import PATIENCE, Keeper
from deniable.device.ledger import Charge, charges
from deniable.device.sending import Sender
from deniable.device.settings import Settings, Status
from deniable.device.state import BusyError, State, health, start_over
from deniable.device.transcript import Entry
from deniable.device.worker import Worker
from deniable.errors import InvalidValueError, StateError, UnknownMetricError
from deniable.kinds._values import shown
from deniable.wire.credentials import Credentials

__all__ = ["Client"]

_log = logging.getLogger("deniable")
_Result = TypeVar("_Result")

_AGAIN_SECONDS = 60.0
"""After something that should not happen, or a file that can not be written, the worker tries again."""
_LOOK_SECONDS = 3600.0
"""The worker looks at the clock at least so often: clocks jump, and machines sleep."""
_LEAST_PATIENCE = 0.2
"""Writing may take so long, however little time a caller has."""


class _Asked(NamedTuple):
    """A metric, as far as recording needs it."""

    check: Callable[[Any], Any]
    start: Callable[[Any], Any]
    merge: Callable[[Any, Any], Any]
    ends: float
    """The first epoch that the metric does not answer for."""


class Client:
    """Records answers of one device to one collection."""

    def __init__(
        self,
        collection: Collection,
        *,
        endpoint: str | None = None,
        state: str | Path | None = None,
        consent: Consent | None = None,
        segment: Mapping[str, str] | None = None,
        credentials: Credentials | None = None,
        strict: bool = False,
        settings: Settings | None = None,
    ) -> None:
        if endpoint is not None and state is None:
            losses.check_forgetful(collection)
        self.collection = collection
        """The collection whose metrics this client answers."""
        self._settings = settings = settings or Settings()
        self._strict = strict
        self._asked = {
            name: _Asked(
                metric.kind.check, metric.reducer.start, metric.reducer.merge, epochs.end_of(metric, collection)
            )
            for name, metric in collection.metrics.items()
            if not metric.sources
        }
        self._said: set[str] = set()
        self._closed = False
        self._orphan = False
        self._state = State(state, settings.clock, self._say)
        self._begin_anew()
        segment_index = self._segment_index(segment or {})
        self._keeper = Keeper(collection, segment_index, settings, self._state, consent, self._say)
        self._sender = Sender(
            endpoint,
            credentials or Credentials(),
            collection=collection,
            settings=settings,
            state=self._state,
            granted=lambda connection: self._keeper.heed(connection) is Consent.GRANTED,
            say=self._say,
        )
        try:
            self._keeper.change(self._keeper.heed)
        except StateError as error:
            self._keeper.consent = consent or Consent.WITHHELD  # what the file remembers decides once it can be read
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
            return
        try:
            check, start, merge, ends = self._asked[metric]
        except Exception:  # noqa: BLE001 - no such name, or whatever something else does when it is looked up
            self._not_asked(metric if type(metric) is str else shown(metric))
            return
        try:
            state = start(check(value))
        except Exception as error:  # noqa: BLE001 - whatever a value does when it is looked at
            what = f"a {type(value).__name__} that its kind does not take"
            known = error if isinstance(error, InvalidValueError) else InvalidValueError(what)
            self._misuse("invalid value", f"{metric}: {what}", known)
            return
        epoch = int(self._settings.clock() // self.collection.epoch_seconds)
        if epoch >= ends or self._closed or self._orphan or keeper.segment is None:
            return
        keeper.add((metric, epoch), state, merge)
        if not self._worker.wake.is_set():
            self._start()

    def flush(self, timeout: float = 5.0) -> bool:
        """End the epoch for what has been recorded so far, and upload it now; whether it was stored in time.

        It is about one epoch, the newest that this client has ended. What waits of older ones leaves at moments of
        its own: sent beside the new one, it would be known to come from the same device.

        What is recorded after a flush for a metric that was answered is refused until the next epoch. Long-running
        applications need no flush: epochs end by themselves.
        """
        end = time.monotonic() + timeout
        clock = self._settings.clock
        try:
            patience = max(timeout, _LEAST_PATIENCE)
            self._write(everything=True, patience=patience)
            epoch = self.collection.epoch_at(clock()) if self._keeper.sealed is None else self._keeper.sealed
            since = (epoch + 1) * self.collection.epoch_seconds
            if not self._sends or self._closed:
                return self._waiting(since) == 0
            self._state.run(lambda connection: outbox.hurry(connection, self.collection.name, since), patience)
            with self._emptied:
                self._worker.hurry()
                self._start()
                done = self._emptied.wait_for(lambda: self._waiting(since) == 0, max(0.0, end - time.monotonic()))
            if not done:
                self._state.run(lambda connection: outbox.calm(connection, self.collection.name, clock()), patience)
            return done
        except StateError as error:
            self._fail(error)
            return False

    def set_consent(self, consent: Consent) -> None:
        """Change what the person has agreed to, for now and for every start to come.

        Withholding erases at once what was recorded and what was not sent. The ledger and what has been answered
        before stay on the device: otherwise coming back would be a way to ask again and again.
        """
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
        """How the client is doing: consent, trouble, what waits, and what has happened how often."""
        counts = self._keeper.counts(self._look(health, {}))
        waiting = self._look(lambda connection: outbox.waiting(connection, self.collection.name)[0], 0)
        now = self._settings.clock()
        trouble = self._trouble or self._look(lambda connection: losses.why(connection, self.collection, now), "")
        return Status(self._keeper.consent, trouble, waiting, counts)

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

    def _not_asked(self, name: str) -> None:
        """Nothing is recorded for a name that the collection does not have, or that is answered from others."""
        known = self.collection.metrics.get(name)
        if known is not None:
            hint = f"{name} is answered from what is recorded for {' and '.join(known.kind.of)}, not for itself"
            self._misuse("invalid value", hint, InvalidValueError(hint))
            return
        close = nearest(name, self._asked)
        hint = f"a metric that the collection does not have{f'; near: {close}' if close else ''}"
        self._misuse("unknown metric", hint, UnknownMetricError(name, close))

    def _misuse(self, what: str, hint: str, error: Exception) -> None:
        """Count a mistake and log it once, or raise it; the error says what was recorded, and the log does not."""
        if self._strict:
            raise error
        self._keeper.count(what)
        if what not in self._said:
            self._said.add(what)
            _log.warning("deniable: %s (strict=True raises it; further ones are only counted)", hint)

    def _fail(self, error: StateError) -> None:
        self._trouble = str(error)
        if self._strict and not self._worker.here and not isinstance(error, BusyError):
            raise error
        self._say(f"{error}: values stay in memory while their epoch lasts, and nothing is answered")

    def _say(self, advice: str) -> None:
        """Log a piece of advice, once in the life of the client."""
        if advice and advice not in self._said:
            self._said.add(advice)
            _log.warning("deniable: %s", advice)

    # What happens behind it.

    def _look(self, work: Callable[[Connection], _Result], otherwise: _Result) -> _Result:
        try:
            return self._state.run(work, PATIENCE)
        except StateError as error:
            self._fail(error)
            return otherwise

    def _waiting(self, since: int) -> int:
        name = self.collection.name
        return self._state.run(lambda connection: outbox.waiting(connection, name, since)[0])

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
            self._sender.send_missed()
        except Exception as error:  # noqa: BLE001 - see below
            self._survive(error)

    def _survive(self, error: Exception) -> None:
        """Telemetry must never end with an application's surprise."""
        if isinstance(error, StateError):
            self._fail(error)
        elif "failed" not in self._said:
            self._said.add("failed")
            _log.error("deniable: the worker failed; it goes on in a minute", exc_info=error)

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
        _, due = self._state.run(lambda connection: outbox.waiting(connection, self.collection.name))
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
        self._state.after_fork_in_child()
        if self._state.path is None:
            self._orphan = True
            self._trouble = "a forked process without a state file collects nothing"
