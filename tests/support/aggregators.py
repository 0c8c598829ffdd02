"""`deniable serve` as a process of its own, with its workers and its store, for tests that kill any of them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from pathlib import Path

from deniable import Collection
from support.aggregator_server import Client, connected
from support.commands import COMMAND
from support.waiting import until

__all__ = ["EXACT", "LEVELS", "Aggregator", "connections", "gone", "running"]

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

LEVELS = Collection.loads(EXACT).columns[0].shape.counters


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def _said(file: Path) -> str:
    """What the kernel says of a process or a thread; nothing when it has just ended."""
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


class Aggregator:
    """An aggregator that runs."""

    def __init__(self, process: asyncio.subprocess.Process, endpoint: str) -> None:
        self.process = process
        self.endpoint = endpoint
        self.orphans: list[int] = []
        """What it had started when it was killed."""

    @property
    def port(self) -> int:
        """Where its workers listen."""
        return int(self.endpoint.rpartition(":")[2])

    def children(self) -> dict[int, str]:
        """The processes that it has started, with their command lines."""
        found = {}
        with suppress(FileNotFoundError):  # it has just been killed, and nobody has noticed
            for task in Path(f"/proc/{self.process.pid}/task").iterdir():
                for child in _said(task / "children").split():
                    if not gone(int(child)):
                        found[int(child)] = _said(Path(f"/proc/{child}/cmdline")).replace("\0", " ")
        return found

    def workers(self) -> list[int]:
        """Its workers."""
        return [pid for pid, command in self.children().items() if "deniable_aggregator.workers" in command]

    def store(self) -> int:
        """Its embedded store."""
        (pid,) = (pid for pid, command in self.children().items() if "valkey" in command)
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
    *arguments: str | Path, listen: str = "127.0.0.1:0", log: Path | None = None
) -> AsyncIterator[Aggregator]:
    """An aggregator, once it serves; killed in the end, and all that it has started gone."""
    with log.open("ab") if log else nullcontext() as errors:
        process = await asyncio.create_subprocess_exec(
            COMMAND,
            *("serve", *map(str, arguments), "--listen", listen, "--http", "off"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
    children: list[int] = []
    try:
        assert process.stdout
        line = (await process.stdout.readline()).decode()
        assert " on " in line, f"not serving: {line!r}"
        aggregator = Aggregator(process, line.rsplit(" on ", 1)[1].strip())
        yield aggregator
        if process.returncode is None:
            children = list(aggregator.children())
        children += aggregator.orphans
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    await until(lambda: all(map(gone, children)))


@asynccontextmanager
async def connections(port: int, number: int) -> AsyncIterator[list[Client]]:
    """Clients on connections of their own that come back quickly; the kernel spreads them over the workers."""
    quick = (("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 100))
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(connected(port, *quick)) for _ in range(number)]
