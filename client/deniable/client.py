"""The client: what an application holds. It records, and everything else happens behind it.

words:
  record    note a value for the current epoch; in memory, and in the state file within a second
  seal      end an epoch: reduce, spend, randomise, queue (see epochs.py)
  worker    the one background thread that writes, seals and uploads

Threads: every method may be called from any thread. Forks: a child has a client that works, with no part of what the
parent has recorded and not yet written; without a state file a child records nothing, for it could not know what
its parent spends. Processes: several can share one state file.
"""

from __future__ import annotations

import atexit
import enum
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from deniable import epochs, outbox
from deniable.collection import Collection
from deniable.errors import DeniableError, InvalidValueError, UnknownMetricError
from deniable.ledger import Charge, charges
from deniable.randomness import WORD, word
from deniable.state import State, count
from deniable.upload import Backoff, Uploader

__all__ = ["Client", "Consent", "Settings"]

_log = logging.getLogger("deniable")


class Consent(enum.Enum):
    """What the person using the device has agreed to."""

    GRANTED = "granted"
    """Collect and upload."""
    PAUSED = "paused"
    """Collect, do not upload."""
    WITHHELD = "withheld"
    """Collect nothing; what was collected is erased."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a client behaves; the defaults suit an application on a person's device."""

    write_behind: float = 1.0
    """Seconds that a recorded value may be in memory only."""
    upload_window: float | None = None
    """Batches leave at a random moment of this many seconds after their epoch; None: a quarter of an epoch."""
    deadline: float = 10.0
    """Seconds that one upload may take."""
    close_timeout: float = 2.0
    """Seconds that `close`, and the interpreter's exit, wait at most for an upload under way."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970-01-01T00:00:00Z."""


class Client:
    """Records answers of one device to one collection."""

    def __init__(
        self,
        collection: Collection,
        *,
        endpoint: str | None = None,
        state: str | Path | None = None,
        consent: Consent = Consent.WITHHELD,
        segment: Mapping[str, str] | None = None,
        strict: bool = False,
        settings: Settings | None = None,
    ) -> None:
        self.collection = collection
        self._segment = collection.segment_index(segment or {})
        self._settings = settings or Settings()
        self._strict = strict
        self._endpoint = endpoint
        self._consent = consent
        self._state = State(state)
        self._reset_threads()
        self._orphan = False
        self._closed = False
        if consent is Consent.WITHHELD:
            self._erase()
        _clients.add(self)

    def _reset_threads(self) -> None:
        self._lock = threading.Lock()
        self._recorded: dict[tuple[str, int], Any] = {}
        self._misused: dict[str, int] = {}
        self._wake = threading.Event()
        self._emptied = threading.Condition(self._lock)
        self._worker: threading.Thread | None = None
        self._uploader: Uploader | None = None
        self._backoff = Backoff()
        self._not_before = 0.0
        self._urgent = False
        self._stopping = False

    # What an application calls.

    def record(self, metric: str, value: Any) -> None:
        """Note a value; never waits for disk or network. A mistake is counted and logged once; raised if strict."""
        if self._consent is Consent.WITHHELD or self._closed or self._orphan:
            return
        try:
            found = self.collection.metric(metric)
            state = found.reducer.start(found.kind.check(value))
        except (UnknownMetricError, InvalidValueError) as error:
            self._misuse(error)
            return
        key = (metric, int(self._settings.clock() // self.collection.epoch_seconds))
        with self._lock:
            known = self._recorded.get(key, self)
            self._recorded[key] = state if known is self else found.reducer.merge(known, state)
        if not self._wake.is_set():
            self._start()

    def flush(self, timeout: float = 5.0) -> bool:
        """End the epoch for what has been recorded so far, and upload it now; whether everything was stored in time.

        What is recorded after a flush for a metric that was answered is refused until the next epoch. Long-running
        applications need no flush: epochs end by themselves.
        """
        deadline = time.monotonic() + timeout
        self._write(everything=True)
        if self._endpoint is None or self._consent is not Consent.GRANTED:
            return self._waiting()[0] == 0
        with self._lock:
            self._urgent, self._not_before = True, 0.0
        self._start()
        with self._emptied:
            while self._urgent and (left := deadline - time.monotonic()) > 0:
                self._emptied.wait(left)
            done, self._urgent = not self._urgent, False
        return done

    def set_consent(self, consent: Consent) -> None:
        """Change what the person has agreed to. Withholding erases at once all that was not sent."""
        self._consent = consent
        if consent is Consent.WITHHELD:
            self._erase()
        self._start()

    def ledger(self) -> list[Charge]:
        """Every epsilon that this device has spent, the oldest first."""
        with self._state.transaction() as connection:
            return charges(connection)

    def status(self) -> dict[str, int]:
        """How often what has happened on this device, and how many batches wait."""
        self._write()
        return self._state.health() | {"waiting": self._waiting()[0]}

    def close(self, timeout: float | None = None) -> None:
        """Write what was recorded and stop; waits at most this long for an upload under way."""
        if self._closed:
            return
        self._closed = True
        self._stopping = True
        self._wake.set()
        uploader, worker = self._uploader, self._worker
        if worker is not None and worker is not threading.current_thread():
            worker.join(self._settings.close_timeout if timeout is None else timeout)
            if uploader is not None:
                uploader.close()
            worker.join(1.0)
        self._write()
        if worker is None or not worker.is_alive():
            self._state.close()
        _clients.discard(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # What happens behind it.

    def _misuse(self, error: DeniableError) -> None:
        if self._strict:
            raise error
        what = "unknown metric" if isinstance(error, UnknownMetricError) else "invalid value"
        with self._lock:
            first = what not in self._misused
            self._misused[what] = self._misused.get(what, 0) + 1
        if first:
            _log.warning("deniable: %s (further ones are only counted; see Client.status)", error)

    def _erase(self) -> None:
        with self._lock:
            self._recorded.clear()
        with self._state.transaction() as connection:
            epochs.erase(connection)
            outbox.clear(connection)

    def _waiting(self) -> tuple[int, float | None]:
        with self._state.transaction() as connection:
            return outbox.waiting(connection)

    def _start(self) -> None:
        with self._lock:
            if self._worker is None and not self._closed and not self._orphan:
                self._worker = threading.Thread(target=self._run, name="deniable", daemon=True)
                self._worker.start()
        self._wake.set()

    def _run(self) -> None:
        wait = self._settings.write_behind
        while not self._stopping:
            try:
                self._write()
                wait = self._upload()
            except Exception:  # noqa: BLE001 - telemetry must never end with an application's surprise
                _log.exception("deniable: the worker failed; it goes on in a minute")
                wait = 60.0
            self._pause(wait)
        if self._uploader is not None:
            self._uploader.close()

    def _pause(self, wait: float) -> None:
        """Sleep; something recorded shortens the sleep to the write-behind time, a flush or a close ends it."""
        if self._wake.wait(wait) and not self._urgent and not self._stopping:
            end = time.monotonic() + self._settings.write_behind
            while not (self._urgent or self._stopping) and time.monotonic() < end:
                time.sleep(0.01)
        self._wake.clear()

    def _write(self, *, everything: bool = False) -> None:
        """Move what was recorded into the file, and seal the epochs that have ended, or all of them."""
        settings = self._settings
        now = settings.clock()
        with self._lock:
            recorded, self._recorded = self._recorded, {}
            misused, self._misused = self._misused, {}
        before = self.collection.epoch_at(now) + everything
        window = settings.upload_window
        if window is None:
            window = self.collection.epoch_seconds / 4
        with self._state.transaction() as connection:
            for what, times in misused.items():
                count(connection, what, times)
            if self._consent is not Consent.WITHHELD:
                epochs.keep(connection, self.collection, recorded)
                epochs.seal(connection, self.collection, before, self._segment, now + window * word() / WORD)

    def _upload(self) -> float:
        """Send what is due; the seconds until there is something to do again."""
        epoch = self.collection.epoch_seconds
        to_epoch_end = epoch - self._settings.clock() % epoch + 1.0
        while not self._stopping and self._endpoint is not None and self._consent is Consent.GRANTED:
            now = self._settings.clock()
            wait = self._not_before - time.monotonic()
            if wait > 0:
                return min(wait, to_epoch_end)
            with self._state.transaction() as connection:
                batch = outbox.take(connection, now, float("inf") if self._urgent else now)
                waiting, due = outbox.waiting(connection)
            if batch is not None:
                self._send(batch)
                continue
            if waiting == 0:
                with self._emptied:
                    self._urgent = False
                    self._emptied.notify_all()
            return min(to_epoch_end, max(0.1, due - now) if due is not None else to_epoch_end)
        return to_epoch_end

    def _send(self, batch: outbox.Batch) -> None:
        assert self._endpoint is not None
        if self._uploader is None:
            self._uploader = Uploader(self._endpoint, self._settings.deadline)
        outcome = self._uploader.send(batch)
        with self._state.transaction() as connection:
            count(connection, outcome.counted_as)
            if outcome.keep:
                wait = self._backoff.failed(outcome.retry_after)
                self._not_before = time.monotonic() + wait
                outbox.put_back(connection, batch.batch_id, self._settings.clock())
            else:
                self._backoff.reset()
                outbox.remove(connection, batch.batch_id)
        if outcome.advice:
            _log.warning("deniable: %s", outcome.advice)

    def _after_fork(self) -> None:
        """In the child: what the parent recorded is the parent's, and so are its thread, channel and connection."""
        self._reset_threads()
        self._state.after_fork()
        self._orphan = self._state.path is None


_clients: weakref.WeakSet[Client] = weakref.WeakSet()


def _close_all() -> None:
    for client in list(_clients):
        client.close()


def _all_after_fork() -> None:
    for client in list(_clients):
        client._after_fork()  # noqa: SLF001


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_all_after_fork)
