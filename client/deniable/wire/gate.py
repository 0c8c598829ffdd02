"""The gate: lets uploaders through to gRPC, unless the process is about to fork.

words:
  gate        closed while the process forks: gRPC must not be at work then
  inherited   gRPC was loaded in the process that this one was forked from: uploads happen apart (see apart.py)

gRPC's threads do not survive a fork, and a fork in the middle of a call breaks parent and child: so every call is cut
short before a fork (its batch keeps its id, and is sent again), and a child never touches the gRPC that it has
inherited.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

from deniable.wire.apart import Apart
from deniable.wire.credentials import Credentials
from deniable.wire.upload import Uploader

__all__ = ["after_fork_in_child", "after_fork_in_parent", "before_fork", "uploading"]

_FORK_WAIT = 1.0
"""A fork waits at most so long for gRPC to be left."""


class _Gate:
    """Lets uploaders through to gRPC, one a thread, unless the process is about to fork."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._closed = False
        self._inside: set[Uploader] = set()

    @contextlib.contextmanager
    def passing(self, uploader: Uploader) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._inside.add(uploader)
        try:
            yield
        finally:
            uploader.close()
            with self._changed:
                self._inside.discard(uploader)
                self._changed.notify_all()

    def shut(self) -> None:
        with self._changed:
            self._closed = True
            end = time.monotonic() + _FORK_WAIT
            while self._inside and time.monotonic() < end:
                for uploader in self._inside:
                    uploader.cut()
                self._changed.wait(0.01)

    def open(self) -> None:
        with self._changed:
            self._closed = False
            self._changed.notify_all()


_gate = _Gate()
_inherited = False
"""Whether gRPC was loaded in the process that this one was forked from."""


@contextlib.contextmanager
def uploading(endpoint: str, credentials: Credentials, deadline: float) -> Iterator[Uploader]:
    """An uploader for one batch."""
    uploader = (Apart if _inherited else Uploader)(endpoint, credentials, deadline)
    with _gate.passing(uploader):
        yield uploader


def before_fork() -> None:
    """Cut all calls short before a fork, and wait until gRPC is left."""
    _gate.shut()


def after_fork_in_parent() -> None:
    """Let calls begin again after a fork."""
    _gate.open()


def after_fork_in_child() -> None:
    """Let calls begin in a child, without the gRPC of the parent."""
    global _gate, _inherited  # noqa: PLW0603
    _gate = _Gate()
    _inherited = _inherited or "grpc" in sys.modules
