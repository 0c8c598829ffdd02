"""The link: a socket between a supervisor and a worker, over which objects travel.

words:
  message   an object that can be pickled: the supervisor says what to serve, the worker what became of it
  gone      the other end is closed, however that process went
"""

from __future__ import annotations

import asyncio
import pickle
import socket
from typing import Any

__all__ = ["Link"]

_LENGTH_BYTES = 4


class Link:
    """One end of a link: messages are objects that can be pickled."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> Link:
        """A link over a connected socket."""
        return cls(*await asyncio.open_unix_connection(sock=end))

    def say(self, message: object) -> None:
        """Send a message; nothing happens when the other end is gone."""
        if not self._writer.is_closing():  # uvloop's transports raise when they are written to after that
            text = pickle.dumps(message)
            self._writer.write(len(text).to_bytes(_LENGTH_BYTES, "big") + text)

    async def hear(self) -> Any:
        """The next message; None when the other end is gone."""
        try:
            length = int.from_bytes(await self._reader.readexactly(_LENGTH_BYTES), "big")
            return pickle.loads(await self._reader.readexactly(length))  # noqa: S301 - from our own process
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def close(self) -> None:
        """Let the other end know that this one is gone."""
        self._writer.close()
