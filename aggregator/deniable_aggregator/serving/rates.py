"""Rates: how many batches a token may bring, whoever holds it and over however many connections.

words:
  rate   so many batches in a second, a minute or an hour, and how many at once (its burst): `rate=100/s burst=500`
  meter  what a worker lets through of one token: one number, the moment up to which it has been used

A meter is in memory, of a token and of nobody who holds it. It is asked before a batch is looked at, and costs the
same whatever it says. Workers do not ask each other: each lets through its part of the rate, so that all of them
together never let through more in the long run, and at once no more than the burst, or one each. A device's
connection comes to any worker; a stream is of one, and has its part.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

__all__ = ["Meter", "Rate", "rate_of"]

_SECOND = 10**9
_UNITS = {"s": _SECOND, "m": 60 * _SECOND, "h": 3600 * _SECOND}
_RATE = re.compile(r"([1-9]\d{0,6})/([smh])", re.ASCII)
_BURST = re.compile(r"[1-9]\d{0,6}", re.ASCII)
_MOST = 9_999_999
_SECONDS_AT_ONCE = 10
"""What comes in so many seconds may come at once, unless it is said: devices come in waves."""
_LEAST_WAIT = timedelta(seconds=2)
"""As where a worker is busy."""


class Rate(NamedTuple):
    """What a token may bring: so many batches in a unit of time, and so many at once."""

    batches: int
    unit: str
    burst: int

    def __str__(self) -> str:
        """As it stands in the file, but for its burst."""
        return f"{self.batches}/{self.unit}"


def rate_of(text: str, burst: str | None = None) -> Rate:
    """What a text says; a ValueError where it is no rate."""
    found = _RATE.fullmatch(text)
    if found is None:
        raise ValueError(
            f"takes so many batches a second, minute or hour, such as 100/s, 600/m or 10/h, not {text!r}"
        )
    if burst is not None and not _BURST.fullmatch(burst):
        raise ValueError(f"takes how many batches may come at once, 1 to 9999999, not {burst!r}")
    count, unit = int(found[1]), found[2]
    at_once = int(burst) if burst else count * _SECONDS_AT_ONCE * _SECOND // _UNITS[unit]
    return Rate(count, unit, min(max(at_once, 1), _MOST))


class Meter:
    """What one of so many workers lets through of a token: its part of the rate at any time, and of the burst."""

    def __init__(self, rate: Rate, workers: int = 1, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.rate = rate
        self._clock = clock
        self._each = -(-_UNITS[rate.unit] * workers // rate.batches)
        """Nanoseconds for a batch, and never less: they add up exactly."""
        self._ahead = (max(rate.burst // workers, 1) - 1) * self._each
        self._used = clock()
        self.wait = max(_LEAST_WAIT, timedelta(seconds=-(-self._each // _SECOND)))
        """What whoever is over the rate is asked to wait: the same for all, since a time of one's own would be a
        name."""

    def takes(self) -> bool:
        """Whether one more may come; then it is counted."""
        now = self._clock()
        used = max(self._used, now)
        if used - now > self._ahead:
            return False
        self._used = used + self._each
        return True
