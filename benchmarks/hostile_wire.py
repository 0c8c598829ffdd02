"""HTTP/2 as an attacker writes it: by hand, and as little or as much of it as does harm."""

from __future__ import annotations

import itertools
import select
import socket
from collections.abc import Iterable, Sequence
from contextlib import suppress

__all__ = ["PREFACE", "Wire", "data", "frame", "framed", "headers"]

_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _WINDOW = 0, 1, 3, 4, 6, 8
_END_STREAM, _END_HEADERS, _ACK = 1, 4, 1
_MOST_FRAME = 16_384
_INITIAL_WINDOW = 4


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """A frame."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(_SETTINGS, 0, 0)
"""How a connection begins."""


def headers(stream: int, path: str, more: Iterable[tuple[str, str]] = (), end: bool = False) -> bytes:
    """The beginning of a call, without compression."""
    fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "x"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        *more,
    ]
    block = b"".join(b"\x00" + _text(name) + _text(value) for name, value in fields)
    return frame(_HEADERS, _END_HEADERS | (_END_STREAM if end else 0), stream, block)


def _text(text: str) -> bytes:
    """A string of HPACK."""
    length, encoded = len(text), bytearray()
    if length < 127:
        encoded.append(length)
    else:
        encoded.append(127)
        length -= 127
        while length >= 128:
            encoded.append(length & 127 | 128)
            length >>= 7
        encoded.append(length)
    return bytes(encoded) + text.encode()


def framed(message: bytes, announced: int | None = None, compressed: bool = False) -> bytes:
    """A message as gRPC frames it; it may announce more than there is."""
    length = len(message) if announced is None else announced
    return bytes([compressed]) + length.to_bytes(4, "big") + message


def data(stream: int, content: bytes, end: bool = False) -> bytes:
    """Content of a call, in as many frames as it takes."""
    pieces = [content[at : at + _MOST_FRAME] for at in range(0, len(content), _MOST_FRAME)] or [b""]
    return b"".join(
        frame(_DATA, _END_STREAM if end and number == len(pieces) - 1 else 0, stream, piece)
        for number, piece in enumerate(pieces)
    )


class Wire:
    """A connection that says what it is told to say, and minds no window."""

    addresses: Sequence[str] = ("127.0.0.1",)
    """Where connections come from, in turns."""
    _turn = itertools.count()

    def __init__(self, port: int, window: int | None = None) -> None:
        own = self.addresses[next(self._turn) % len(self.addresses)]
        self._socket = socket.create_connection(("127.0.0.1", port), 10, source_address=(own, 0))
        self._socket.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN | select.POLLOUT)
        self._stream = -1
        self._window = window
        self.open = True
        """The other end has not closed it."""

    def begin(self) -> Wire:
        """Say the preface, with a window for answers if there is to be one."""
        setting = (
            b"" if self._window is None else _INITIAL_WINDOW.to_bytes(2, "big") + self._window.to_bytes(4, "big")
        )
        self.say(PREFACE if not setting else PREFACE[:24] + frame(_SETTINGS, 0, 0, setting))
        return self

    def settle(self, seconds: float = 10.0) -> Wire:
        """Wait for the other end's settings, and agree: before that it takes few calls."""
        self._poll.modify(self._socket, select.POLLIN)
        heard = bytearray()
        while self.open and len(heard) < 9 and self._poll.poll(1000 * seconds):
            heard += self.hear()
        self._poll.modify(self._socket, select.POLLIN | select.POLLOUT)
        self.say(frame(_SETTINGS, _ACK, 0))
        return self

    def next(self) -> int:
        """The number of another call."""
        self._stream += 2
        return self._stream

    def call(self, path: str, content: bytes = b"", end: bool = True, more: Iterable[tuple[str, str]] = ()) -> int:
        """Begin a call, and say something of it; its number."""
        stream = self.next()
        self.say(headers(stream, path, more) + (data(stream, content, end) if content or end else b""))
        return stream

    def reset(self, stream: int) -> None:
        """Give up a call."""
        self.say(frame(_RESET, 0, stream, (8).to_bytes(4, "big")))

    def ping(self) -> None:
        """Ask whether the other end is there."""
        self.say(frame(_PING, 0, 0, bytes(8)))

    def say(self, what: bytes, seconds: float = 1.0) -> None:
        """Send bytes, as far as they are taken; what is answered is read, and thrown away."""
        view = memoryview(what)
        while view and self.open:
            ready = self._poll.poll(1000 * seconds)
            if not ready:
                return
            if ready[0][1] & ~select.POLLOUT:
                self.hear()
            if not ready[0][1] & select.POLLOUT:
                continue
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                continue
            except OSError:
                self.open = False

    def hear(self) -> bytes:
        """What has been answered so far."""
        heard = b""
        with suppress(BlockingIOError):
            try:
                while some := self._socket.recv(1 << 16):
                    heard += some
                self.open = False
            except ConnectionError:
                self.open = False
        return heard

    def close(self) -> None:
        """Close it."""
        self.open = False
        self._socket.close()
