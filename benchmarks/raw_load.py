"""Load of our own, beside h2load: frames of HTTP/2 as they are, and a new id in every call.

python -m benchmarks.raw_load JSON    makes the calls that a `Calls` says, and prints what became of them

A call is acknowledged where its answer has a message; a refusal has none. What is acknowledged can so be compared
with what the store has counted, and no two calls have the same body: nothing on the way can be remembered.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import sys
import time
from dataclasses import asdict, dataclass

import uvloop

from benchmarks.processes import apart

__all__ = ["HEARD", "Bodies", "Calls", "Seen", "answers", "call", "main"]

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW = 0, 1, 3, 4, 6, 7, 8
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4
_HEAD = 9
_WINDOW_BYTES = 65_535
_MOST_STREAMS = 1 << 30
_LIMIT = 120.0


@dataclass(frozen=True, slots=True)
class Calls:
    """What is asked of a server."""

    port: int
    calls: int
    """How many calls."""
    bodies: tuple[str, ...]
    """Messages in hex, used in turn; the id in each is replaced."""
    connections: int = 40
    streams: int = 10
    """How many calls of a connection may be in flight."""
    pace: float = 0.0
    """Calls a second of all connections, on average, whether or not those before are answered; 0: as many as are
    answered. They come as those of devices that know nothing of each other: at moments that are drawn."""
    together: int = 1
    """So many of them come at each of those moments; more than one: moments are even, as h2load's are."""

    def run(self) -> Seen:
        """Make the calls, in a process of their own."""
        return Seen(**apart("benchmarks.raw_load", self, _LIMIT))


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of calls."""

    seconds: float
    acknowledged: int
    refused: int
    p50: float
    """Seconds from send to answer that half of the calls do not exceed."""
    p99: float


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def _headers(scheme: str) -> bytes:
    """The headers of SubmitReports, as literals that nobody has to remember."""
    fields = (
        (":method", "POST"),
        (":scheme", scheme),
        (":path", "/deniable.v1.ReportService/SubmitReports"),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    )
    return b"".join(
        b"\x00" + bytes((len(name),)) + name.encode() + bytes((len(value),)) + value.encode()
        for name, value in fields
    )


def call(body: bytes) -> bytes:
    """All that the client of a connection of one call sends, over TLS."""
    stream = _frame(_HEADERS, _END_HEADERS, 1, _headers("https")) + _frame(_DATA, _END_STREAM, 1, body)
    return _PREFACE + _frame(_SETTINGS, 0, 0) + stream


HEARD = _frame(_SETTINGS, _ACK, 0)
"""What it says when it has heard from the server."""


def answers(received: bytes) -> bool | None:
    """Whether the one call of a connection has been acknowledged; None as long as that is open."""
    at, acknowledged = 0, False
    while len(received) - at >= _HEAD:
        length, kind, flags = int.from_bytes(received[at : at + 3], "big"), received[at + 3], received[at + 4]
        stream = int.from_bytes(received[at + 5 : at + _HEAD], "big")
        at += _HEAD + length
        if at > len(received):
            break
        if kind == _GOAWAY or (stream and kind == _RESET):
            return False
        if stream:
            acknowledged |= kind == _DATA and length > 0
            if flags & _END_STREAM:
                return acknowledged
    return None


class Bodies:
    """Messages, each with an id of its own."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self._bodies = itertools.cycle([bytes.fromhex(text) for text in texts])
        self._prefix = os.urandom(8)
        self._numbers = itertools.count()

    def fresh(self) -> bytes:
        """The next one, framed. A message begins with the tag and the length of its id."""
        body = next(self._bodies)
        own = body[:2] + self._prefix + next(self._numbers).to_bytes(8, "big") + body[18:]
        return b"\0" + len(own).to_bytes(4, "big") + own


class _Connection(asyncio.Protocol):
    """One connection. It calls again whenever a call is answered, as long as there are calls left."""

    def __init__(self, load: _Load) -> None:
        self._load = load
        self._headers = _headers("http")
        self._buffer = b""
        self._stream = 1
        self._window = _WINDOW_BYTES
        self._sent: dict[int, float] = {}
        self._answered: set[int] = set()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say what one is."""
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write")
        self._transport = transport  # type: ignore[assignment]
        settings = _frame(_SETTINGS, 0, 0) + _frame(_WINDOW, 0, 0, _MOST_STREAMS.to_bytes(4, "big"))
        self._write(_PREFACE + settings)

    def call(self) -> bool:
        """Make the next call, if the server has room for it."""
        body = self._load.bodies.fresh()
        if len(body) > self._window:
            return False
        self._window -= len(body)
        stream = self._stream
        self._stream += 2
        self._sent[stream] = time.perf_counter()
        self._write(_frame(_HEADERS, _END_HEADERS, stream, self._headers) + _frame(_DATA, _END_STREAM, stream, body))
        return True

    def data_received(self, data: bytes) -> None:
        """Take frames in."""
        buffer, at = self._buffer + data, 0
        while len(buffer) - at >= _HEAD:
            end = at + _HEAD + int.from_bytes(buffer[at : at + 3], "big")
            if end > len(buffer):
                break
            stream = int.from_bytes(buffer[at + 5 : at + 9], "big") & 0x7FFF_FFFF
            self._take(buffer[at + 3], buffer[at + 4], stream, buffer[at + _HEAD : end])
            at = end
        self._buffer = buffer[at:]

    def connection_lost(self, exc: Exception | None) -> None:
        """What was not answered will not be."""
        for _ in range(len(self._sent)):
            self._load.answered(False, 0.0)
        self._load.lost(self, exc)

    def close(self) -> None:
        """End it."""
        assert self._transport
        self._transport.close()

    def _write(self, text: bytes) -> None:
        assert self._transport
        self._transport.write(text)

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == _DATA and payload:
            self._answered.add(stream)
            self._write(_frame(_WINDOW, 0, 0, len(payload).to_bytes(4, "big")))
        elif kind == _SETTINGS and not flags & _ACK:
            self._write(_frame(_SETTINGS, _ACK, 0))
        elif kind == _PING and not flags & _ACK:
            self._write(_frame(_PING, _ACK, 0, payload))
        elif kind == _WINDOW and stream == 0:
            self._window += int.from_bytes(payload, "big")
        if stream in self._sent and (kind == _RESET or (kind in {_DATA, _HEADERS} and flags & _END_STREAM)):
            seconds = time.perf_counter() - self._sent.pop(stream)
            self._load.answered(stream in self._answered, seconds)
            self._answered.discard(stream)
            self._load.next(self)


class _Load:
    """All calls."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.bodies = Bodies(calls.bodies)
        self._left = calls.calls
        self._latencies: list[float] = []
        self._acknowledged = 0
        self._open = calls.calls
        self._done = asyncio.get_running_loop().create_future()

    def answered(self, acknowledged: bool, seconds: float) -> None:
        """Count a call that has been answered, or never will be."""
        self._acknowledged += acknowledged
        self._latencies.append(seconds)
        self._open -= 1
        if self._open == 0:
            self._done.set_result(None)

    def next(self, connection: _Connection) -> None:
        """Call again, where nothing sets a pace."""
        if not self.calls.pace and self._left:
            self._left -= 1
            if not connection.call():
                self._left += 1

    def lost(self, _connection: _Connection, _error: Exception | None) -> None:
        """A connection has ended; its calls have been counted."""

    async def run(self) -> Seen:
        """Make all calls."""
        connections = [await self._connect() for _ in range(self.calls.connections)]
        await asyncio.sleep(0.2)  # for what the server says first
        began = time.perf_counter()
        if self.calls.pace:
            await self._paced(connections)
        else:
            for _, connection in itertools.product(range(self.calls.streams), connections):
                if self._left:
                    self._left -= 1
                    connection.call()
        await self._done
        seconds = time.perf_counter() - began
        for connection in connections:
            connection.close()
        return self._seen(seconds)

    async def _connect(self) -> _Connection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: _Connection(self), "127.0.0.1", self.calls.port)
        return connection

    async def _paced(self, connections: list[_Connection]) -> None:
        """A thread keeps the time: the loop's timers are a millisecond apart, and so a server's may be, whose work
        would always come just before or just after its calls."""
        loop, calls = asyncio.get_running_loop(), self.calls
        rate = calls.pace / calls.together
        turn = itertools.cycle(connections)

        def call(count: int) -> None:
            for connection in itertools.islice(turn, count):
                if not connection.call():
                    self.answered(False, 0.0)

        def keep_time() -> None:
            due = time.perf_counter()
            for left in range(calls.calls, 0, -calls.together):
                due += 1 / rate if calls.together > 1 else random.expovariate(rate)
                time.sleep(max(due - time.perf_counter(), 0.0))
                loop.call_soon_threadsafe(call, min(left, calls.together))

        await loop.run_in_executor(None, keep_time)

    def _seen(self, seconds: float) -> Seen:
        latencies = sorted(self._latencies) or [0.0]
        last = len(latencies) - 1
        refused = self.calls.calls - self._acknowledged
        return Seen(
            seconds, self._acknowledged, refused, latencies[last // 2], latencies[min(int(last * 0.99) + 1, last)]
        )


async def _run(calls: Calls) -> Seen:
    return await _Load(calls).run()


def main() -> None:
    """Make the calls that stand on standard input."""
    given = json.load(sys.stdin)
    calls = Calls(**{**given, "bodies": tuple(given["bodies"])})
    sys.stdout.write(json.dumps(asdict(uvloop.run(_run(calls)))))


if __name__ == "__main__":
    main()
