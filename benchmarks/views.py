"""What looking costs: ingest with and without a page that is open and a Prometheus that scrapes, in one run."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import numpy as np

from deniable import Collection
from deniable.v1.report_service_pb2 import StreamReportsRequest, SubmitReportsRequest
from deniable.wire.upload import ONCE
from deniable_aggregator.planning.fleet import batches
from deniable_aggregator.planning.truth import Truth

__all__ = ["measure"]

_METRICS = 100
_DAYS = 8
_BEFORE = 2000
"""Devices of each earlier day."""
_WINDOW_SECONDS = 6.0
_PAIRS = 5
_LOOK_SECONDS = 3.0
"""A page asks so often; it is asked as often for /metrics, which Prometheus does every fifteen seconds."""
_TOGETHER = 64
"""Batches of a message: as many as fit in one."""
_UNANSWERED = 10
_STREAM = "/deniable.v1.ReportService/StreamReports"

_ASKED = ('kind = "boolean"', 'kind = "category"\nvalues = ["a", "b"]')
_TEXT = '[collection]\nname = "big"\nepoch = "1d"\nowner = "a@b.example"\n[budget]\nepoch = 100\n' + "".join(
    f'[metrics.m{number:03}]\ndescription = "It"\nepsilon = 1\n{_ASKED[number % 2]}\n' for number in range(_METRICS)
)


def measure() -> str:
    """A table: batches a second with and without looks, and the ratio of neighbouring windows."""
    return asyncio.run(_measure())


async def _measure() -> str:
    collection = Collection.loads(_TEXT)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "metrics.toml"
        file.write_text(_TEXT)
        async with _serving(Path(directory) / "data", file) as (endpoint, page):
            load = _Load(collection)
            async with grpc.aio.insecure_channel(endpoint, [ONCE]) as channel:
                await load.days_before(channel)
                running = asyncio.create_task(load.run(channel))
                alone, watched, looks = await _windows(load, page)
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
    ratios = [own / other for own, other in zip(watched, alone, strict=True)]
    return (
        "# What looking costs\n\n"
        f"One worker takes batches of {_METRICS} reports from a stream. In every second window of "
        f"{_WINDOW_SECONDS:g} s a page over {_DAYS} days of all {_METRICS} metrics and /metrics are asked for every "
        f"{_LOOK_SECONDS:g} s; between two looks every answer has changed.\n\n"
        "| | median of windows |\n|-|-|\n"
        f"| batches a second, nobody looks | {statistics.median(alone):,.0f} |\n"
        f"| batches a second, with looks | {statistics.median(watched):,.0f} |\n"
        f"| ratio of neighbours | {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f} |\n"
        f"| one look, page and /metrics | {1000 * statistics.median(looks):.0f} ms |\n"
    )


async def _windows(load: _Load, page: str) -> tuple[list[float], list[float], list[float]]:
    alone: list[float] = []
    watched: list[float] = []
    looks: list[float] = []
    await asyncio.sleep(2)
    for _ in range(_PAIRS):
        alone.append(await load.rate(_WINDOW_SECONDS))
        looking = asyncio.create_task(_look(page, looks))
        watched.append(await load.rate(_WINDOW_SECONDS))
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
    return alone, watched, looks


async def _look(page: str, looks: list[float]) -> None:
    """In a thread: the load must not wait for it."""
    while True:
        began = time.perf_counter()
        for path in (f"/api/v1/collections/big/overview?trend={_DAYS}&rows=8", "/metrics"):
            await asyncio.to_thread(_fetch, page + path)
        looks.append(time.perf_counter() - began)
        await asyncio.sleep(max(_LOOK_SECONDS - (time.perf_counter() - began), 0))


def _fetch(url: str) -> None:
    with urllib.request.urlopen(url, timeout=30) as response:
        response.read()


class _Load:
    """Batches without end, on one stream."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        truth = {
            name: ([True, False] if metric.kind.name == "boolean" else ["a", "b"], [1.0, 1.0])
            for name, metric in collection.metrics.items()
        }
        self._truth = Truth(truth)
        self._today = collection.epoch_at(time.time())
        self._stored = 0
        self._free = asyncio.Semaphore(_UNANSWERED)

    def _drawn(self, epoch: int, devices: int) -> Iterator[SubmitReportsRequest]:
        generator = np.random.default_rng()
        return batches(self._collection, self._truth.draw(devices, generator), epoch, generator)

    async def days_before(self, channel: grpc.aio.Channel) -> None:
        """The days that a page shows besides today."""
        for ago in range(1, _DAYS):
            own = list(self._drawn(self._today - ago, _BEFORE))
            messages = [own[start : start + _TOGETHER] for start in range(0, len(own), _TOGETHER)]

            async def sent(messages: list[list[SubmitReportsRequest]] = messages) -> AsyncIterator[bytes]:
                for sequence, some in enumerate(messages):
                    yield StreamReportsRequest(sequence=sequence, batches=some).SerializeToString()

            stream: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(_STREAM)
            async for _ in stream(sent()):
                pass

    async def run(self, channel: grpc.aio.Channel) -> None:
        """Send until cancelled; the same reports under new ids."""
        pool = list(self._drawn(self._today, _TOGETHER))

        async def sent() -> AsyncIterator[bytes]:
            while True:
                await self._free.acquire()
                ids = os.urandom(16 * len(pool))
                for number, batch in enumerate(pool):
                    batch.batch_id = ids[16 * number : 16 * number + 16]
                yield StreamReportsRequest(sequence=1, batches=pool).SerializeToString()

        stream: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(_STREAM)
        async for _ in stream(sent()):
            self._stored += len(pool)
            self._free.release()

    async def rate(self, seconds: float) -> float:
        """Batches that were acknowledged a second."""
        before, began = self._stored, time.perf_counter()
        await asyncio.sleep(seconds)
        return (self._stored - before) / (time.perf_counter() - began)


@asynccontextmanager
async def _serving(data: Path, file: Path) -> AsyncIterator[tuple[str, str]]:
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).parent / "deniable"),
        *("serve", str(file), "--data", str(data), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    try:
        endpoint = (await process.stdout.readline()).decode().rsplit(" on ", 1)[1].strip()
        page = (await process.stdout.readline()).decode().rsplit(" at ", 1)[1].strip().rstrip("/")
        yield endpoint, page
    finally:
        process.terminate()
        await process.wait()
