"""Debugging: what a client would report is shown to whoever develops its application, and reported to nobody.

words:
  debug client   keeps its state in memory and has no aggregator: it spends nothing of an installation's, whose state
                 file is asked for the person's consent alone, and it is counted nowhere
  debug view     what `deniable serve --debug-view` holds of debug clients: in memory, for its own account
  show           seal what the epoch has so far, as if it ended now, tell the view what would leave, beside what was
                 recorded, and undo the sealing: what is recorded next is added to the same epoch
  place          the view's socket, a file of the account's own: no other account and no other machine is there

A debug client is drawn for every epoch, and tells how often a device of its collection is.

What was recorded goes to that place as it is, and nowhere else. Where a release debugs by accident nobody listens
there: nothing leaves, nothing is spent, and the log says so at every start.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from deniable.collection import Collection
from deniable.device import epochs, outbox, statefile, transcript
from deniable.device.consent import Consent, recall
from deniable.device.sending import Sender
from deniable.device.state import reading
from deniable.errors import StateError
from deniable.wire.credentials import Credentials

__all__ = ["LONGEST", "TAKEN", "DebugSender", "agreed", "check_peer", "place"]

LONGEST = 1 << 20
"""Bytes of what is told a view at once, the end of the line included."""
TAKEN = b"shown\n"
"""What a view answers."""
_AGAIN_SECONDS = 2.0
"""A view that is not there is looked for so often: it may be started after the application."""
_MOST_TEXT = 1000
_MOST_MISTAKES = 20
_CREDENTIALS = struct.Struct("iII")
"""Process, account and group of who is at a socket's other end, as Linux tells them."""
_HELP = "`deniable serve COLLECTION --debug-view`, on the same account, is one"


def place() -> Path:
    """Where the debug view of this account listens."""
    return statefile.state_path("deniable").with_name("debug-view")


def check_peer(connection: socket.socket) -> None:
    """An OSError where another account is at the other end, as the kernel has it: a name says who made the file, and
    not who answers there. On systems that do not tell (they have no SO_PEERCRED), the name is all there is."""
    if hasattr(socket, "SO_PEERCRED"):
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, account, _ = _CREDENTIALS.unpack(told)
        if account != os.geteuid():
            raise OSError(f"at the other end is another account ({account})")


def agreed(path: str | Path | None, given: Consent | None) -> tuple[Consent | None, str]:
    """What the person has agreed to, as far as the installation's file has it, and what is to be told of that.

    The file is read, and never begun or changed. One that can not be read may have a no in it.
    """
    if path is None or not os.path.lexists(whole := statefile.absolute(path)):
        return given, ""
    try:
        with reading(whole) as connection:
            recalled = recall(connection)
    except StateError as error:
        return Consent.WITHHELD, f"{error}: consent counts as withheld"
    return given if recalled is None else recalled.and_(given), ""


class DebugSender(Sender):
    """Shows what would be sent, on whichever thread calls it, instead of sending it."""

    def __init__(
        self,
        allowed: Callable[[], tuple[Consent | None, str]],
        sample: Fraction,
        endpoint: str | None,  # noqa: ARG002
        credentials: Credentials | None,  # noqa: ARG002
        *others: Any,
    ) -> None:
        super().__init__(_where(), None, *others)
        self._allowed = allowed
        self._sample = float(sample)
        self._program = os.path.basename((getattr(sys, "argv", None) or [""])[0]) or "python"

    def begin_anew(self) -> None:
        """Begin with nothing to show, as after a fork."""
        super().begin_anew()
        self._shown = 0
        self._mistakes: deque[str] = deque(maxlen=_MOST_MISTAKES)
        self._connection: socket.socket | None = None
        self._cut = False

    def mistaken(self, error: Exception) -> bool:
        """Have the view show what is wrong with something that was recorded."""
        self._mistakes.append(str(error)[:_MOST_TEXT])
        return True

    def send_next(self) -> bool:
        """Show what has been recorded, if there is anything new; never is there more to do at once."""
        self._cut = False
        self._keeper.allowed, unread = self._allowed()  # the person may have said another word meanwhile
        self._say(unread)
        moved, mistakes = self._keeper.moved, list(self._mistakes)
        if self.waiting(0) and (told := self._state.run(self._told)) is not None:
            try:
                self._hand_over(json.dumps(told | {"mistakes": mistakes}).encode() + b"\n")
            except OSError as error:
                missing = isinstance(error, FileNotFoundError | ConnectionRefusedError)
                why = "nobody listens there" if missing else error.strerror or str(error)
                self.last_error = f"{self.endpoint}: no debug view: {why}; {_HELP}"
                self._say(self.last_error)
                return False
            self.last_error, self._shown = "", moved
            for _ in mistakes:
                self._mistakes.popleft()
        return False

    def send_missed(self) -> None:
        """Show what has not been shown, now that the program ends, unless there is no time left for it."""
        if not self._cut:
            self.send_next()

    def waiting(self, since: int) -> int:  # noqa: ARG002 - all is of the epoch that lasts
        """Whether something has not been shown: 1 or 0."""
        return int(self._shown != self._keeper.moved or bool(self._mistakes))

    def due(self) -> float | None:
        """When what was not shown is tried again; None where all is."""
        return self._settings.clock() + _AGAIN_SECONDS if self.waiting(0) else None

    def hurry(self, since: int, patience: float) -> None:
        """Nothing waits for a moment of its own."""

    def calm(self, patience: float) -> None:
        """Nothing was hurried."""

    def cut(self) -> None:
        """End what is under way at once."""
        self._cut = True
        if (connection := self._connection) is not None:
            with suppress(OSError):  # it has ended
                connection.shutdown(socket.SHUT_RDWR)

    def _told(self, connection: Connection) -> dict[str, Any] | None:
        """What would leave if the epoch ended now, in words; None without the person's consent."""
        segment, consent = self._keeper.segment, self._keeper.heed(connection)
        if consent is Consent.WITHHELD:
            self._mistakes.clear()
            self._shown = self._keeper.moved  # it is erased: nobody waits for it to be shown
        if segment is None or consent is not Consent.GRANTED:
            return None
        outbox.clear(connection)  # what an epoch's end has queued
        now, collection, refused = self._settings.clock(), self._collection, dict[str, str]()
        recorded = _recorded(connection, collection)
        connection.execute("SAVEPOINT shown")
        try:
            sealing = epochs.Sealing(segment, 0.0, self._settings.queue_limit, refused.__setitem__)
            sealed = epochs.seal(connection, collection, now, sealing, everything=True)
            batches = connection.execute("SELECT batch_id, length(request) FROM queue").fetchall()
            entries = [entry for batch_id, _ in batches for entry in transcript.of_batch(connection, batch_id)]
        finally:
            connection.execute("ROLLBACK TO shown")
            connection.execute("RELEASE shown")
        seconds = collection.epoch_seconds
        return {
            "collection": collection.name,
            "digest": f"{collection.digest:016x}",
            "program": self._program[:_MOST_TEXT],
            "process": os.getpid(),
            "start": max((epoch for epoch, _ in sealed), default=collection.epoch_at(now)) * seconds,
            "seconds": seconds,
            "segment": _segment(collection, segment),
            "bytes": sum(length for _, length in batches),
            "budget": float(collection.budget.epoch),
            "sample": self._sample,
            "reports": sorted(
                (_report(collection, recorded, entry) for entry in entries), key=lambda one: one["metric"]
            ),
            "refused": {metric: why[:_MOST_TEXT] for metric, why in refused.items()},
        }

    def _hand_over(self, line: bytes) -> None:
        """Have the view take a line; an OSError where it does not."""
        where = self.endpoint or ""
        if not hasattr(socket, "AF_UNIX"):
            raise OSError("this platform has no sockets that are files")
        if len(line) > LONGEST:
            raise OSError("there is too much to be shown at once")
        found = os.lstat(where)
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
            raise OSError("what is there is not this account's")
        with socket.socket(socket.AF_UNIX) as connection:
            self._connection = connection
            connection.settimeout(self._settings.deadline)
            connection.connect(where)
            check_peer(connection)  # what is there may be another file than the one that was looked at
            connection.sendall(line)
            if connection.recv(len(TAKEN)) != TAKEN:
                raise OSError("what is there does not take it")


def _where() -> str:
    try:
        return str(place())
    except StateError as error:  # an account without a home
        return str(error)


def _recorded(connection: Connection, collection: Collection) -> dict[str, Any]:
    """What the values that the file has come to so far, by metric; of one that is fed, those of its sources."""
    rows = connection.execute("SELECT metric, state FROM raw WHERE collection = ?", (collection.name,))
    values = {name: collection.metrics[name].reducer.finish(json.loads(state)) for name, state in rows}
    fed = {name: metric.kind.of for name, metric in collection.metrics.items() if metric.sources}
    for name, sources in fed.items():
        if values.keys() >= set(sources):
            values[name] = {source: values[source] for source in sources}
    return values


def _report(collection: Collection, recorded: Mapping[str, Any], entry: transcript.Entry) -> dict[str, Any]:
    return {
        "metric": entry.metric,
        "asked": collection.metrics[entry.metric].description[:_MOST_TEXT],
        "recorded": repr(recorded.get(entry.metric))[:_MOST_TEXT],
        "answer": entry.answer[:_MOST_TEXT],
        "epsilon": entry.epsilon,
        "delta": entry.delta,
        "conclusion": entry.conclusion[:_MOST_TEXT],
    }


def _segment(collection: Collection, index: int) -> dict[str, str]:
    """The values of the segments that an index stands for."""
    values = {}
    for name, known in reversed(list(collection.segments.items())):
        index, number = divmod(index, len(known))
        values[name] = known[number]
    return values
