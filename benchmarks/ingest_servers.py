"""The servers that are compared: python -m benchmarks.ingest_servers bare|whole|naive DIRECTORY WORKERS

    bare   answers, and does nothing else: the most calls that grpc.aio can take
    whole  the aggregator, on an embedded store that syncs every change to disk
    naive  the same store, one pipeline of commands a call

h2load repeats one body. Each call is given an id of its own and one of a thousand contents here, so that
what is measured is the way of new batches.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import secrets
import signal
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc
import uvloop

from benchmarks.processes import Running
from deniable import Collection
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.ingest import NAME, ReportService
from deniable_aggregator.planning.fleet import reported
from deniable_aggregator.serving import server
from deniable_aggregator.serving.sources import Sources
from deniable_aggregator.serving.supervisor import Program, Supervisor, serve
from deniable_aggregator.store import EmbeddedStore

__all__ = [
    "COLLECTION",
    "COLLECTION_TEXT",
    "METRICS",
    "SIZES",
    "batch",
    "nothing",
    "say",
    "take_as_new",
    "until_told",
]

DAY = 86400
METRICS = 50
SIZES = (20, METRICS)
"""How many of the metrics a batch answers."""
_CONTENTS = 1000


def _metric(number: int) -> str:
    kind = (
        'kind = "boolean"',
        f'kind = "category"\nvalues = {[f"v{value}" for value in range(5)]}',
        f'kind = "category"\nvalues = {[f"v{value}" for value in range(16)]}',
        f'kind = "category"\nvalues = {[f"v{value}" for value in range(40)]}',
        'kind = "number"\nrange = [0, 480]\nstep = 1',
    )[number % 5]
    return f'[metrics.m{number:02}]\ndescription = "A metric"\nepsilon = 1.0\n{kind}\n'


COLLECTION_TEXT = f"""
[collection]
name = "bench"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = {METRICS}.0
[segments]
platform = ["linux", "macos", "windows"]
channel = ["stable", "beta"]
{"".join(map(_metric, range(METRICS)))}"""
COLLECTION = Collection.loads(COLLECTION_TEXT)
"""Fifty metrics, in six segments: booleans, categories of 5, 16 and 40 values, numbers."""
_VALUES: tuple[Any, ...] = (True, "v1", "v1", "v1", 42)


def batch(size: int) -> SubmitReportsRequest:
    """A batch of a device that answers so many metrics."""
    answers = {f"m{number:02}": _VALUES[number % 5] for number in range(size)}
    device = reported(COLLECTION, answers, int(time.time() // DAY), secrets.randbelow(COLLECTION.segment_count))
    return SubmitReportsRequest.FromString(device.request)


class _Contents:
    """Ids and contents for calls that all came with one body."""

    def __init__(self) -> None:
        self._prefix = os.urandom(8)
        self._number = itertools.count()
        self._batches: dict[int, Any] = {}
        for size in SIZES:
            self._batches[8 * size] = itertools.cycle([batch(size) for _ in range(_CONTENTS)])

    def freshened(self, request: SubmitReportsRequest) -> SubmitReportsRequest:
        """A new batch, of the same number of reports."""
        fresh: SubmitReportsRequest = next(self._batches[len(request.rows)])
        fresh.batch_id = self._prefix + next(self._number).to_bytes(8, "big")
        return fresh


class _FreshReportService(ReportService):
    """The service, for batches that are all new."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._contents = _Contents()

    def admit(self, request: SubmitReportsRequest) -> Any:
        """Let a new batch in."""
        return super().admit(self._contents.freshened(request))


def take_as_new() -> None:
    """Have workers that are forked from this process take every batch as a new one."""
    replaced: Any = server
    replaced.ReportService = _FreshReportService


def nothing(catalog: Catalog) -> Sequence[server.AddService]:
    """What the desk answers here."""
    assert catalog.collections()
    return []


def _whole(directory: Path, number: int) -> None:
    directory.mkdir()
    file = directory / "metrics.toml"
    file.write_text(COLLECTION_TEXT)
    settings = server.Settings(listen="127.0.0.1:0", data_dir=directory / "data")
    from benchmarks.ingest_servers import nothing as findable  # the desk could not import it from __main__

    take_as_new()  # workers are forked from this process
    supervisor = Supervisor(Program(settings, Sources((file,)), findable), number)
    serve(supervisor, lambda: say(supervisor.port))


async def _listen(handler: Any, port: int) -> tuple[grpc.aio.Server, int]:
    """A server of the one method, with the options of the aggregator's, and its port."""
    listening = grpc.aio.server(options=(*server.OPTIONS, ("grpc.so_reuseport", 1)))
    handlers: dict[str, Any] = {"SubmitReports": grpc.unary_unary_rpc_method_handler(handler)}
    listening.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(NAME, handlers)])
    bound = listening.add_insecure_port(f"127.0.0.1:{port}")
    await listening.start()
    return listening, bound


def say(port: int) -> None:
    """Let the one who has started this process know."""
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()


async def until_told() -> None:
    """Wait for SIGTERM."""
    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    await end.wait()


async def _bare(directory: Path, number: int, port: int) -> None:
    async def answer(_message: bytes, _context: object) -> bytes:
        return b""

    listening, port = await _listen(answer, port)
    others = [Running(__spec__.name, "bare", str(directory), "1", str(port)) for _ in range(number - 1)]
    say(port)
    await until_told()
    for other in others:
        other.end()
    await listening.stop(0)


async def _naive(directory: Path) -> None:
    from redis.asyncio import BlockingConnectionPool, Redis

    store = EmbeddedStore(directory)
    await store.start()
    redis = Redis.from_pool(BlockingConnectionPool.from_url(store.url, protocol=2, max_connections=32, timeout=None))
    contents = _Contents()

    async def add(message: bytes, _context: object) -> bytes:
        request = SubmitReportsRequest.FromString(message)
        request = contents.freshened(request)
        if not await redis.set(b"seen:" + request.batch_id, 1, nx=True, ex=DAY):
            return b"\x08\x01"
        pipeline = redis.pipeline(transaction=False)
        for (row,) in struct.iter_unpack("<Q", request.rows):
            pipeline.hincrby(f"counts:{row >> 48}:{request.epoch}:{request.segment}", str(row & (1 << 48) - 1), 1)
        await pipeline.execute()
        return b""

    listening, port = await _listen(add, 0)
    say(port)
    await until_told()
    await listening.stop(0)
    await redis.aclose()
    await store.stop()


def main() -> None:
    """Serve as one of the kinds."""
    kind, directory, number = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    if kind == "bare":
        uvloop.run(_bare(directory, number, int(sys.argv[4]) if len(sys.argv) > 4 else 0))
    elif kind == "naive":
        uvloop.run(_naive(directory))
    else:
        _whole(directory, number)


if __name__ == "__main__":
    main()
