"""Closings: how many connections were closed, said once a minute at most; and nothing of answers that nobody took.

Somebody who holds connections has some of them closed at every look, twice a second or more, for as long as they
like: a line for each would fill the log, and hide whatever else stands there. So the first is told at once, and those
after it once a minute, added up. And grpc.aio logs a traceback for every call whose caller has gone before its answer
was written, as devices do now and then and others as often as they like.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

__all__ = ["Closings", "say_nothing_of_untaken_answers"]

_LOG = logging.getLogger(__name__)
_APART_SECONDS = 60.0
_GRPC, _UNTAKEN = "grpc._cython.cygrpc", "ExecuteBatchError"
"""Who logs it, and what it calls it."""


def say_nothing_of_untaken_answers() -> None:
    """Have no traceback logged where an answer could not be written."""
    logging.getLogger(_GRPC).addFilter(_not_untaken)


def _not_untaken(record: logging.LogRecord) -> bool:
    return not (record.exc_info and type(record.exc_info[1]).__name__ == _UNTAKEN)


class Closings:
    """What was closed and has not been told yet."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = _Told("closed %d quiet connections%s", clock)
        self._empty = _Told("closed %d connections whose calls brought nothing%s", clock)

    def quiet(self, number: int, connections: int, places: int) -> None:
        """So many quiet ones were closed, when there were so many connections, and room for so many."""
        self._quiet.add(number, f"; {connections} of {places} places were taken")

    def empty(self, number: int) -> None:
        """So many were closed that had brought nothing."""
        self._empty.add(number)

    def tell(self) -> None:
        """Say what has to be said by now."""
        self._quiet.tell()
        self._empty.tell()


class _Told:
    """One kind of closings."""

    def __init__(self, what: str, clock: Callable[[], float]) -> None:
        self._what = what
        self._clock = clock
        self._number = 0
        self._details = ""
        self._again = 0.0
        """When it may be told again; it never was."""

    def add(self, number: int, details: str = "") -> None:
        """More of them, and how things were then."""
        if number:
            self._number += number
            self._details = details

    def tell(self) -> None:
        """Say how many there were, unless that was done within the last minute."""
        now = self._clock()
        if not self._number or now < self._again:
            return
        _LOG.warning(self._what, self._number, self._details)
        self._number, self._again = 0, now + _APART_SECONDS
