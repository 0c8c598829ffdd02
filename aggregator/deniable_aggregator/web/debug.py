"""The debug view: what debug clients of this account would report, beside what they have recorded.

words:
  showing   what one debug client has told at one moment (deniable/device/debugging.py): reports in words
  key       a part of the page's address that is printed at the start: other accounts of this machine reach the page

It has a socket and a memory of its own, in the process that serves the page: nothing of it comes near ingest, store,
counters or log, and all of it is gone when the aggregator ends. It holds so many showings and bytes; the oldest go.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import secrets
import socket
import stat
import time
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import web

from deniable.device.debugging import LONGEST, TAKEN, check_peer, place

__all__ = ["DebugView"]

_MOST = 200
"""Showings that are held."""
_MOST_BYTES = 4 << 20
"""Bytes of them, as they came."""
_MOST_CONNECTIONS = 32
_PATIENCE = 10.0
"""Seconds that a client has to tell what it shows."""
_SHOWING = {
    "collection": str, "digest": str, "program": str, "process": int, "start": int, "seconds": int, "segment": dict,
    "bytes": int, "budget": float, "sample": float, "reports": list, "refused": dict, "mistakes": list,
}  # fmt: skip
_REPORT = {
    "metric": str, "asked": str, "recorded": str, "answer": str, "epsilon": float, "delta": float, "conclusion": str,
}  # fmt: skip


class _Held(NamedTuple):
    size: int
    told: dict[str, Any]


class DebugView:
    """Takes what debug clients show, and hands it to the page."""

    def __init__(self) -> None:
        self.key = secrets.token_urlsafe(16)
        """What has to be known to see it."""
        self._held: deque[_Held] = deque()
        self._bytes = 0
        self._number = 0
        self._taking: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Take what debug clients of this account show; an OSError where another view does already."""
        where = place()
        listener = _listener(where)
        own = os.lstat(where).st_ino
        server = await asyncio.start_unix_server(self._take, sock=listener, limit=LONGEST)
        try:
            yield
        finally:
            server.close()
            for writer in self._taking.values():
                writer.transport.abort()
            await asyncio.gather(*self._taking)
            with contextlib.suppress(FileNotFoundError):
                if os.lstat(where).st_ino == own:
                    where.unlink()

    @property
    def showings(self) -> list[dict[str, Any]]:
        """What is held, the newest first."""
        return [held.told for held in reversed(self._held)]

    def routes(self) -> list[web.RouteDef]:
        """What is answered."""
        return [web.get("/api/v1/debug", self._showings)]

    async def _showings(self, request: web.Request) -> web.Response:
        headers = {"Cache-Control": "no-store"}
        if not hmac.compare_digest(request.query.get("key", "").encode(), self.key.encode()):
            message = "the debug view is at the address that `deniable serve --debug-view` prints: it has a key"
            error = {"code": 403, "status": "PERMISSION_DENIED", "message": message}
            return web.json_response({"error": error}, status=403, headers=headers)
        dropped = self._number - len(self._held)
        return web.json_response({"showings": self.showings, "dropped": dropped}, headers=headers)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """What one client shows; what is no showing is not answered."""
        task = asyncio.current_task()
        assert task
        self._taking[task] = writer
        try:
            if len(self._taking) <= _MOST_CONNECTIONS:
                check_peer(_socket(writer))
                async with asyncio.timeout(_PATIENCE):
                    self._hold(await reader.readuntil(b"\n"))
                    writer.write(TAKEN)
                    await writer.drain()
        except (OSError, ValueError, RecursionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever is there is told nothing, and nothing that was said is written down
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            del self._taking[task]

    def _hold(self, line: bytes) -> None:
        """Hold a showing; a ValueError where it is none."""
        told = json.loads(line)
        json.dumps(told, allow_nan=False)
        _check(told, _SHOWING)
        for report in told["reports"]:
            _check(report, _REPORT)
        for text in (*told["segment"].values(), *told["refused"].values(), *told["mistakes"]):
            _check({"text": text}, {"text": str})
        self._number += 1
        self._held.append(_Held(len(line), told | {"number": self._number, "at": time.time()}))
        self._bytes += len(line)
        while len(self._held) > _MOST or self._bytes > _MOST_BYTES:
            self._bytes -= self._held.popleft().size


def _socket(writer: asyncio.StreamWriter) -> socket.socket:
    """The socket of a connection: asyncio lends one that can be asked, and not read."""
    lent: socket.socket = writer.get_extra_info("socket")
    return lent


def _check(told: object, fields: dict[str, type]) -> None:
    if not isinstance(told, dict) or told.keys() != fields.keys():
        raise ValueError("has other fields")
    if any(type(told[name]) is not kind for name, kind in fields.items()):
        raise ValueError("has another type")


def _listener(where: Path) -> socket.socket:
    """A socket there that is this account's alone."""
    where.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    try:
        with contextlib.suppress(FileNotFoundError):
            _make_way(where)
        before = os.umask(0o177)
        try:
            listener.bind(str(where))
        finally:
            os.umask(before)
    except OSError as error:
        listener.close()
        raise OSError(f"the debug view can not listen at {where}: {error.strerror or error}") from error
    return listener


def _make_way(where: Path) -> None:
    """Remove the socket of a view that has died; an OSError where it lives, or where something else is there."""
    found = os.lstat(where)
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
        raise OSError("something else is there, and is left as it is")
    with socket.socket(socket.AF_UNIX) as looking:
        if looking.connect_ex(str(where)) == 0:
            raise OSError("another debug view is there, and each account has one")
    where.unlink()
