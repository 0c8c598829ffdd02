"""The client: what an application holds. It records, and everything else happens behind it.

words:
  record    note a value for the current epoch; in memory, and in the state file within a second
  seal      end an epoch: reduce, spend, randomise, queue (see epochs.py)
  worker    the one background thread that writes, seals and uploads
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
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from deniable import consent as consents
from deniable import epochs, outbox, processes, transcript, upload
from deniable._section import nearest
from deniable.collection import Collection
from deniable.consent import Consent
from deniable.errors import InvalidValueError, StateError, UnknownMetricError
from deniable.kinds._values import shown
from deniable.ledger import Charge, charges, settle
from deniable.state import BusyError, State, count, health, lost, start_over
from deniable.transcript import Entry
from deniable.upload import Credentials

__all__ = ["Client", "Settings", "Status"]

_log = logging.getLogger("deniable")
_reports = logging.getLogger("deniable.reports")
_Result = TypeVar("_Result")

_AGAIN_SECONDS = 60.0
"""After something that should not happen, or a file that can not be written, the worker tries again."""
_LOOK_SECONDS = 3600.0
"""The worker looks at the clock at least so often: clocks jump, and machines sleep."""
_LEASE_SECONDS = 30.0
"""Beyond the deadline, another process leaves a batch alone."""
_PATIENCE = 1.0
"""The application's threads wait so long for a state file that another process holds."""
_LEAST_PATIENCE = 0.2
"""Writing may take so long, however little time a caller has."""
_LOST_CONSENT = (
    "the state file was lost, and with it what this device's person has said: nothing is collected until "
    "Client.set_consent() says it again, or Client.start_over() that the application's word is enough"
)
_LOST_LEDGER = (
    "what this device has spent and remembered was lost with its state file: what has a memory, a delta or a "
    "lifetime's budget is not answered until Client.start_over() is called, with the person's consent"
)
_LEAST_LONGEST = 900.0
"""Waits between two tries of a batch grow up to the upload window, or up to this if the window is shorter."""
_LAST_PART = 0.25
"""Of the time that a close may take, what is left when an upload under way is cut short."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a client behaves; the defaults suit an application on a person's device."""

    write_behind: float = 1.0
    """Seconds that a recorded value may be in memory only."""
    upload_window: float | None = None
    """Batches leave at a random moment of this many seconds after their epoch; None: a quarter of an epoch. Between
    two tries a batch waits for about as long at most, or for 15 minutes if that is more. With 0, which is for tests,
    batches of several epochs leave together."""
    deadline: float = 10.0
    """Seconds that one upload may take."""
    close_timeout: float = 2.0
    """Seconds that `close`, and the interpreter's exit, wait at most for an upload under way."""
    queue_limit: int = 200
    """Batches that may wait; of more, the oldest are dropped and counted."""
    accept_late: int = 7
    """For how many epochs after its end an epoch is still sent, which aggregators accept for as long; an older batch
    is dropped and counted."""
    transcript_days: float = 90.0
    """For how long the transcript shows what has been sent."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970-01-01T00:00:00Z."""


@dataclass(frozen=True, slots=True)
class Status:
    """How a client is doing."""

    consent: Consent
    """What the person has agreed to."""
    trouble: str
    """Why something can not be collected or answered at the moment, and what helps; empty where all is well."""
    waiting: int
    """Batches that have not been acknowledged."""
    counts: Mapping[str, int]
    """What has happened to this device's answers, such as "stored", and how often, in the life of its state file."""


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
            _check_forgetful(collection)
        self.collection = collection
        """The collection whose metrics this client answers."""
        self._settings = settings or Settings()
        self._endpoint = endpoint
        self._credentials = credentials or Credentials()
        self._strict = strict
        self._given = consent
        self._consent = Consent.WITHHELD
        self._asked = {
            name: _Asked(
                metric.kind.check, metric.reducer.start, metric.reducer.merge, epochs.end_of(metric, collection)
            )
            for name, metric in collection.metrics.items()
            if not metric.sources
        }
        self._said: set[str] = set()
        self._state = State(state, self._settings.clock, self._say)
        self._closed = False
        self._orphan = False
        self._reset_threads()
        self._segment = self._segment_index(segment or {})
        try:
            self._change(self._heed)
        except StateError as error:
            self._consent = consent or Consent.WITHHELD  # what the file remembers decides once it can be read
            self._fail(error)
        processes.look_after(self)

    def _reset_threads(self) -> None:
        self._lock = threading.RLock()  # a signal handler may record in the middle of a record
        self._writing = threading.Lock()
        self._recorded: dict[tuple[str, int], Any] = {}
        self._counts: dict[str, int] = {}
        self._trouble = ""
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._emptied = threading.Condition()
        self._worker: threading.Thread | None = None
        self._uploader: upload.Uploader | None = None
        self._stopping = False
        self._sealed: int | None = None
        self._missed: deque[bytes] = deque(maxlen=self._settings.queue_limit)

    # What an application calls.

    def record(self, metric: str, value: Any) -> None:
        """Note a value; never waits for disk or network. A mistake is counted and logged once; raised if strict."""
        if self._consent is Consent.WITHHELD:
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
        if epoch >= ends or self._closed or self._orphan or self._segment is None:
            return
        key = (metric, epoch)
        with self._lock:
            recorded = self._recorded
            recorded[key] = merge(recorded[key], state) if key in recorded else state
        if not self._wake.is_set():
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
            epoch = self.collection.epoch_at(clock()) if self._sealed is None else self._sealed
            since = (epoch + 1) * self.collection.epoch_seconds
            if self._endpoint is None or self._consent is not Consent.GRANTED or self._closed:
                return self._waiting(since) == 0
            self._state.run(lambda connection: outbox.hurry(connection, self.collection.name, since), patience)
            with self._emptied:
                self._hurry.set()
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
        self._given = consent
        try:
            self._change(lambda connection: consents.remember(connection, consent))
            self._given = None
            if consent is Consent.WITHHELD:
                _log.info("deniable: consent withheld; what was not sent is erased, the ledger and the memo are kept")
        except StateError as error:
            self._fail(error)
        if self._uploader is not None and consent is not Consent.GRANTED:
            self._uploader.cut()
        self._start()

    def start_over(self) -> None:
        """Go on although the state file was damaged, or removed in use: budgets and memories begin at nothing.

        What was spent, remembered and said before is not known any more. Until this is called nothing is collected
        without a new word of the person's (`set_consent`), and what has a memory, a delta or a lifetime's budget is
        not answered. Ask the person first: their device may tell more than it has promised to, or they have said no.
        """
        try:
            self._change(start_over)
        except StateError as error:
            self._fail(error)

    @property
    def consent(self) -> Consent:
        """What the person has agreed to, as far as this process knows."""
        return self._consent

    def ledger(self) -> list[Charge]:
        """Every epsilon that this device has spent, the oldest first."""
        return self._look(charges, [])

    def transcript(self) -> list[Entry]:
        """What has left this device, in words, the oldest first."""
        return self._look(transcript.entries, [])

    def status(self) -> Status:
        """How the client is doing: consent, trouble, what waits, and what has happened how often."""
        counts: dict[str, int] = self._look(health, {})
        with self._lock:
            for what, times in self._counts.items():
                counts[what] = counts.get(what, 0) + times
        waiting = self._look(self._count_waiting, 0)
        trouble = self._trouble or self._look(self._loss, "")
        return Status(self._consent, trouble, waiting, counts)

    def close(self, timeout: float | None = None) -> None:
        """Write what was recorded and stop; waits at most this long, and for an upload under way no longer."""
        if self._closed:
            return
        allowed = self._settings.close_timeout if timeout is None else timeout
        end = time.monotonic() + allowed
        self._closed = self._stopping = True
        self._hurry.set()
        self._wake.set()
        worker = self._worker
        if worker is not None and worker is not threading.current_thread():
            worker.join(allowed * (1 - _LAST_PART))
            if (uploader := self._uploader) is not None:
                uploader.cut()
            worker.join(max(0.0, end - time.monotonic()))
        if self._recorded or self._counts:
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
        with self._lock:
            self._counts[what] = self._counts.get(what, 0) + 1
        if what not in self._said:
            self._said.add(what)
            _log.warning("deniable: %s (strict=True raises it; further ones are only counted)", hint)

    def _fail(self, error: StateError) -> None:
        self._trouble = str(error)
        mine = threading.current_thread() is not self._worker
        if self._strict and mine and not isinstance(error, BusyError):
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
            return self._state.run(work, _PATIENCE)
        except StateError as error:
            self._fail(error)
            return otherwise

    def _loss(self, connection: Connection) -> str:
        """Why nothing, or not everything, is answered since the state file was lost; empty where all is well."""
        if consents.is_lost(connection):
            return _LOST_CONSENT
        return _LOST_LEDGER if _lasting(self.collection) and lost(connection) else ""

    def _count_waiting(self, connection: Connection) -> int:
        return outbox.waiting(connection, self.collection.name)[0]

    def _waiting(self, since: int) -> int:
        name = self.collection.name
        return self._state.run(lambda connection: outbox.waiting(connection, name, since)[0])

    def _start(self) -> None:
        with self._lock:
            if self._worker is None and not self._closed and not self._orphan:
                worker = threading.Thread(target=self._run, name="deniable", daemon=True)
                try:
                    worker.start()
                except RuntimeError:  # the interpreter is ending, or has no thread left
                    return
                self._worker = worker
                processes.close_with_multiprocessing()
        self._wake.set()

    def _run(self) -> None:
        while not self._stopping:
            wait = _AGAIN_SECONDS
            with self._surviving():
                self._write()
                wait = self._upload()
            # Something recorded shortens the wait to the write-behind time; a flush or a close ends it.
            if self._wake.wait(wait):
                self._hurry.wait(self._settings.write_behind)
            self._wake.clear()
            self._hurry.clear()
        with self._surviving():
            self._send_missed()

    @contextmanager
    def _surviving(self) -> Iterator[None]:
        try:
            yield
        except StateError as error:
            self._fail(error)
        except Exception:  # noqa: BLE001 - telemetry must never end with an application's surprise
            if "failed" not in self._said:
                self._said.add("failed")
                _log.exception("deniable: the worker failed; it goes on in a minute")

    def _change(self, work: Callable[[Connection], None]) -> None:
        """Change what the person has agreed to, and do at once what follows from it."""
        self._consent = self._consent.and_(self._given)

        def changed(connection: Connection) -> None:
            work(connection)
            self._heed(connection)

        self._state.run(changed, _PATIENCE)
        if self._consent is Consent.WITHHELD:
            with self._lock:
                self._recorded.clear()

    def _heed(self, connection: Connection) -> None:
        """Find out what the person has agreed to, in whichever process; erase what they have not."""
        recalled = consents.recall(connection)
        consent = (recalled or self._given or Consent.WITHHELD).and_(self._given)
        if consent is Consent.WITHHELD:
            epochs.withhold(connection)
            self._state.erase_set_aside(float("inf"))
        self._say(self._loss(connection))
        self._consent = consent

    def _write(self, *, everything: bool = False, patience: float = 10.0) -> None:
        """Move what was recorded into the file, and seal the epochs that have ended, or all of them."""
        if not self._writing.acquire(timeout=max(0.0, patience)):
            raise BusyError("another thread takes long to write")
        try:  # one at a time, so that what was recorded first is merged first
            with self._lock:
                recorded, self._recorded = self._recorded, {}
                counts, self._counts = self._counts, {}
            try:
                sealed = self._state.run(
                    partial(self._move, recorded=recorded, counts=counts, everything=everything), patience
                )
            except BaseException:
                self._put_back(recorded, counts)
                raise
            self._sealed = self._sealed if sealed is None else sealed
            if self._segment is not None:
                self._trouble = ""
        finally:
            self._writing.release()

    def _move(
        self,
        connection: Connection,
        recorded: Mapping[tuple[str, int], Any],
        counts: Mapping[str, int],
        everything: bool,
    ) -> int | None:
        """What `_write` does, within a transaction; the newest epoch that was sealed, if one was."""
        for what, times in counts.items():
            count(connection, what, times)
        self._heed(connection)
        settings, collection = self._settings, self.collection
        now = settings.clock()
        outbox.give_up(connection, collection.name, now - settings.accept_late * collection.epoch_seconds)
        if self._consent is Consent.WITHHELD or self._segment is None:
            return None
        epochs.keep(connection, collection, recorded)
        sealing = epochs.Sealing(self._segment, self._window, settings.queue_limit)
        sealed = epochs.seal(connection, collection, now, sealing, everything=everything)
        transcript.erase_before(connection, now - settings.transcript_days * 86400)
        self._state.erase_set_aside(now - now % collection.epoch_seconds)
        return max((epoch for epoch, _ in sealed), default=None)

    @property
    def _window(self) -> float:
        window = self._settings.upload_window
        return self.collection.epoch_seconds / 4 if window is None else window

    def _put_back(self, recorded: Mapping[tuple[str, int], Any], counts: Mapping[str, int]) -> None:
        """Keep what could not be written while its epoch lasts; values of an epoch that has ended are erased."""
        current = self.collection.epoch_at(self._settings.clock())
        with self._lock:
            for what, times in counts.items():
                self._counts[what] = self._counts.get(what, 0) + times
            for key, state in recorded.items():
                if key[1] < current:
                    self._counts["lost before they were written"] = (
                        self._counts.get("lost before they were written", 0) + 1
                    )
                elif self._consent is not Consent.WITHHELD:
                    later = self._recorded.get(key)
                    self._recorded[key] = state if later is None else self._asked[key[0]].merge(state, later)

    def _upload(self) -> float:
        """Send what is due; the seconds until there is something to do again."""
        if self._endpoint is not None and self._consent is Consent.GRANTED:
            batch = self._state.run(self._take)
            while batch is not None:
                self._send(self._endpoint, batch)
                batch = None if self._stopping else self._state.run(self._take)
            with self._emptied:
                self._emptied.notify_all()
        _, due = self._state.run(lambda connection: outbox.waiting(connection, self.collection.name))
        now, epoch = self._settings.clock(), self.collection.epoch_seconds
        wait = min(epoch - now % epoch + 1.0, _LOOK_SECONDS)
        if due is None or self._endpoint is None or self._consent is not Consent.GRANTED:
            return wait
        return min(wait, max(0.05, due - now))

    def _send(self, endpoint: str, batch: outbox.Batch) -> None:
        with upload.uploading(endpoint, self._credentials, self._settings.deadline) as uploader:
            self._uploader = uploader
            outcome = uploader.send(batch.request)
        self._state.run(partial(self._note, batch_id=batch.batch_id, outcome=outcome))

    def _send_missed(self) -> None:
        """Send one of the batches whose moment was missed and will be again, now that the program ends.

        Programs that run for moments would never send anything otherwise; but nothing follows another batch within
        a window, be it one of a flush. At the interpreter's exit it is too late to load gRPC.
        """
        if not self._missed or self._endpoint is None or not threading.main_thread().is_alive():
            return
        batch = self._state.run(partial(self._take, ending=True))
        if batch is not None:
            self._send(self._endpoint, batch)

    def _take(self, connection: Connection, *, ending: bool = False) -> outbox.Batch | None:
        """The next batch that is due, unless the person has changed their mind, here or in another process."""
        self._heed(connection)
        if self._consent is not Consent.GRANTED:
            return None
        name, now = self.collection.name, self._settings.clock()
        lease = self._settings.deadline + _LEASE_SECONDS
        if ending:
            batch = outbox.take_missed(connection, self._missed, now, self._window, lease)
        else:
            self._missed += outbox.missed(connection, name, now, self._window)
            batch = outbox.take(connection, name, now, lease)
        if batch is not None and _reports.isEnabledFor(logging.DEBUG):
            for entry in transcript.of_batch(connection, batch.batch_id):
                _reports.debug("deniable: sending %s", entry)
        return batch

    def _note(self, connection: Connection, batch_id: bytes, outcome: upload.Outcome | None) -> None:
        """Write down what became of a batch; what has become due meanwhile gets another moment."""
        name, now = self.collection.name, self._settings.clock()
        if outcome is None:  # cut short; it may have arrived
            outbox.release(connection, batch_id, now)
            return
        if outcome.keep:
            longest = max(self._window, _LEAST_LONGEST)
            wait = upload.backoff(outbox.failed(connection, batch_id), outcome.retry_after, longest)
            outbox.release(connection, batch_id, now + wait)
            if outcome.unstored:
                outbox.renew(connection, batch_id)
        else:
            outbox.remove(connection, batch_id)
            stored = outcome.counted_as.startswith("stored")
            start = transcript.mark(connection, batch_id, transcript.STORED if stored else transcript.REFUSED)
            if stored and start is not None:
                settle(connection, start)
        count(connection, outcome.counted_as)
        self._say(outcome.advice)
        outbox.missed(connection, name, now, self._window, busy=True)

    # Forks (see processes.py).

    def _before_fork(self) -> None:
        self._state.before_fork()

    def _after_fork_in_parent(self) -> None:
        self._state.after_fork_in_parent()

    def _after_fork_in_child(self) -> None:
        """Begin anew in a child: what was recorded is the parent's, and so are its thread and its connections."""
        self._reset_threads()
        self._state.after_fork_in_child()
        if self._state.path is None:
            self._orphan = True
            self._trouble = "a forked process without a state file collects nothing"


def _lasting(collection: Collection) -> list[str]:
    """What of a collection needs a file that remembers."""
    lasting = [f"memoize of {metric.name}" for metric in collection.metrics.values() if metric.memoize]
    lasting += ["the budget of a lifetime"] if collection.budget.lifetime is not None else []
    return lasting + [f"the delta of {metric.name}" for metric in collection.metrics.values() if metric.kind.delta]


def _check_forgetful(collection: Collection) -> None:
    """Refuse promises that a device that forgets with every start can not keep."""
    if broken := _lasting(collection):
        raise ValueError(f"state: name a file, or {' and '.join(broken)} would be forgotten with every start")
    _log.info("deniable: without a state file every start spends anew, in the same epoch too")
