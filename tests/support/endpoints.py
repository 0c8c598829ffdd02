"""Endpoints that an SDK meets: one that answers as it is told, and those that are dead, hanging or lying."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from deniable.wire.upload import METHOD
from support.ports import free_port
from support.waiting import PATIENCE

__all__ = ["GARBAGE", "TLS", "Endpoint", "answering", "dead", "lying", "refusing", "turning_away"]

TLS = Path(__file__).with_name("tls")
"""Certificates and keys of tests."""
GARBAGE = b"HTTP/1.1 418 I'm a teapot\r\n\r\n" + bytes(range(256))

_HEADERS, _SETTINGS, _GOAWAY = 1, 4, 7
"""Frames of HTTP/2 (RFC 9113, section 6)."""

Answer = Callable[[int, grpc.ServicerContext], bytes]
"""Answers the call of that number (the first is 0): returns the response's bytes, or aborts."""


def refusing(
    code: grpc.StatusCode, *trailer: tuple[str, str | bytes], words: str = "no", first: float = math.inf
) -> Answer:
    """Refuses all calls, or so many of the first ones."""

    def answer(number: int, context: grpc.ServicerContext) -> bytes:
        if number < first:
            context.set_trailing_metadata(trailer)
            context.abort(code, words)
        return b""

    return answer


@dataclass
class Endpoint:
    """A ReportService that keeps the bytes of every request, and answers as it is told."""

    answer: Answer
    requests: list[bytes] = field(default_factory=list)
    """In the order of arrival."""
    metadata: list[dict[str, str | bytes]] = field(default_factory=list)
    """What came with each."""
    times: list[float] = field(default_factory=list)
    """When each came, by the monotonic clock."""
    peers: list[str] = field(default_factory=list)
    """From where: connections that exist at the same time, or one after another, have different ones."""
    address: str = ""
    _one: threading.Lock = field(default_factory=threading.Lock)

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        """Takes calls of one method."""
        return grpc.unary_unary_rpc_method_handler(self._handle) if details.method == METHOD else None

    def _handle(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        with self._one:
            number = len(self.requests)
            self.times.append(time.monotonic())
            self.requests.append(request)
            self.peers.append(context.peer())
            self.metadata.append(dict(context.invocation_metadata()))
        return self.answer(number, context)


class _Handler(grpc.GenericRpcHandler):
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        return self._endpoint.service(handler_call_details)


@contextlib.contextmanager
def answering(
    answer: Answer = lambda _number, _context: b"", secrets: grpc.ServerCredentials | None = None
) -> Iterator[Endpoint]:
    """An endpoint on a free port of this machine."""
    endpoint = Endpoint(answer)
    server = grpc.server(futures.ThreadPoolExecutor(4), [_Handler(endpoint)])
    where = "127.0.0.1:0"
    port = server.add_secure_port(where, secrets) if secrets else server.add_insecure_port(where)
    endpoint.address = f"127.0.0.1:{port}"
    server.start()
    try:
        yield endpoint
    finally:
        server.stop(0).wait(PATIENCE)


def dead() -> str:
    """An endpoint where nobody listens."""
    return f"127.0.0.1:{free_port()}"


@contextlib.contextmanager
def lying(how: str) -> Iterator[str]:
    """An endpoint that takes connections and then is silent, sends garbage, or resets them."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: list[socket.socket] = []
        liar = threading.Thread(target=_lie, args=(server, how, taken), daemon=True)
        liar.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            liar.join(PATIENCE)  # who has just come is among those that it has taken
            for each in taken:
                each.close()


@contextlib.contextmanager
def turning_away() -> Iterator[tuple[str, list[int]]]:
    """An endpoint that goes away when a call comes, saying that it has begun none, and the streams of the calls."""
    calls: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_turn_away, args=(server, calls), daemon=True).start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}", calls
        finally:
            server.shutdown(socket.SHUT_RDWR)


def _turn_away(server: socket.socket, calls: list[int]) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection, connection.makefile("rb") as said:
            said.read(len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
            connection.sendall(_frame(_SETTINGS))
            while head := said.read(9):
                said.read(int.from_bytes(head[:3]))
                if head[3] == _HEADERS:
                    calls.append(int.from_bytes(head[5:]))
                    connection.sendall(_frame(_GOAWAY, bytes(8)))  # the last stream begun: 0; no error
                    connection.shutdown(socket.SHUT_WR)


def _frame(kind: int, content: bytes = b"") -> bytes:
    return len(content).to_bytes(3) + bytes([kind, 0, 0, 0, 0, 0]) + content


def _lie(server: socket.socket, how: str, taken: list[socket.socket]) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        taken.append(connection)
        if how == "garbage":
            with contextlib.suppress(OSError):  # it may have gone again
                connection.sendall(GARBAGE + os.urandom(64))
        if how == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
