"""The file of tokens: who is let in, for what, and until when.

words:
  token   256 random bits, which come as `authorization: Bearer TOKEN`; its SHA-256 alone is known here
  grant   a line of the file: what a token is good for. A token is good for all that its lines say
  expires the first day, in UTC, on which a grant is good for nothing

    report 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 the editor, since 2.0
    report collections=editor 60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752
    report rate=100/s burst=500 expires=2027-03-01 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9
    read collections=editor,words expires=2027-03-01 fd61a03af4f77d870fc21e05e7e80678095c92d808cfb3b5c279ee04c74aca13

A scope, what limits it, the SHA-256 in hexadecimal digits, and whatever else helps people. Empty lines and lines that
begin with # say nothing. `deniable token` writes them. A rate is the token's, in whichever of its lines it stands.

A plain hash is enough: salts and slow hashes are for what people choose, and nobody finds 256 random bits by trying.
Nor does the time tell anything that a look-up takes: what is compared are hashes, whose beginning nobody can choose.
"""

from __future__ import annotations

import hashlib
import logging
import re
import time
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from deniable._paths import why
from deniable_aggregator.caller import READ, REPORT
from deniable_aggregator.serving.certificates import content
from deniable_aggregator.serving.rates import Meter, Rate, rate_of

__all__ = ["Bearer", "Grant", "Tokens", "grant_of", "grants_of", "hashed", "lines_of"]

_LOG = logging.getLogger(__name__)
_NAME = r"[a-z][a-z0-9_]{0,62}"
_LINE = re.compile(
    rf"({REPORT}|{READ})(?:\s+collections=({_NAME}(?:,{_NAME})*))?"
    rf"(?:\s+rate=(\S+)(?:\s+burst=(\S+))?)?(?:\s+expires=(\d{{4}}-\d\d-\d\d))?"
    r"\s+([0-9a-fA-F]{64})(?:\s(.*))?",
    re.ASCII,
)
_LATE = re.compile(r"\b(?:collections|rate|burst|expires)=\S*")
_MOST_NAMES = 100
"""Collections that a token names: they travel with its questions (`serving/desk.py`)."""
_LOOK_SECONDS = 1.0
"""How often the file is looked at: a line that is taken out stops working as soon."""


class Grant(NamedTuple):
    """A line of the file."""

    scope: str
    collections: frozenset[str] | None
    """Their names; None: all."""
    expires: date | None
    sha256: bytes
    note: str = ""
    rate: Rate | None = None
    """How much whoever shows the token may bring; None: as much as there is room for."""

    def good(self, now: float) -> bool:
        """Whether it has not expired."""
        return self.expires is None or now < datetime(*self.expires.timetuple()[:3], tzinfo=UTC).timestamp()

    def line(self) -> str:
        """As it stands in the file."""
        limits = [
            *([f"collections={','.join(sorted(self.collections))}"] if self.collections is not None else []),
            *([f"rate={self.rate} burst={self.rate.burst}"] if self.rate else []),
            *([f"expires={self.expires.isoformat()}"] if self.expires else []),
        ]
        return " ".join([self.scope, *limits, self.sha256.hex(), *([self.note] if self.note else [])])


class Bearer:
    """Whoever shows a token: a caller, for as long as the file says."""

    def __init__(self, tokens: Tokens, sha256: bytes) -> None:
        self._tokens = tokens
        self.sha256 = sha256
        """How it is known."""

    def named(self, scope: str) -> frozenset[str] | None:
        """The names of the collections that the token is good for, as of now; None: all of them."""
        own = [each.collections for each in self.grants() if each.scope == scope]
        return None if None in own else frozenset().union(*(each for each in own if each is not None))

    def wait(self) -> timedelta | None:
        """How long it has to wait before a batch of its is looked at; None: not at all, and this one is counted."""
        return self._tokens.wait(self.sha256)

    def grants(self) -> tuple[Grant, ...]:
        """What the token is good for, as of now."""
        now = time.time()
        return tuple(each for each in self._tokens.of(self.sha256) if each.good(now))

    def has(self, scope: str) -> bool:
        """Whether it is good for anything of a scope."""
        return any(each.scope == scope for each in self.grants())

    @property
    def expired(self) -> bool:
        """Whether it was good for something once."""
        return bool(self._tokens.of(self.sha256)) and not self.grants()


class Tokens:
    """What the file says, looked at again within a second of a change."""

    def __init__(self, file: Path, workers: int = 1) -> None:
        self._file = file
        self._workers = workers
        """How many processes let in by this file."""
        self._meters: dict[bytes, Meter] = {}
        """Of the tokens that have a rate."""
        self._state = _state(file)  # first: what changes meanwhile is another state
        self._know(_by_token(file))
        self._looked = time.monotonic()
        self._trouble = ""

    def bearer(self, token: str) -> Bearer:
        """Whoever shows this token."""
        return Bearer(self, hashed(token))

    def of(self, sha256: bytes) -> Sequence[Grant]:
        """The lines of a token, expired or not."""
        self.look()
        return self._grants.get(sha256, ())

    def wait(self, sha256: bytes) -> timedelta | None:
        """How long a token has to wait before it may bring one more; None: not at all, and this one is counted."""
        meter = self._meters.get(sha256)
        return None if meter is None or meter.takes() else meter.wait

    def names(self) -> frozenset[str]:
        """The collections that are named."""
        return frozenset(
            name for grants in self._grants.values() for each in grants for name in each.collections or ()
        )

    def look(self) -> None:
        """Read the file again if it has changed; one that can not be read changes nothing."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        try:
            if (state := _state(self._file)) != self._state:
                self._know(_by_token(self._file))
                self._state, self._trouble = state, ""
        except OSError as error:
            if str(error) != self._trouble:  # said once; it is looked at again, as it may be mended unseen
                self._trouble = str(error)
                _LOG.error("who is let in stays as it is: %s", error)

    def _know(self, grants: dict[bytes, tuple[Grant, ...]]) -> None:
        """Let in by these lines. A token whose rate is as it was has brought what it had brought."""
        rates = {sha256: rate for sha256, own in grants.items() for rate in _rates(own)}
        before = self._meters
        self._meters = {
            sha256: before[sha256] if sha256 in before and before[sha256].rate == rate else Meter(rate, self._workers)
            for sha256, rate in rates.items()
        }
        self._grants = grants


def hashed(token: str) -> bytes:
    """How a token is known."""
    return hashlib.sha256(token.strip().encode(errors="surrogateescape")).digest()


def lines_of(file: Path) -> list[str]:
    """The lines of a file of tokens; an OSError where it can not be read."""
    try:
        return content(file).decode().splitlines()
    except UnicodeDecodeError as error:
        raise OSError(f"{file}: is not UTF-8: {error.reason}") from error
    except OSError as error:
        raise OSError(f"{file}: the file of tokens can not be read: {why(error)}") from error


def grants_of(file: Path, lines: Sequence[str]) -> list[Grant | None]:
    """What each line grants; None for one that says nothing. An OSError names a line that is none."""
    return [_read(each, f"{file}, line {number}") for number, each in enumerate(lines, 1)]


def grant_of(line: str) -> Grant:
    """What a line grants; a ValueError where it is none."""
    found = _LINE.fullmatch(line.strip())
    if found is None:
        raise ValueError(
            "takes report or read, collections=NAME,NAME or nothing, rate=100/s burst=500 or nothing, "
            "expires=2027-03-01 or nothing, then the SHA-256 of a token in 64 digits"
        )
    scope, names, rate, burst, expires, digits, note = found.groups()
    if rate and scope != REPORT:
        raise ValueError(f"rate= is for tokens that report: it counts batches, which no token to {scope} brings")
    if limits := _LATE.findall(note or ""):
        raise ValueError(f"{' and '.join(limits)} limits a token where it stands before the hash, not behind it")
    return Grant(
        scope,
        frozenset(names.split(",")) if names else None,
        date.fromisoformat(expires) if expires else None,
        bytes.fromhex(digits),
        (note or "").strip(),
        rate_of(rate, burst) if rate else None,
    )


def _read(line: str, where: str) -> Grant | None:
    if not line.strip() or line.startswith("#"):
        return None
    try:
        return grant_of(line)
    except ValueError as error:
        raise OSError(f"{where}: {error}") from error


def _by_token(file: Path) -> dict[bytes, tuple[Grant, ...]]:
    """The grants of every token, by its hash."""
    found: dict[bytes, tuple[Grant, ...]] = {}
    for grant in grants_of(file, lines_of(file)):
        if grant is not None:
            found[grant.sha256] = (*found.get(grant.sha256, ()), grant)
    for own in found.values():
        if len({name for each in own for name in each.collections or ()}) > _MOST_NAMES:
            raise OSError(
                f"{file}: a token names more than {_MOST_NAMES} collections: leave collections= out for all"
            )
        if len(_rates(own)) > 1:
            raise OSError(
                f"{file}: the lines of a token name different rates, and it has one: let one of them say it"
            )
    return found


def _rates(own: Sequence[Grant]) -> frozenset[Rate]:
    """The rates that the lines of a token name, but for those that have expired."""
    now = time.time()
    return frozenset(each.rate for each in own if each.rate and each.good(now))


def _state(file: Path) -> tuple[int, int, int]:
    try:
        found = file.stat()
    except OSError as error:
        raise OSError(f"{file}: the file of tokens can not be read: {why(error)}") from error
    return found.st_ino, found.st_mtime_ns, found.st_size
