"""Load from h2load (Debian's nghttp2-client), and what became of it.

h2load counts a refusal as a success, since gRPC refuses with HTTP 200. A refusal has no body, so what was
acknowledged is counted by the bytes of bodies.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Load", "Outcome", "framed", "missing"]

_FRAME = 5
"""Bytes before each message: a flag and a length."""
_LIMIT = 100.0


def missing() -> str | None:
    """What to do when there is no h2load."""
    return (
        None if shutil.which("h2load") else "h2load is missing: make system-tools, or apt-get install nghttp2-client"
    )


def framed(messages: list[bytes]) -> bytes:
    """Messages as the body of one gRPC call."""
    return b"".join(b"\0" + len(message).to_bytes(4, "big") + message for message in messages)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What h2load saw."""

    seconds: float
    """From the first call to the last answer."""
    acknowledged: float
    """How many messages were acknowledged."""
    latencies: tuple[float, ...]
    """Seconds from send to answer of each call, sorted; empty unless they were asked for."""

    def percentile(self, percent: float) -> float:
        """The latency that so many percent of the calls do not exceed."""
        return self.latencies[min(int(len(self.latencies) * percent / 100), len(self.latencies) - 1)]


@dataclass(frozen=True, slots=True)
class Load:
    """Calls that all have one body."""

    method: str
    """The gRPC method's full name."""
    body: bytes
    """Framed messages."""
    calls: int
    """How many calls."""
    answer: int
    """Bytes of all messages that answer one call whose messages are all acknowledged."""
    messages: int = 1
    """How many messages a call has."""
    connections: int = 40
    """How many connections."""
    streams: int = 10
    """How many calls of a connection may be in flight."""
    pace: int = 0
    """Calls a second; 0: as many as are answered. Paced, latencies are recorded."""

    def run(self, port: int) -> Outcome:
        """Make the calls."""
        with tempfile.TemporaryDirectory() as directory:
            body, log = Path(directory, "body"), Path(directory, "log")
            body.write_bytes(self.body)
            paced = [f"--rps={self.pace / self.connections:g}", f"--log-file={log}"] if self.pace else []
            shown = subprocess.run(
                [
                    "h2load",
                    *("-n", str(self.calls), "-c", str(self.connections), "-m", str(self.streams)),
                    *("-H", "content-type: application/grpc", "-H", "te: trailers", "-d", str(body)),
                    *paced,
                    f"http://127.0.0.1:{port}/{self.method}",
                ],
                capture_output=True,
                text=True,
                timeout=_LIMIT,
                check=True,
            ).stdout
            latencies = sorted(_latencies(log)) if self.pace else []
        rate = re.search(r"([\d.]+) req/s", shown)
        data = re.search(r"\((\d+)\) data", shown)
        assert rate, shown
        assert data, shown
        share = int(data[1]) / (self.calls * (self.answer + _FRAME * self.messages))
        if share > 1:  # it says of each that it is a repetition
            raise RuntimeError(
                f"answers have {share:.2f} times the bytes of acknowledgements: nothing new was counted"
            )
        return Outcome(self.calls / float(rate[1]), share * self.calls * self.messages, tuple(latencies))


def _latencies(log: Path) -> list[float]:
    return [int(line.split("\t")[2]) / 1e6 for line in log.read_text().splitlines()]
