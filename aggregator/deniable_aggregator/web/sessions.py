"""Sessions of people who have logged in at the page, in memory alone, and how often somebody may try to.

words:
  session  what a browser is known by after a person has shown a token: random bits in a cookie, which are good for as
           long as the token is, and for twelve hours at the most
  try      showing something to log in with; one that fails counts against the address that it comes from

Both are bounded, and gone when the aggregator ends. An address is held for a minute after its last failed try.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

from deniable_aggregator.caller import READ
from deniable_aggregator.serving.tokens import Bearer

__all__ = ["SECONDS", "Sessions", "Tries"]

SECONDS = 12 * 3600
"""A session's longest."""
_MOST, _MOST_OF_ONE = 1000, 20
"""Sessions, and those of one token: then the oldest of that token ends, or of all. Nobody has one without a token."""


class _Session(NamedTuple):
    bearer: Bearer
    until: float
    secure: bool
    """It was begun over TLS: its cookie is never good for anything else."""


class Sessions:
    """Who has logged in."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: dict[bytes, _Session] = {}
        """By the hash of what the cookie says: what is compared is nothing that anybody can choose."""

    def __len__(self) -> int:
        return len(self._begun)

    def begin(self, bearer: Bearer, *, secure: bool) -> str:
        """What a cookie is to say from now on: never anything that a browser has said before."""
        own = [key for key, each in self._begun.items() if each.bearer.sha256 == bearer.sha256]
        if len(own) >= _MOST_OF_ONE:
            del self._begun[own[0]]
        elif len(self._begun) >= _MOST:
            del self._begun[next(iter(self._begun))]
        said = secrets.token_urlsafe(32)
        self._begun[_key(said)] = _Session(bearer, self._clock() + SECONDS, secure)
        return said

    def find(self, said: str, *, secure: bool) -> Bearer | None:
        """Who has logged in with this, if that still lasts."""
        session = self._begun.get(_key(said))
        if session is None or session.secure is not secure:
            return None
        if self._clock() < session.until and session.bearer.has(READ):
            return session.bearer
        del self._begun[_key(said)]
        return None

    def end(self, said: str) -> None:
        """Log out."""
        self._begun.pop(_key(said), None)


def _key(said: str) -> bytes:
    return hashlib.sha256(said.encode(errors="surrogateescape")).digest()


_EACH, _BURST = 6.0, 10
"""Of an address: so many failed tries at once, and one more every so many seconds."""
_EACH_OF_ALL, _BURST_OF_ALL = 0.5, 100
"""The same of all addresses together."""
_MOST_ADDRESSES = 1000


class Tries:
    """Failed tries, by address and altogether: each pays for a while, and who owes too much waits."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._paid: dict[str, float] = {}
        """When an address has paid for all of its tries; those that have are forgotten."""
        self._paid_by_all = 0.0

    def wait(self, address: str) -> float:
        """For how many seconds nobody may try from there."""
        now = self._clock()
        own = self._paid.get(_place(address), now) - now - _EACH * (_BURST - 1)
        return max(own, self._paid_by_all - now - _EACH_OF_ALL * (_BURST_OF_ALL - 1), 0.0)

    def failed(self, address: str) -> None:
        """Somebody has tried from there, and failed."""
        now, place = self._clock(), _place(address)
        self._paid = {each: until for each, until in self._paid.items() if until > now}
        self._paid[place] = max(self._paid.pop(place, now), now) + _EACH
        self._paid_by_all = max(self._paid_by_all, now) + _EACH_OF_ALL
        if len(self._paid) > _MOST_ADDRESSES:
            del self._paid[next(iter(self._paid))]


def _place(address: str) -> str:
    """An address; of version 6 the network, of which anybody has all addresses."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else address
