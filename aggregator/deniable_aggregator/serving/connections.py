"""Connections: how many a process has room for, and which of them go when there are too many.

words:
  guard  looks twice a second how many connections there are. When more than half of the places are taken, it closes
         those that have been quiet for longest, until three eighths are. A device that says what it has to say is
         never among them: whoever holds connections to keep others out holds quiet ones. When memory is tight it
         keeps few of them, but for those that wait until this process has stored something. And it closes, by
         name, those that conduct (`serving/conduct.py`) will not have

gRPC has a bound of its own, and refuses what comes beyond it: alone that would keep devices out for as long as
somebody holds the places. Linux tells of every connection when something last came in on it, and a connection that is
shut down under gRPC ends there like one whose other end has gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import socket
import struct
import sys
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

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
_KEPT = 128
"""So many quiet connections are kept when memory is tight: an idle one takes 20 kB."""
_FRESH_SECONDS = 2.0
"""A connection that has been quiet for less is not closed: its first words may be on their way."""
_TASKS = 20_000
"""Two a call. With more calls than that, quiet connections go as well: they keep calls whose answers nobody takes."""
_LAST_DATA = 52
"""Where Linux's tcp_info has the milliseconds since data last came in."""
_TOGETHER = 256
"""So many connections are looked at before others have a turn."""
_FILES = "/proc/self/fd"
_GATHER_SECONDS = 0.005
"""So long those that are to be closed are gathered: to look through all files takes some milliseconds."""
_MAPPED = "::ffff:"


def raise_file_limit() -> int:
    """Let this process, and those that it starts, have as many files as they may; how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):  # some systems have a lower limit than they tell
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    now = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    tell = _LOG.info if places() >= _FEW else _LOG.warning
    tell("a process may have %d files (%d before), and %d connections", now, soft, places())
    return now


def places() -> int:
    """How many connections this process has room for."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    room = _MOST if files == resource.RLIM_INFINITY else files - _RESERVED_FILES
    return max(min(_MOST, room), _LEAST)


class _Connection(NamedTuple):
    """A connection to a port of this process."""

    quiet: float
    """Seconds since something came in."""
    file: int
    inode: int
    peer: str
    """The other end, as gRPC calls it."""


class Guard:
    """Sees to it that a process always has room for another connection to its port."""

    def __init__(
        self,
        port: int,
        most: int,
        tight: Callable[[], bool] = lambda: False,
        waiting: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._port = port
        self._most = most
        self._tight = tight
        """Whether memory is."""
        self._waiting = waiting
        """Who waits for this process, rather than it for them."""
        self._expelled: set[str] = set()
        self._closed = 0

    async def keep(self) -> None:
        """Look at the connections, for ever."""
        if sys.platform != "linux":
            return  # gRPC's own bound has to do
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await self.look()
            if self._closed:
                _LOG.warning("closed %d connections whose calls brought nothing", self._closed)
                self._closed = 0

    async def look(self) -> int:
        """Close quiet connections if there are too many, or too many calls, or memory is tight; how many were."""
        files = len(os.listdir(_FILES))
        calls = len(asyncio.all_tasks()) > _TASKS
        tight = files > _KEPT and self._tight()
        if files <= self._most // 2 and not calls and not tight:
            return 0
        found = []
        for number, file in enumerate(map(int, os.listdir(_FILES))):
            if number % _TOGETHER == 0:
                await asyncio.sleep(0)
            if (connection := self._connection(file)) is not None:
                found.append(connection)
        kept = len(found) // 2 if calls else 3 * self._most // 8
        if tight:
            kept, waiting = min(kept, _KEPT), self._waiting()
            found = [each for each in found if each.peer not in waiting]
        surplus = len(found) - kept
        closed = 0
        for number, connection in enumerate(sorted(found, reverse=True)[: max(surplus, 0)]):
            if number % _TOGETHER == 0:
                await asyncio.sleep(0)
            if connection.quiet >= _FRESH_SECONDS:
                closed += self._close(connection)
        if closed:
            _LOG.warning("%d connections of %d places: closed %d quiet ones", len(found), self._most, closed)
        return closed

    def expel(self, peer: str) -> None:
        """Close a connection soon, together with others; gRPC says whose it is."""
        if sys.platform != "linux":
            return
        if not self._expelled:
            asyncio.get_running_loop().call_later(_GATHER_SECONDS, self._expel)
        self._expelled.add(peer)

    def _expel(self) -> None:
        expelled, self._expelled = self._expelled, set()
        for file in sorted(map(int, os.listdir(_FILES)), reverse=True):  # those that have just come, most likely
            if _peer(file) not in expelled:
                continue
            with _socket(file) as own, contextlib.suppress(OSError):
                if own is not None and own.getsockname()[1:2] == (self._port,) and _named(own) in expelled:
                    expelled.discard(_named(own))
                    own.shutdown(socket.SHUT_RDWR)
                    self._closed += 1
            if not expelled:
                break

    def _connection(self, file: int) -> _Connection | None:
        """What a file is, if it is a connection to the port."""
        with _socket(file) as own:
            if own is None or own.getsockname()[1:2] != (self._port,):
                return None
            with contextlib.suppress(OSError):
                peer = _named(own)
                info = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
                (quiet,) = struct.unpack_from("=I", info, _LAST_DATA)
                return _Connection(quiet / 1000, file, os.fstat(own.fileno()).st_ino, peer)
        return None

    def _close(self, connection: _Connection) -> bool:
        """Shut a connection down, unless its file is another one by now."""
        with _socket(connection.file) as own:
            if own is None or os.fstat(own.fileno()).st_ino != connection.inode:
                return False
            with contextlib.suppress(OSError):
                own.shutdown(socket.SHUT_RDWR)
                return True
        return False


def _named(own: socket.socket) -> str:
    """The other end, as gRPC calls it."""
    host, port = own.getpeername()[:2]
    if ":" not in host:
        return f"ipv4:{host}:{port}"
    if host.startswith(_MAPPED):
        return f"ipv4:{host.removeprefix(_MAPPED)}:{port}"
    return f"ipv6:%5B{host}%5D:{port}"


def _peer(file: int) -> str | None:
    """Who is at the other end of a file, at a glance: the file may be another one by then."""
    glance = None
    try:
        glance = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, 0, fileno=file)
        return _named(glance)
    except (OSError, ValueError):
        return None
    finally:
        if glance is not None:
            glance.detach()


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
