"""What hostile callers do, each a burst over connections of its own; and how to find out which does the most harm.

words:
  shape  one way to take memory or time: a function that does it once, as large as it is told to
  burst  a shape at a size; the connections that it leaves open
"""

from __future__ import annotations

import gzip
import os
import random
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, closing

from benchmarks.hostile_wire import Wire, data, frame, framed, headers
from benchmarks.processes import cpu_seconds, memory_bytes, workers

__all__ = ["SHAPES", "Climber", "bombs"]

_SUBMIT = "/deniable.v1.ReportService/SubmitReports"
_STREAM = "/deniable.v1.ReportService/StreamReports"
_WATCH = "/deniable.v1.EstimateService/WatchEstimates"
_HEALTH = "/grpc.health.v1.Health/Watch"
_CHECK = "/grpc.health.v1.Health/Check"
_ESTIMATE = "/deniable.v1.EstimateService/GetEstimate"
_REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
_LIST = "/deniable.v1.EstimateService/ListCollections"
_HELD = 1500
"""So many connections are held at a time."""

Shape = Callable[[int, int, random.Random], list[Wire]]


def bombs(size: int, digest: int, rng: random.Random) -> bytes:
    """A message of about so many bytes that makes as much of itself as protobuf allows."""
    head = b"\x0a\x10" + os.urandom(16) + b"\x11" + digest.to_bytes(8, "little")
    bomb = rng.choice(
        (
            b"\x32\x00",  # a wide row
            b"\x32\x02\x08\x01",
            b"\x32\x04\x08\x01\x12\x00",
            b"\x0a\x00",  # an id
            b"\x18\x01",  # an epoch
            b"\x12\x00",  # a batch
            b"\x12\x02\x32\x00",  # a batch with a wide row
            b"\x7a\x00",  # a field that nobody knows
            b"\x3b\x3c",  # a group
            b"\x3b",  # groups in groups
            b"\xf8\xff\xff\xff\x0f\x01",
        )
    )
    return rng.choice((b"", head)) + bomb * (size // len(bomb))


def _connections(port: int, number: int) -> list[Wire]:
    """So many connections; where one is refused, because the server has just died, those before it are closed."""
    with ExitStack() as stack:
        wires = [stack.enter_context(closing(Wire(port))) for _ in range(number)]
        stack.pop_all()
    return wires


def _messages(port: int, size: int, rng: random.Random) -> list[Wire]:
    wire = Wire(port).begin()
    for _ in range(max(1, min(50, 2_000_000 // size))):
        wire.call(rng.choice((_SUBMIT, _STREAM, _CHECK, _ESTIMATE)), framed(bombs(size, rng.getrandbits(64), rng)))
    return [wire]


def _withheld(port: int, size: int, rng: random.Random) -> list[Wire]:
    path = rng.choice((_SUBMIT, _STREAM, _CHECK, _ESTIMATE, _REFLECTION, _WATCH))
    wires = _connections(port, 4)
    for wire in wires:
        wire.begin()
        for _ in range(50):
            wire.call(path, framed(bytes(size), announced=size + 1), end=False)
    return wires


def _empty(port: int, size: int, rng: random.Random) -> list[Wire]:
    wire = Wire(port).begin()
    for _ in range(min(size, 190)):
        wire.call(rng.choice((_SUBMIT, _CHECK, _LIST, _WATCH)))
    return [wire]


def _silent(port: int, size: int, rng: random.Random) -> list[Wire]:
    wires = _connections(port, min(size, 400))
    if rng.random() < 0.5:
        for wire in wires:
            wire.begin()
    return wires


def _watches(port: int, size: int, rng: random.Random) -> list[Wire]:
    wire = Wire(port, window=rng.choice((0, 1, 65_535))).begin()
    for _ in range(min(size, 190)):
        wire.call(rng.choice((_WATCH, _HEALTH)), framed(b""))
    return [wire]


def _deaf(port: int, size: int, rng: random.Random) -> list[Wire]:
    wire = Wire(port, window=0).begin()
    for _ in range(min(size, 190)):
        wire.call(rng.choice((_LIST, _CHECK)), framed(b""))
    return [wire]


def _fields(port: int, size: int, rng: random.Random) -> list[Wire]:
    wire = Wire(port).begin()
    number = rng.choice((1, 20, 200))
    more = [(f"x-{n}-{rng.getrandbits(32)}", "v" * (min(size, 100_000) // number)) for n in range(number)]
    for _ in range(20):
        wire.call(_SUBMIT, framed(b""), more=more)
    return [wire]


def _resets(port: int, size: int, rng: random.Random) -> list[Wire]:
    wire = Wire(port).begin()
    for _ in range(min(size, 2000)):
        wire.reset(wire.call(rng.choice((_SUBMIT, _STREAM)), framed(bytes(10)), end=False))
    return [wire]


def _frames(port: int, size: int, rng: random.Random) -> list[Wire]:
    wire = Wire(port).begin()
    settings = frame(4, 0, 0, (rng.choice((1, 4, 5, 6))).to_bytes(2, "big") + rng.getrandbits(16).to_bytes(4, "big"))
    wire.say(rng.choice((frame(6, 0, 0, bytes(8)), settings, frame(0, 0, 1), frame(8, 0, 0, b"\0\0\0\1"))) * size)
    return [wire]


def _packed(port: int, size: int, rng: random.Random) -> list[Wire]:
    wire = Wire(port).begin()
    packed = gzip.compress(bombs(size, 0, rng))
    for _ in range(20):
        wire.call(rng.choice((_SUBMIT, _STREAM)), framed(packed, compressed=True), more=[("grpc-encoding", "gzip")])
    return [wire]


def _trickle(port: int, size: int, rng: random.Random) -> list[Wire]:
    wire = Wire(port).begin()
    stream = wire.next()
    wire.say(headers(stream, _STREAM))
    for _ in range(min(size, 500)):
        wire.say(data(stream, framed(b"\x12\x00" * rng.randrange(1, 1000))))
    return [wire]


def _noise(port: int, size: int, rng: random.Random) -> list[Wire]:
    wire = Wire(port)
    wire.say(rng.choice((b"", b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00")) + rng.randbytes(size))
    return [wire]


SHAPES: dict[str, Shape] = {
    "messages of many fields": _messages,
    "messages withheld": _withheld,
    "calls without a message": _empty,
    "silent connections": _silent,
    "watches": _watches,
    "answers not taken": _deaf,
    "headers": _fields,
    "calls given up": _resets,
    "control frames": _frames,
    "compressed messages": _packed,
    "streams of empty batches": _trickle,
    "noise": _noise,
}
"""All of them."""


class Climber:
    """Looks for what takes most memory and time: mostly near to what took most before, now and then elsewhere."""

    def __init__(self, port: int, pid: int, seed: int) -> None:
        self._port = port
        self._pid = pid
        self._attacked = workers(pid)
        self._rng = random.Random(seed)
        self._held: deque[Wire] = deque()
        self.harm: dict[tuple[str, int], float] = {}
        """How much memory (MB) and processor time (s) a shape at a size (in powers of two) has taken at the most."""
        self.bursts = 0

    def burst(self) -> None:
        """Attack once."""
        name, power = self._choice()
        memory, seconds = self._taken()
        try:
            self._held.extend(
                SHAPES[name](self._port, self._rng.randrange(1 << power - 1, 1 << power) or 1, self._rng)
            )
        except OSError:
            time.sleep(0.01)  # no place for a connection
        grown, spent = self._taken()
        self.harm[name, power] = max(self.harm.get((name, power), 0.0), (grown - memory) / 1e6 + spent - seconds)
        self.bursts += 1
        while len(self._held) > _HELD:
            self._held.popleft().close()

    def worst(self) -> list[tuple[str, int]]:
        """What has taken most, first."""
        return sorted(self.harm, key=lambda each: -self.harm[each])

    def end(self) -> None:
        """Let go of everything."""
        for wire in self._held:
            wire.close()

    def _choice(self) -> tuple[str, int]:
        if self.harm and self._rng.random() < 0.4:
            name, power = self._rng.choice(self.worst()[:8])
            return name, min(max(power + self._rng.choice((-1, 0, 1)), 1), 20)
        return self._rng.choice(list(SHAPES)), self._rng.randrange(1, 21)

    def _taken(self) -> tuple[float, float]:
        """The memory of those that are attacked, and their processor time."""
        try:
            return memory_bytes(self._attacked), cpu_seconds(self._attacked)
        except FileNotFoundError:  # another one has taken its place
            self._attacked = workers(self._pid)
            return memory_bytes(self._attacked), cpu_seconds(self._attacked)


def main() -> None:
    """Attack a port, and the server behind it, for so many seconds: PORT PID SECONDS SEED ADDRESSES."""
    port, pid, seconds, seed, addresses = map(int, sys.argv[1:6])
    Wire.addresses = [f"127.0.1.{number + 1}" for number in range(addresses)]
    climber = Climber(port, pid, seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        climber.burst()
    climber.end()
    print(f"{climber.bursts} bursts")
    for name, power in climber.worst()[:10]:
        print(f"{climber.harm[name, power]:.1f}  {name}, up to 2^{power}")


if __name__ == "__main__":
    main()
