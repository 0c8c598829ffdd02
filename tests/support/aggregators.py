"""`deniable serve` as a process of its own, with its workers and its store, for tests that kill any of them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path

import grpc
import pytest

from deniable import Collection
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator.serving.nursery import Child, Nursery
from support.aggregator_server import DAY, Client, connected, request
from support.template import Program, started
from support.waiting import PATIENCE, until

__all__ = [
    "CONNECTIONS",
    "DESK",
    "DIGEST",
    "EXACT",
    "LEVELS",
    "NURSE",
    "OTHER",
    "OTHER_DIGEST",
    "WORKER",
    "WORKERS",
    "Aggregator",
    "acknowledged",
    "answered",
    "batch",
    "becomes",
    "connections",
    "gone",
    "running",
    "started_by",
    "starting_late",
    "today",
]

WORKER, DESK, NURSE = "deniable-worker", "deniable-desk", "deniable-nurse"
"""What the processes of an aggregator are called."""
WORKERS = 2
CONNECTIONS = 24
"""Spread by the kernel: all of them at one of two workers once in eight million times."""

EXACT = f"""
[collection]
name = "exact"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = 1.0
[segments]
lane = ["a", "b", "c"]
[metrics.level]
kind = "category"
description = "The level"
epsilon = 1.0
values = {[f"v{number}" for number in range(4096)]}
"""
"""A collection whose one column takes thousands of different payloads."""
OTHER = EXACT.replace('name = "exact"', 'name = "other"')
DIGEST, OTHER_DIGEST = (Collection.loads(text).digest for text in (EXACT, OTHER))
LEVELS = Collection.loads(EXACT).columns[0].shape.counters


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def started_by(pid: int) -> dict[int, str]:
    """The processes that a process has started, and they, with what each is called."""
    found = {}
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, _said(task / "children").split()):
                if not gone(child):
                    found[child] = _said(Path(f"/proc/{child}/comm")).strip()
                    found |= started_by(child)
    return found


def _said(file: Path) -> str:
    """What the kernel says of a process or a thread; nothing when it has just ended."""
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


class Process:
    """The process of an aggregator, for who waits for it on a loop."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.pid = program.pid
        self.kill = program.kill
        self.send_signal = program.send_signal

    @property
    def returncode(self) -> int | None:
        """How it has ended, or None."""
        return self._program.poll()

    async def wait(self) -> int:
        """How it has ended, once it has."""
        await until(lambda: self.returncode is not None)
        assert self.returncode is not None
        return self.returncode


class Aggregator:
    """An aggregator that runs."""

    def __init__(self, process: Process, endpoint: str) -> None:
        self.process = process
        self.endpoint = endpoint
        self.orphans: list[int] = []
        """What it had started when it was killed."""

    @property
    def port(self) -> int:
        """Where its workers listen."""
        return int(self.endpoint.rpartition(":")[2])

    def children(self) -> dict[int, str]:
        """The processes that it has started, with what they are called."""
        return started_by(self.process.pid)

    def workers(self) -> list[int]:
        """Its workers."""
        return [pid for pid, name in self.children().items() if name == WORKER]

    def store(self) -> int:
        """Its embedded store."""
        (pid,) = (pid for pid, name in self.children().items() if "valkey" in name)
        return pid

    def kill(self) -> None:
        """Kill it. What it has started ends by itself, a little later."""
        self.orphans = list(self.children())
        self.process.kill()

    async def end(self) -> int:
        """Ask it to end; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return await self.process.wait()


@asynccontextmanager
async def running(
    *arguments: str | Path,
    listen: str = "127.0.0.1:0",
    log: Path | None = None,
    most: tuple[int, int] | None = None,
    anew: bool = False,
) -> AsyncIterator[Aggregator]:
    """An aggregator, once it serves; killed in the end, and all that it has started gone. `most` limits its files.
    `anew`: it loads what it needs."""
    with log.open("ab") if log else nullcontext() as errors:
        command = ("serve", *arguments, "--listen", listen, "--http", "off")
        program = started(*command, stderr=errors.fileno() if errors else None, most=most, anew=anew)
    process = Process(program)
    children: list[int] = []
    with program.stdout:
        try:
            line = await asyncio.to_thread(program.stdout.readline)
            assert " on " in line, f"not serving: {line!r}"
            aggregator = Aggregator(process, line.rsplit(" on ", 1)[1].strip())
            yield aggregator
            if process.returncode is None:
                children = list(aggregator.children())
            children += aggregator.orphans
        finally:
            process.kill()
            await process.wait()
    await until(lambda: all(map(gone, children)))


@asynccontextmanager
async def connections(port: int, number: int) -> AsyncIterator[list[Client]]:
    """Clients on connections of their own that come back quickly; the kernel spreads them over the workers."""
    quick = (("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 100))
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(connected(port, *quick)) for _ in range(number)]


def today() -> int:
    """The epoch that it is now."""
    return int(time.time() // DAY)


def batch(digest: int = DIGEST) -> SubmitReportsRequest:
    """A batch for a collection."""
    return request((0, 1), epoch=today(), collection_digest=digest)


async def acknowledged(client: Client, digest: int = DIGEST) -> None:
    """Send one batch until it is acknowledged, as a device does."""
    one = batch(digest)
    while True:
        with contextlib.suppress(grpc.aio.AioRpcError):
            await client.submit(one)
            return
        await asyncio.sleep(0.02)


def starting_late(monkeypatch: pytest.MonkeyPatch) -> tuple[asyncio.Event, asyncio.Event]:
    """From now on a supervisor of this process has its processes started when that is told; and whether one waits."""
    start, starting, told = Nursery.start, asyncio.Event(), asyncio.Event()

    async def start_late(nursery: Nursery, end: socket.socket) -> Child:
        starting.set()
        await told.wait()
        return await start(nursery, end)

    monkeypatch.setattr(Nursery, "start", start_late)
    return starting, told


async def answered(client: Client, batch: SubmitReportsRequest) -> grpc.StatusCode:
    """How a call ends."""
    try:
        await client.submit(batch)
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def becomes(client: Client, digest: int, code: grpc.StatusCode) -> None:
    """Return as soon as calls for a collection end like this."""
    async with asyncio.timeout(PATIENCE):
        while await answered(client, batch(digest)) is not code:  # noqa: ASYNC110 - another process is waited for
            await asyncio.sleep(0.02)
