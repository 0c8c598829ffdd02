"""Devices that connect, say one batch and leave.

python -m benchmarks.visitors    makes the visits that standard input asks for, and prints what became of them

A visit is a connection, a handshake of TLS 1.3 (nothing is resumed, as devices resume nothing), one call of
SubmitReports with an id of its own, the acknowledgement, and the end. Each visitor is a thread with a blocking
socket: nearly all of its time is the kernel's and OpenSSL's. Every wait has a bound; a visit that runs into one, or
ends in any other way but by an acknowledgement, is counted by what happened to it, and the load goes on.
"""

from __future__ import annotations

import json
import socket
import ssl
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass

from benchmarks.processes import apart
from benchmarks.raw_load import HEARD, Bodies, answers, call

__all__ = ["Visited", "Visits", "main"]

_WAIT_SECONDS = 20.0
"""For one step of a visit: to connect, to shake hands, to hear something."""
_ALL_SECONDS = 300.0
_READ_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Visits:
    """What is asked of a server."""

    port: int
    visits: int
    bodies: tuple[str, ...]
    """Messages in hex, used in turn; the id in each is replaced."""
    visitors: int = 64
    """How many visits there are at a time."""
    wait: float = _WAIT_SECONDS
    """Seconds that one step of a visit may take."""

    def make(self) -> Visited:
        """Make them, in a process of their own."""
        return Visited(**apart("benchmarks.visitors", self, _ALL_SECONDS))


@dataclass(frozen=True, slots=True)
class Visited:
    """What became of visits."""

    seconds: float
    acknowledged: int
    p50: float
    """Seconds from the first packet to the acknowledgement that half of the visits do not exceed."""
    p99: float
    others: dict[str, int]
    """How many visits ended otherwise, by how."""


class _Visitors:
    """All visitors, and what they have seen."""

    def __init__(self, asked: Visits) -> None:
        self._asked = asked
        self._bodies = Bodies(asked.bodies)
        self._left = asked.visits
        self._lock = threading.Lock()
        self._latencies: list[float] = []
        self._others: Counter[str] = Counter()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_3
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        self._context.set_alpn_protocols(["h2"])

    def run(self) -> Visited:
        """Make all visits."""
        began = time.perf_counter()
        threads = [threading.Thread(target=self._visit_again_and_again) for _ in range(self._asked.visitors)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - began
        latencies = sorted(self._latencies) or [0.0]
        last = len(latencies) - 1
        return Visited(
            seconds, len(self._latencies), latencies[last // 2], latencies[int(last * 0.99)], dict(self._others)
        )

    def _visit_again_and_again(self) -> None:
        while True:
            with self._lock:
                if not self._left:
                    return
                self._left -= 1
                body = self._bodies.fresh()
            began = time.perf_counter()
            try:
                self._visit(body)
            except OSError as error:
                with self._lock:
                    self._others[f"{type(error).__name__}: {error}"] += 1
            else:
                self._latencies.append(time.perf_counter() - began)

    def _visit(self, body: bytes) -> None:
        wait = self._asked.wait
        step = "to connect"
        try:
            with socket.create_connection(("127.0.0.1", self._asked.port), wait) as plain:
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                step = "to shake hands"
                with self._context.wrap_socket(plain) as own:
                    own.sendall(call(body))
                    step = "for the acknowledgement"
                    buffer = b""
                    while (acknowledged := answers(buffer)) is None:
                        some = own.recv(_READ_BYTES)
                        if not some:
                            raise ConnectionError("the server has left")
                        if not buffer:
                            own.sendall(HEARD)
                        buffer += some
                    if not acknowledged:
                        raise ConnectionError("the batch was refused")
        except TimeoutError as error:
            raise TimeoutError(f"waited {wait:g} seconds {step}") from error


def main() -> None:
    """Make the visits that stand on standard input."""
    given = json.load(sys.stdin)
    asked = Visits(**{**given, "bodies": tuple(given["bodies"])})
    sys.stdout.write(json.dumps(asdict(_Visitors(asked).run())))


if __name__ == "__main__":
    main()
