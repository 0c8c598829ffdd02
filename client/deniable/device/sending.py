"""Sending: batches whose moment has come leave one at a time, each on a connection of its own.

words:
  take     the next batch that is due, with a lease, so that no other process sends it too
  note     write down what became of a batch: stored, refused, or waiting for another try
  missed   whose moment had passed when this process looked, or passed while another batch was under way: it has got
           a new moment (see outbox.py), and one of these may leave when the program ends
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from sqlite3 import Connection

from deniable.collection import Collection
from deniable.device import outbox, transcript
from deniable.device.consent import Consent
from deniable.device.keeping import Keeper
from deniable.device.ledger import settle
from deniable.device.settings import Settings, leeway_of
from deniable.device.state import State, count
from deniable.wire import gate
from deniable.wire.credentials import Credentials, is_loopback
from deniable.wire.outcome import Outcome, backoff
from deniable.wire.upload import Uploader

__all__ = ["Sender"]

_log = logging.getLogger("deniable")
_reports = logging.getLogger("deniable.reports")

_LEASE_SECONDS = 30.0
"""Beyond the deadline, another process leaves a batch alone."""
_LEAST_LONGEST = 900.0
"""Waits between two tries of a batch grow up to its leeway, or up to this if the leeway is shorter."""


class Sender:
    """Sends the batches of one collection to one aggregator, on whichever thread calls it; cut short from any."""

    def __init__(
        self,
        endpoint: str | None,
        credentials: Credentials | None,
        collection: Collection,
        settings: Settings,
        state: State,
        keeper: Keeper,
        say: Callable[[str], None],
    ) -> None:
        self.endpoint = endpoint
        """Where the aggregator is; None: nothing is ever sent."""
        self._credentials = credentials or Credentials()
        self._collection = collection
        self._settings = settings
        self._state = state
        self._keeper = keeper
        self._say = say
        self._leeway = leeway_of(settings, collection)
        self.begin_anew()

    def begin_anew(self) -> None:
        """Begin with nothing under way, as after a fork."""
        self._uploader: Uploader | None = None
        self.last_error = ""
        """Why the last try failed; empty where it did not."""
        self._meanwhile = ""
        self.missed: deque[bytes] = deque(maxlen=self._settings.queue_limit)
        """Batches that have got a new moment, the latest ones."""

    @property
    def failure(self) -> str:
        """Why the last try failed, and what somebody who waits may look at; empty where it did not."""
        return ": ".join(filter(None, (self.last_error, self._meanwhile)))

    def send_next(self) -> bool:
        """Send the next batch that is due; False where there is none, or no longer the person's consent."""
        return self._send(self._state.run(self._take))

    def send_missed(self) -> None:
        """Send one of the batches whose moment was missed and will be again, now that the program ends.

        Programs that run for moments would never send anything otherwise; but nothing follows another batch within
        its leeway, be it one of a flush. At the interpreter's exit it is too late to load gRPC.
        """
        if self.missed and self.endpoint is not None and threading.main_thread().is_alive():
            self._send(self._state.run(partial(self._take, ending=True)))

    def waiting(self, since: int) -> int:
        """How many batches of epochs that end then or later wait."""
        name = self._collection.name
        return self._state.run(lambda connection: outbox.waiting(connection, name, since)[0])

    def due(self) -> float | None:
        """When the first batch that waits may leave; None where none waits."""
        return self._state.run(lambda connection: outbox.waiting(connection, self._collection.name)[1])

    def hurry(self, since: int, patience: float) -> None:
        """Let the batches of epochs that end then or later leave at once."""
        self._state.run(lambda connection: outbox.hurry(connection, self._collection.name, since), patience)

    def calm(self, patience: float) -> None:
        """End the hurry: nobody waits any longer for what has not left."""
        now = self._settings.clock()
        self._state.run(lambda connection: outbox.calm(connection, self._collection.name, now), patience)

    def mistaken(self, error: Exception) -> bool:  # noqa: ARG002 - it says what was recorded
        """Whether a mistake is shown to somebody: it is not."""
        return False

    def cut(self) -> None:
        """End an upload under way at once."""
        if (uploader := self._uploader) is not None:
            uploader.cut()

    def _send(self, batch: outbox.Batch | None) -> bool:
        if batch is None or self.endpoint is None:
            return False
        with gate.uploading(self.endpoint, self._credentials, self._settings.deadline) as uploader:
            self._uploader = uploader
            outcome = uploader.send(batch.request)
        self._state.run(partial(self._note, batch_id=batch.batch_id, outcome=outcome))
        return True

    def _take(self, connection: Connection, *, ending: bool = False) -> outbox.Batch | None:
        """The next batch that is due, unless the person has changed their mind, here or in another process."""
        if self._keeper.heed(connection) is not Consent.GRANTED:
            return None
        name, now = self._collection.name, self._settings.clock()
        lease = self._settings.deadline + _LEASE_SECONDS
        if ending:
            batch = outbox.take_missed(connection, self.missed, now, self._leeway, lease)
        else:
            self.missed += outbox.missed(connection, name, now, self._leeway)
            batch = outbox.take(connection, name, now, lease)
        if batch is not None and _reports.isEnabledFor(logging.DEBUG):
            for entry in transcript.of_batch(connection, batch.batch_id):
                _reports.debug("deniable: sending %s", entry)
        return batch

    def _note(self, connection: Connection, batch_id: bytes, outcome: Outcome | None) -> None:
        """Write down what became of a batch; what has become due meanwhile gets another moment."""
        now = self._settings.clock()
        if outcome is None:  # cut short; it may have arrived
            outbox.release(connection, batch_id, now)
            return
        if outcome.keep:
            longest = max(self._leeway, _LEAST_LONGEST)
            wait = backoff(outbox.failed(connection, batch_id), outcome.retry_after, longest)
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
        self._tell(outcome)
        outbox.missed(connection, self._collection.name, now, self._leeway, busy=True)

    def _tell(self, outcome: Outcome) -> None:
        """Keep, for whoever asks, why a try has failed."""
        self._meanwhile = outcome.meanwhile
        if outcome.counted_as.startswith("stored"):
            self.last_error = ""
            return
        how = "" if is_loopback(self.endpoint or "") and self._credentials.roots is None else " by TLS"
        told = f"{self.endpoint}: {outcome.counted_as}{how}" + (f": {outcome.advice}" if outcome.advice else "")
        if told != self.last_error:
            self.last_error = told
            _log.info("deniable: %s", told)
