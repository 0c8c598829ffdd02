"""Frames of HTTP/2 by the thousand: a worker answers devices meanwhile, and counts what they sent, nothing else."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from benchmarks.hostile_wire import PREFACE, Wire, frame, framed, headers
from benchmarks.processes import memory_bytes

from deniable_aggregator.store import CounterKey
from support.aggregator_server import Client
from support.aggregators import DIGEST, EXACT, Aggregator, acknowledged, connections, running, today
from support.stored import stored_in
from support.waiting import until

SUBMIT = "/deniable.v1.ReportService/SubmitReports"
CHECK = "/grpc.health.v1.Health/Check"
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION, UNKNOWN = (*range(10), 0xBE)
TOGETHER = 1000
"""Frames that are said at a time."""
TIMES = 200
MOST_BYTES = 64 << 20
"""A worker may have so much more memory after all of them: a fifth of what was sent."""
DEVICES = 4
_LARGEST = b"\x7f\xff\xff\xff"
_WINDOW_OF_NONE = b"\0\4\0\0\0\0"


def _again(wire: Wire, what: bytes, times: int = TIMES) -> None:
    for _ in range(times):
        if wire.open:
            wire.say(what * TOGETHER, 0.2)


def _resets(wire: Wire) -> None:
    for _ in range(5 * TOGETHER):
        if wire.open:
            wire.reset(wire.call(SUBMIT, framed(bytes(10)), end=False))


def _unfinished(wire: Wire) -> bytes:
    """Headers that say that more of them come."""
    begun = headers(wire.next(), SUBMIT)
    return begun[:4] + b"\0" + begun[5:]


def _continued(wire: Wire) -> None:
    wire.say(_unfinished(wire))
    _again(wire, frame(CONTINUATION, 0, 1, b"\x00\x01x\x64" + bytes(100)), 20)


def _continued_by_nothing(wire: Wire) -> None:
    wire.say(_unfinished(wire))
    _again(wire, frame(CONTINUATION, 0, 1))


def _empty(wire: Wire) -> None:
    wire.say(headers(wire.next(), SUBMIT))
    _again(wire, frame(DATA, 0, 1))


def _long_headers(wire: Wire) -> None:
    for _ in range(40):
        wire.call(SUBMIT, framed(b""), more=[("x-long", "v" * 100_000)])


def _packed_headers(wire: Wire) -> None:
    """A field of 4,000 bytes that the other end is to remember, and then eight thousand times by its number."""
    for number in range(200):
        own = headers(wire.next(), SUBMIT)
        more = b"\xbe" * 8000 if number else b"\x40\x01x\x7f\xa1\x1e" + bytes([118]) * 4000
        wire.say((len(own) - 9 + len(more)).to_bytes(3, "big") + own[3:4] + b"\5" + own[5:] + more)


def _windows_too_large(wire: Wire) -> None:
    stream = wire.next()
    wire.say(headers(stream, SUBMIT) + frame(WINDOW, 0, stream, _LARGEST) * 2 + frame(WINDOW, 0, 0, _LARGEST) * 2)


def _no_window(wire: Wire) -> None:
    wire.say(frame(SETTINGS, 0, 0, _WINDOW_OF_NONE))
    for _ in range(TIMES):
        wire.call(CHECK, framed(b""))


def _gone(wire: Wire) -> None:
    """Calls whose answers wait to be written when their connection ends: of all of them the headers have come."""
    wire.say(frame(SETTINGS, 0, 0, _WINDOW_OF_NONE))
    for _ in range(20):
        wire.call(CHECK, framed(b""))
    heard = b""
    while wire.open and heard.count(b"\1\4\0\0\0") < 20:  # frames of headers that are whole, each of a call
        heard += wire.hear()
        time.sleep(0.01)


SHAPES: dict[str, Callable[[Wire], None]] = {
    "resets": _resets,
    "headers that go on": _continued,
    "headers that go on with nothing": _continued_by_nothing,
    "empty messages": _empty,
    "long headers": _long_headers,
    "packed headers": _packed_headers,
    "windows beyond what there is": _windows_too_large,
    "no window": _no_window,
    "answers that nobody takes": _gone,
    "windows": lambda wire: _again(wire, frame(WINDOW, 0, 0, b"\0\0\0\1")),
    "settings": lambda wire: _again(wire, frame(SETTINGS, 0, 0, b"\0\4\0\1\0\0")),
    "tables": lambda wire: _again(
        wire, frame(SETTINGS, 0, 0, b"\0\1\0\0\0\0") + frame(SETTINGS, 0, 0, b"\0\1\0\0\x10\0")
    ),
    "pings": lambda wire: _again(wire, frame(PING, 0, 0, bytes(8))),
    "priorities": lambda wire: _again(wire, frame(PRIORITY, 0, 1, b"\0\0\0\0\x10")),
    "farewells": lambda wire: _again(wire, frame(GOAWAY, 0, 0, bytes(8))),
    "unknown frames": lambda wire: _again(wire, frame(UNKNOWN, 0, 0, bytes(100)), 60),
    "pushes": lambda wire: wire.say(frame(PUSH, 4, 1, b"\0\0\0\2")),
    "a frame without an end": lambda wire: wire.say(b"\xff\xff\xff" + frame(DATA, 0, 1)[3:] + bytes(1 << 20)),
}


async def _devices_beside(attack: Callable[[], object], client: Client) -> int:
    """Devices while it is attacked, and after that; how many."""
    attacking = asyncio.create_task(asyncio.to_thread(attack))
    number = 0
    while number < DEVICES or not attacking.done():
        await acknowledged(client)
        number += 1
    await attacking
    await acknowledged(client)
    return number + 1


async def _stored(data: Path) -> int:
    async with stored_in(data) as store:
        (counters,) = await store.read([CounterKey(DIGEST, 0, today(), 1)])
    return 0 if counters is None else int(counters.sum())


def _said(aggregator: Aggregator, shape: Callable[[Wire], None]) -> None:
    wire = Wire(aggregator.port).begin().settle()
    try:
        shape(wire)
    finally:
        wire.close()


def test_no_flood_of_frames_keeps_devices_out(tmp_path: Path) -> None:
    """One shape after the other, at one worker: the same process answers all devices, with little more memory, counts
    what they sent, and says nothing of callers who do not wait for their answers."""
    file, log = tmp_path / "metrics.toml", tmp_path / "log"
    file.write_text(EXACT)

    async def flood() -> int:
        number = 0
        async with running(file, "--data", tmp_path / "data", log=log) as aggregator:
            async with connections(aggregator.port, 1) as (client,):
                await acknowledged(client)
                workers = aggregator.workers()
                before = memory_bytes(set(workers))
                for shape in SHAPES.values():
                    number += await _devices_beside(partial(_said, aggregator, shape), client)
                assert aggregator.workers() == workers
                assert memory_bytes(set(workers)) < before + MOST_BYTES
            assert await aggregator.end() == 0
        return number + 1

    assert asyncio.run(flood()) == asyncio.run(_stored(tmp_path / "data"))
    assert "Traceback" not in log.read_text()


@pytest.mark.parametrize("begun", [b"", PREFACE[:10], PREFACE, PREFACE + frame(HEADERS, 0, 1)[:5]])
def test_those_who_speak_slowly_keep_nobody_out(tmp_path: Path, begun: bytes) -> None:
    """Two hundred that have begun to speak, and say another byte now and then: devices are answered, and the worker's
    files are its own again when they have gone."""
    file = tmp_path / "metrics.toml"
    file.write_text(EXACT)

    def files_of(pid: int) -> int:
        return len(os.listdir(f"/proc/{pid}/fd"))

    async def attack() -> None:
        async with (
            running(file, "--data", tmp_path / "data") as aggregator,
            connections(aggregator.port, 1) as (client,),
        ):
            await acknowledged(client)
            (worker,) = aggregator.workers()
            before = files_of(worker)
            wires = [Wire(aggregator.port) for _ in range(200)]

            def speak() -> None:
                for wire in wires:
                    wire.say(begun)
                for _ in range(4):
                    for wire in wires:
                        wire.say(b"\0", 0.1)

            await _devices_beside(speak, client)
            for wire in wires:
                wire.close()
            await until(lambda: files_of(worker) <= before + DEVICES, "they have gone")
            assert aggregator.workers() == [worker]

    asyncio.run(attack())
