"""A connection that redis-py has opened, used without it: commands as bytes, replies as they come.

redis-py knows how to find a server, to say who one is and to speak TLS. What it does for each command on top (locks,
a timeout for every read, events for who observes it, a parser that awaits every line) takes as long as all the rest
of a small flush. So a line takes over the transport: one write for all commands, one future for all replies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from typing import Any

from redis.exceptions import (
    ConnectionError,  # noqa: A004 - redis-py's name
    InvalidResponse,
    RedisError,
    ResponseError,
    TimeoutError,  # noqa: A004
)

__all__ = ["Command", "Line", "written"]

Command = Sequence[bytes | str | int]

_LENGTHS = tuple(b"$%d" % length for length in range(64))
"""How most words begin."""


def written(commands: Sequence[Command]) -> bytes:
    """Commands as they go over the wire."""
    parts: list[bytes] = []
    for command in commands:
        parts.append(b"*%d" % len(command))
        for word in command:
            text = word if isinstance(word, bytes) else str(word).encode()
            length = len(text)
            parts.append(_LENGTHS[length] if length < 64 else b"$%d" % length)
            parts.append(text)
    parts.append(b"")
    return b"\r\n".join(parts)


class Line(asyncio.Protocol):
    """One connection, for one exchange at a time."""

    def __init__(self, connection: Any, timeout: float) -> None:
        self.connection = connection
        """redis-py's, which has connected."""
        self.open = True
        """It can be used: an exchange that has failed leaves replies on their way that nobody waits for."""
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._transport: Any = connection._writer.transport  # noqa: SLF001 - redis-py has no other way to it
        self._before: asyncio.BaseProtocol = self._transport.get_protocol()
        self._transport.set_protocol(self)
        self._buffer = bytearray()
        self._at = 0
        self._replies: list[Any] = []
        self._reading: Generator[None, None, None] | None = None
        self._answer: asyncio.Future[list[Any]] | None = None
        self._deadline = 0.0
        self._watch: asyncio.TimerHandle | None = None

    async def exchange(self, commands: Sequence[Command]) -> list[Any]:
        """Replies to commands, errors among them; after an exception the line is closed."""
        loop = self._loop
        answer: asyncio.Future[list[Any]] = loop.create_future()
        self._answer = answer
        self._replies = []
        self._reading = self._read(len(commands))
        self._deadline = loop.time() + self._timeout
        if self._watch is None:
            self._watch = loop.call_at(self._deadline, self._look)
        self._transport.write(written(commands))
        try:
            return await answer
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Have it no more."""
        self.open = False
        if self._watch:
            self._watch.cancel()
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Go on reading replies."""
        answer = self._answer
        if answer is None or self._reading is None:
            self.close()  # nobody has asked for anything
            return
        self._buffer += data
        self._deadline = self._loop.time() + self._timeout
        try:
            next(self._reading)
        except StopIteration:
            self._answer = self._reading = None
            if self._at != len(self._buffer):
                self._fail(InvalidResponse("more replies than commands"), answer)
            elif not answer.done():
                answer.set_result(self._replies)
            self._buffer.clear()
            self._at = 0
        except ValueError as error:
            self._fail(InvalidResponse(f"a reply makes no sense: {error}"), answer)
        except RedisError as error:
            self._fail(error, answer)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever waits, and redis-py's own protocol, for which its connection may wait."""
        if self._answer:
            self._fail(ConnectionError(f"the connection to the store is lost: {exc or 'closed by the server'}"))
        self.close()
        self._before.connection_lost(exc)

    def pause_writing(self) -> None:
        """Nothing: an exchange writes once."""

    def resume_writing(self) -> None:
        """Nothing."""

    def _look(self) -> None:
        """One timer for many exchanges: nearly all of them are over long before it fires."""
        self._watch = None
        if self._answer is None:
            return
        if self._loop.time() >= self._deadline:
            self._fail(TimeoutError(f"the store does not answer within {self._timeout:g} seconds"))
        else:
            self._watch = self._loop.call_at(self._deadline, self._look)

    def _fail(self, error: Exception, answer: asyncio.Future[list[Any]] | None = None) -> None:
        answer, self._answer = answer or self._answer, None
        self.close()
        if answer and not answer.done():
            answer.set_exception(error)

    def _read(self, count: int) -> Generator[None, None, None]:
        for _ in range(count):
            self._replies.append((yield from self._reply()))

    def _reply(self) -> Generator[None, None, Any]:
        """The next reply; yields where more has to come."""
        while (end := self._buffer.find(b"\r\n", self._at)) < 0:
            yield
        kind, rest = self._buffer[self._at], bytes(self._buffer[self._at + 1 : end])
        self._at = end + 2
        if kind == ord(":"):
            return int(rest)
        if kind == ord("+"):
            return rest
        if kind == ord("-"):
            return self._error(rest)
        length = int(rest)
        if length < 0:
            return None
        if kind == ord("*"):
            items = []
            for _ in range(length):
                items.append((yield from self._reply()))  # noqa: PERF401 - no comprehension can yield
            return items
        if kind != ord("$"):
            raise InvalidResponse(f"a reply begins with {kind:#x}")
        while len(self._buffer) < self._at + length + 2:
            yield
        text = bytes(self._buffer[self._at : self._at + length])
        self._at += length + 2
        return text

    def _error(self, text: bytes) -> ResponseError:
        error = self.connection._parser.parse_error(text.decode(errors="replace"))  # noqa: SLF001
        if isinstance(error, ResponseError):
            return error
        raise error  # the server takes no commands from this connection, or none yet
