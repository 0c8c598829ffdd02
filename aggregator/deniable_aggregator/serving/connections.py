"""Connections: how many a process has room for, and which of them go when there are too many.

words:
  guard  looks twice a second how many connections there are. When more than half of the places are taken, it closes
         those that have been quiet for longest, until three eighths are. A device that says what it has to say is
         never among them: whoever holds connections to keep others out holds quiet ones. When memory is tight it
         keeps few of them, but for those that wait until this process has stored something. And it closes, by
         name, those that conduct (`serving/conduct.py`) will not have; and while the process is busy, which it
         looks at more often then, those in debt (`serving/debts.py`)

gRPC has a bound of its own, and refuses what comes beyond it: alone that would keep devices out for as long as
somebody holds the places. Linux tells of every connection when something last came in on it, and a connection that is
shut down under gRPC ends there like one whose other end has gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import resource
import socket
import struct
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from deniable_aggregator.serving.closings import Closings, say_nothing_of_untaken_answers
from deniable_aggregator.serving.debts import Debts
from deniable_aggregator.serving.processors import waited

__all__ = ["Guard", "places", "raise_file_limit"]

_LOG = logging.getLogger(__name__)
_MOST = 8192
"""Connections of a process, where there are files enough: more than it can answer handshakes of in a second."""
_RESERVED_FILES = 192
"""For all else: listeners, the store, logs, threads of gRPC."""
_LEAST = 64
_FEW = 2048
"""With less room it is worth a warning: a limit of 1,024 files is an old default."""
_LOOK_SECONDS = 0.5
_BUSY_SECONDS = 0.1
_BUSY = 0.25
"""A process is busy that has used so much of a processor, of the time for which its loop was not kept from it."""
_KEPT = 128
"""So many quiet connections are kept when memory is tight: an idle one takes 20 kB."""
_FRESH_SECONDS, _FRESH_AT_MOST = 2.0, 10.0
"""A connection that has been quiet for less is not closed: its first words may be on their way, or wait in gRPC. The
first are seconds for a process that has a processor; one that is kept from it takes longer, up to the last."""
_TASKS = 20_000
"""Two a call. With more calls than that, quiet connections go as well: they keep calls whose answers nobody takes."""
_LAST_DATA, _RECEIVED = 52, 128
"""Where Linux's tcp_info has the milliseconds since data last came in, and the bytes that have come."""
_INFO_BYTES = 136
_TOGETHER = 256
"""So many connections are looked at before others have a turn."""
_FILES = "/proc/self/fd"
_GATHER_SECONDS = 0.005
"""So long those that are to be closed are gathered, at the least: to look through all files takes milliseconds."""
_SHARE = 10
"""And a tenth of the loop's time is spent on finding them at the most; and a tenth on looking at all connections. Of
the time that it has: where it has a tenth of a processor, a tenth of that."""
_LATEST = 20.0
"""Nobody is taken to be later: it is looked at some connections, however little time there is."""
_THINNED = 200
"""When memory is tight, so many connections are closed twice a second at the most."""
_AT_ONCE, _APART_SECONDS = 10, 0.025
"""So many of them at once, and then others have their turn. gRPC takes no new connections while it ends others: to
close a thousand in one go kept devices waiting for seconds."""
_MAPPED = "::ffff:"


def raise_file_limit() -> int:
    """Let this process, and those that it starts, have as many files as they may; how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):  # some systems have a lower limit than they tell
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    now = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    tell = _LOG.debug if places() >= _FEW else _LOG.warning
    tell("a process may have %d files (%d before), and %d connections", now, soft, places())
    return now


def places() -> int:
    """How many connections this process has room for."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    room = _MOST if files == resource.RLIM_INFINITY else files - _RESERVED_FILES
    return max(min(_MOST, room), _LEAST)


_CONNECT = ctypes.CDLL(None).connect
_NOBODY = bytes(16)
"""An address of no family: to connect to it cuts a connection."""


def _shut(own: socket.socket) -> None:
    """End a connection; what has come over it is read yet."""
    own.shutdown(socket.SHUT_RDWR)


def _cut(own: socket.socket) -> None:
    """End a connection at once. What has come over it is thrown away: after a shutdown gRPC would read all of it."""
    if _CONNECT(own.fileno(), _NOBODY, len(_NOBODY)):
        _shut(own)


class _Connection(NamedTuple):
    """A connection to a port of this process."""

    quiet: float
    """Seconds since something came in."""
    file: int
    peer: str
    """The other end, as gRPC calls it."""
    received: int
    """Bytes that have come."""


class Guard:
    """Sees to it that a process always has room for another connection to its port."""

    def __init__(
        self,
        port: int,
        most: int,
        tight: Callable[[], bool] = lambda: False,
        waiting: Callable[[], Collection[str]] = tuple,
        brought: Callable[[], Mapping[str, int]] = dict,
        on_way: Callable[[str], int] = lambda _: 0,
    ) -> None:
        self._port = port
        self._most = most
        self._tight = tight
        """Whether memory is."""
        self._waiting = waiting
        """Who waits for this process, rather than it for them."""
        self._brought = brought
        """The credit of connections, since it was asked for before."""
        self._on_way = on_way
        """The bytes of messages that a connection may have on their way."""
        self._debts = Debts()
        self._looked, self._used, self._kept = time.monotonic(), time.process_time(), waited()
        self._late = 1.0
        """So many times as long as with a processor of its own everything takes this process now."""
        self._expelled: set[str] = set()
        self._expels = 0.0
        """When connections may be looked for again, on the loop's clock."""
        self._busy = False
        self._thins = 0.0
        """When connections may be closed for the sake of memory again, however often it is looked at them."""
        self._closings = Closings()
        say_nothing_of_untaken_answers()

    async def keep(self) -> None:
        """Look at the connections, for ever."""
        pause = _LOOK_SECONDS
        while True:
            await asyncio.sleep(pause)
            began = time.thread_time()
            with contextlib.suppress(OSError):  # no file is left to look with: the next look may have one
                await self.look()
            spent = self._late * (time.thread_time() - began)
            pause = max(_BUSY_SECONDS, _SHARE * spent) if self._busy else _LOOK_SECONDS
            self._closings.tell()

    async def look(self) -> int:
        """Close quiet connections if there are too many, or too many calls, or memory is tight, and those in debt if
        the process is busy; how many were."""
        now, used, kept, brought = time.monotonic(), time.process_time(), waited(), self._brought()
        seconds, spent, lost = now - self._looked, used - self._used, kept - self._kept
        self._looked, self._used, self._kept = now, used, kept
        self._late = _late(seconds, lost)
        self._busy = spent > _BUSY * (seconds - lost)
        if not self._busy:
            self._debts.forget()
        if sys.platform != "linux":
            return 0  # gRPC's own bound has to do
        files = len(os.listdir(_FILES))
        calls = len(asyncio.all_tasks()) > _TASKS
        tight = files > _KEPT and now >= self._thins and self._tight()
        if files <= self._most // 2 and not calls and not tight and not self._busy:
            return 0
        found = []
        for number, file in enumerate(map(int, os.listdir(_FILES))):
            if number % _TOGETHER == 0:
                await asyncio.sleep(0)
            if (connection := self._connection(file)) is not None:
                found.append(connection)
        closed = 0
        if self._busy:
            owing = self._debts.look(((each.peer, each.received) for each in found), brought, seconds, self._on_way)
            closed = sum(self._close(each, _cut) for each in found if each.peer in owing)
            self._closings.empty(closed)
        return closed + await self._close_quiet(found, calls, tight)

    async def _close_quiet(self, found: list[_Connection], calls: bool, tight: bool) -> int:
        """Close those that have been quiet for longest, as far as there are too many; how many were."""
        kept = len(found) // 2 if calls else 3 * self._most // 8 if len(found) > self._most // 2 else len(found)
        surplus = len(found) - kept
        if tight:
            waiting = self._waiting()
            found = [each for each in found if each.peer not in waiting]
            surplus = max(surplus, min(len(found) - _KEPT, _THINNED))
            self._thins = self._looked + _LOOK_SECONDS
        closed = 0
        for number, connection in enumerate(sorted(found, reverse=True)[: max(surplus, 0)]):
            if number % _AT_ONCE == 0:
                await asyncio.sleep(_APART_SECONDS if tight and number else 0)
            if connection.quiet >= min(_FRESH_SECONDS * self._late, _FRESH_AT_MOST):
                closed += self._close(connection)
        self._closings.quiet(closed, len(found), self._most)
        return closed

    def expel(self, peer: str) -> None:
        """Close a connection soon, together with others; gRPC says whose it is."""
        if sys.platform != "linux":
            return
        if not self._expelled:
            loop = asyncio.get_running_loop()
            loop.call_later(max(_GATHER_SECONDS, self._expels - loop.time()), self._expel)
        self._expelled.add(peer)

    def _expel(self) -> None:
        expelled, self._expelled = self._expelled, set()
        began = time.thread_time()
        for file in sorted(map(int, os.listdir(_FILES)), reverse=True):  # those that have just come, most likely
            if _peer(file) not in expelled:
                continue
            with _socket(file) as own, contextlib.suppress(OSError):
                if own is not None and own.getsockname()[1:2] == (self._port,) and _named(own) in expelled:
                    expelled.discard(_named(own))
                    _cut(own)
                    self._closings.empty(1)
            if not expelled:
                break
        spent = self._late * (time.thread_time() - began)
        self._expels = asyncio.get_running_loop().time() + _SHARE * spent

    def _connection(self, file: int) -> _Connection | None:
        """What a file is, if it is a connection to the port; it may become another one while it is looked at."""
        own = _glance(file)
        if own is None:
            return None
        try:
            if own.getsockname()[1] != self._port:
                return None
            peer = _named(own)
            info = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES).ljust(_INFO_BYTES, b"\0")
            if _named(own) != peer:
                return None
        except (OSError, LookupError):
            return None
        finally:
            own.detach()
        (quiet,), (received,) = struct.unpack_from("=I", info, _LAST_DATA), struct.unpack_from("=Q", info, _RECEIVED)
        return _Connection(quiet / 1000, file, peer, received)

    def _close(self, connection: _Connection, how: Callable[[socket.socket], None] = _shut) -> bool:
        """Close a connection, unless its file is another one by now."""
        with _socket(connection.file) as own, contextlib.suppress(OSError):
            if own is not None and own.getsockname()[1:2] == (self._port,) and _named(own) == connection.peer:
                how(own)
                return True
        return False


def _late(seconds: float, lost: float) -> float:
    """How late a process is that was kept from running for so much of the last seconds."""
    return min(seconds / (seconds - lost), _LATEST) if seconds > lost else _LATEST if lost else 1.0


def _named(own: socket.socket) -> str:
    """The other end, as gRPC calls it."""
    host, port = own.getpeername()[:2]
    if ":" not in host:
        return f"ipv4:{host}:{port}"
    if host.startswith(_MAPPED):
        return f"ipv4:{host.removeprefix(_MAPPED)}:{port}"
    return f"ipv6:%5B{host}%5D:{port}"


def _peer(file: int) -> str | None:
    """Who is at the other end of a file."""
    own = _glance(file)
    if own is None:
        return None
    try:
        return _named(own)
    except (OSError, ValueError):
        return None
    finally:
        own.detach()


def _glance(file: int) -> socket.socket | None:
    """A handle of a socket that belongs to somebody else, to be detached soon; None where a file is none."""
    try:
        return socket.socket(socket.AF_INET6, socket.SOCK_STREAM, 0, fileno=file)
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def _socket(file: int) -> Iterator[socket.socket | None]:
    """A second handle of a socket, which keeps it from becoming another one meanwhile; None where a file is none."""
    own = None
    with contextlib.suppress(OSError):
        second = os.dup(file)
        try:
            own = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, 0, fileno=second)
        except OSError:
            os.close(second)
    try:
        yield own
    finally:
        if own is not None:
            own.close()
