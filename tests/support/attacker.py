"""A server in an attacker's hands: it speaks HTTP/2 by itself, so that it can break off at any point, and it writes
down everything by which two batches could be known to come from one device.

words:
  arrival   a batch that was read to its end, with its connection and its moment
  scheme    how the attacker answers: an answer for each arrival, which may depend on all that came before
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

__all__ = ["Answer", "Arrival", "Attacker", "attacking"]

_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING = 0, 1, 3, 4, 6
_END, _END_HEADERS, _ACK = 1, 4, 1
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


@dataclass(frozen=True)
class Answer:
    """What a device is told: a status, with a trailer; or nothing (`hang`), or a connection that breaks (`reset`)."""

    status: int = 0
    trailer: tuple[tuple[bytes, bytes], ...] = ()
    hang: bool = False
    reset: bool = False
    broken: int | None = None
    """The error of HTTP/2 with which the call's stream is broken off, and nothing else."""


@dataclass(frozen=True)
class Arrival:
    """One batch, as the attacker has seen it."""

    device: int
    """Which one it came from: what the attacker wants to know."""
    connection: int
    """The connection's number, in the order in which they were made."""
    moment: float
    """When, by the clock of the simulation."""
    message: bytes
    """The whole of it."""
    manner: tuple[bytes, ...]
    """The settings and headers that came before it."""


@dataclass
class Attacker:
    """What it does and knows."""

    scheme: Callable[[Arrival], Answer]
    clock: Callable[[], float]
    device: int = 0
    """The simulation says whose turn it is."""
    address: str = ""
    arrivals: list[Arrival] = field(default_factory=list)
    _open: list[socket.socket] = field(default_factory=list)
    _serving: int = 0
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _server: socket.socket | None = None

    def listen(self, server: socket.socket) -> None:
        """Take connections until the socket is closed, and each in a thread of its own."""
        self._server = server
        while True:
            try:
                select.select([server], [], [])
                with self._turn:
                    taken, _ = server.accept()
                    self._serving += 1
            except (OSError, ValueError):
                return
            taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or each answer waits for what it follows
            self._open.append(taken)
            threading.Thread(target=self._serve, args=(taken, len(self._open)), daemon=True).start()

    def is_done(self) -> bool:
        """Whether all that was sent has been seen: a device that has given up is then not taken for the next one."""
        with self._turn:
            assert self._server
            return not self._serving and not select.select([self._server], [], [], 0)[0]

    def close(self) -> None:
        """Break all connections."""
        for each in self._open:
            each.close()

    def _serve(self, taken: socket.socket, number: int) -> None:
        try:
            self._hear(taken, number)
        finally:
            with self._turn:
                self._serving -= 1

    def _hear(self, taken: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError), taken, taken.makefile("rb") as said:
            said.read(len(_PREFACE))
            taken.sendall(_frame(_SETTINGS))
            manner: list[bytes] = []
            messages: dict[int, bytes] = {}
            while len(head := said.read(9)) == 9:
                kind, flags, stream = head[3], head[4], int.from_bytes(head[5:])
                content = said.read(int.from_bytes(head[:3]))
                if kind in {_SETTINGS, _PING} and not flags & _ACK:
                    taken.sendall(_frame(kind, content if kind == _PING else b"", _ACK))
                if kind == _HEADERS or (kind == _SETTINGS and content):
                    manner.append(content)
                if kind == _DATA:
                    messages[stream] = messages.get(stream, b"") + content
                    if flags & _END:
                        message = messages.pop(stream)[5:]
                        arrival = Arrival(self.device, number, self.clock(), message, tuple(manner))
                        self.arrivals.append(arrival)
                        if not self._answer(taken, stream, self.scheme(arrival)):
                            return

    def _answer(self, taken: socket.socket, stream: int, answer: Answer) -> bool:
        """Answer as the scheme says; whether the connection goes on."""
        if answer.reset:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if answer.broken is not None:
            taken.sendall(_frame(_RST_STREAM, answer.broken.to_bytes(4), 0, stream))
        if answer.hang or answer.broken is not None:
            return True
        head = b"\x88" + _header(b"content-type", b"application/grpc")
        end = _header(b"grpc-status", b"%d" % answer.status)
        end += b"".join(_header(name, value) for name, value in answer.trailer)
        if answer.status:
            taken.sendall(_frame(_HEADERS, head + end, _END | _END_HEADERS, stream))
            return True
        taken.sendall(
            _frame(_HEADERS, head, _END_HEADERS, stream)
            + _frame(_DATA, bytes(5), 0, stream)
            + _frame(_HEADERS, end, _END | _END_HEADERS, stream)
        )
        return True


def _frame(kind: int, content: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    return len(content).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + content


def _header(name: bytes, value: bytes) -> bytes:
    """A field as HPACK has it that nobody has to remember (RFC 7541, section 6.2.2), shorter than 127 bytes."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


@contextlib.contextmanager
def attacking(scheme: Callable[[Arrival], Answer], clock: Callable[[], float]) -> Iterator[Attacker]:
    """An attacker on a free port of this machine."""
    attacker = Attacker(scheme, clock)
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        attacker.address = f"127.0.0.1:{server.getsockname()[1]}"
        threading.Thread(target=attacker.listen, args=(server,), daemon=True).start()
        try:
            yield attacker
        finally:
            server.shutdown(socket.SHUT_RDWR)
            attacker.close()
