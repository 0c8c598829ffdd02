"""The worker: the one background thread of a client, begun with the first value that is recorded.

words:
  round   do what there is to do: write, seal, send; it says how long nothing will be to do
  wake    something was recorded: the next round is due when values have been in memory for long enough
  hurry   a flush or a close: the next round is due at once
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from deniable.device import processes

__all__ = ["Worker"]

_LAST_PART = 0.25
"""Of the time that a close may take, what is left when an upload under way is cut short."""


class Worker:
    """Does one round after another until it is stopped."""

    def __init__(self, work: Callable[[], float], last: Callable[[], None], write_behind: float) -> None:
        self._work = work
        self._last = last
        self._write_behind = write_behind
        self._lock = threading.RLock()  # a signal handler may record in the middle of a record
        self._thread: threading.Thread | None = None
        self._hurry = threading.Event()
        self.wake = threading.Event()
        """Set where the next round will see what has just been recorded."""
        self.stopping = False
        """Whether it takes no further round."""

    def start(self) -> None:
        """Begin, unless that has happened, and wake it."""
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="deniable", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the interpreter is ending, or has no thread left
                    return
                self._thread = thread
                processes.close_with_multiprocessing()
        self.wake.set()

    def hurry(self) -> None:
        """Have the next round follow at once."""
        self._hurry.set()

    def stop(self, end: float, cut: Callable[[], None]) -> None:
        """Have it end; waits until then, by the monotonic clock, and cuts short what is under way a moment before."""
        self.stopping = True
        self._hurry.set()
        self.wake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            seconds = max(0.0, end - time.monotonic())
            thread.join(seconds * (1 - _LAST_PART))
            cut()
            thread.join(max(0.0, end - time.monotonic()))

    @property
    def here(self) -> bool:
        """Whether this is its thread."""
        return threading.current_thread() is self._thread

    def _run(self) -> None:
        while not self.stopping:
            wait = self._work()
            # Something recorded shortens the wait to the write-behind time; a flush or a close ends it.
            if self.wake.wait(wait):
                self._hurry.wait(self._write_behind)
            self.wake.clear()
            self._hurry.clear()
        self._last()
