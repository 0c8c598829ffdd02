"""What questions cost, and what devices notice of them: their calls beside hostile readers, in one run."""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc

from deniable import Collection
from deniable.v1 import estimate_service_pb2 as pb
from deniable.v1 import estimate_service_pb2_grpc
from deniable.v1.report_service_pb2 import SubmitReportsRequest, SubmitReportsResponse
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.analysis.prices import MOST, Price
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.store import EmbeddedStore, Store
from deniable_aggregator.telling.questions import Questions

__all__ = ["measure"]

_WINDOW_SECONDS = 6.0
_PAIRS = 4
_PAUSE = 0.005
"""Between two calls of the device."""
_ASKERS = 8
"""Hostile readers, each on a connection of its own; each asks again at once."""
_SUBMIT = "/deniable.v1.ReportService/SubmitReports"
_VALUES = [f"v{number}" for number in range(16)]
_TEXT = (
    '[collection]\nname = "big"\nepoch = "1d"\nowner = "a@b.example"\n[budget]\nepoch = 100\n'
    f"[segments]\none = {_VALUES}\nother = {_VALUES}\n"
    + "".join(
        f'[metrics.m{number:02}]\nkind = "category"\nvalues = ["a", "b", "c", "d", "e"]\n'
        'description = "It"\nepsilon = 1\n'
        for number in range(20)
    )
)
_ALL, _ONE = "20 metrics", "1 metric"


def measure() -> str:
    """Two tables: prices beside processor time, and a device's calls with and without hostile readers."""
    collection = Collection.loads(_TEXT)
    metrics = list(collection.metrics.values())
    fits = max(epochs for epochs in range(1, 3661) if Price(collection, metrics, epochs).counters <= MOST)
    costs = asyncio.run(_costs(collection, ((_ALL, 1), (_ALL, 30), (_ALL, 365), (_ALL, fits), (_ONE, 3660))))
    alone, beside, answered = asyncio.run(_beside(fits))
    lines = "".join(
        f"| {what}, {epochs:,} epochs | {price:,} | {used:.2f} s |\n" for what, epochs, price, used in costs
    )
    return (
        "# What questions cost\n\n"
        "A collection of 256 segments and 20 categories, asked over gRPC without anything being remembered. The "
        f"bound is {MOST:,} counters.\n\n"
        f"| question | price in counters | processor time |\n|-|-|-|\n{lines}\n"
        f"A device sends a batch every {1000 * _PAUSE:g} ms to one worker. In every second window of "
        f"{_WINDOW_SECONDS:g} s {_ASKERS} readers ask for everything over {fits:,} epochs, the dearest question that "
        f"is answered, and for ten years, which is refused, each again at once; no two ask alike. {answered:,} "
        "questions were answered or refused meanwhile.\n\n"
        "| a device's call, median of windows | p50 | p99 | longest |\n|-|-|-|-|\n"
        f"| nobody asks | {_told(alone)} |\n| beside hostile questions | {_told(beside)} |\n"
    )


def _told(windows: Sequence[Sequence[float]]) -> str:
    def at(share: float) -> float:
        return statistics.median(sorted(own)[min(int(len(own) * share), len(own) - 1)] for own in windows)

    return " | ".join(f"{1000 * at(share):.1f} ms" for share in (0.5, 0.99, 1.0))


async def _costs(collection: Collection, asked: Sequence[tuple[str, int]]) -> list[tuple[str, int, int, float]]:
    found = []
    with tempfile.TemporaryDirectory() as directory:
        embedded = EmbeddedStore(Path(directory))
        await embedded.start()
        store = Store(embedded.url)
        await store.open()
        for what, epochs in asked:
            questions = Questions(Analyst(Catalog([collection]), store))
            metric, query = None if what == _ALL else "m00", pb.Query(epochs=epochs)
            began = time.process_time()
            await questions.estimates("", "", query, metric)
            found.append((what, epochs, questions.price("", query, metric).counters, time.process_time() - began))
        await store.close()
        await embedded.stop()
    return found


async def _beside(epochs: int) -> tuple[list[list[float]], list[list[float]], int]:
    """Latencies of each window without readers, and with them; and how many questions had an end."""
    collection, spawning = Collection.loads(_TEXT), multiprocessing.get_context("spawn")
    alone: list[list[float]] = []
    beside: list[list[float]] = []
    async with _serving() as endpoint, grpc.aio.insecure_channel(endpoint) as channel:
        submit = channel.unary_unary(
            _SUBMIT, SubmitReportsRequest.SerializeToString, SubmitReportsResponse.FromString
        )
        asking, answered = spawning.Event(), spawning.Value("l", 0)
        hostile = spawning.Process(target=_ask, args=(endpoint, epochs, asking, answered), daemon=True)
        hostile.start()
        await _window(submit, collection, 2.0)
        for _ in range(_PAIRS):
            alone.append(await _window(submit, collection, _WINDOW_SECONDS))
            asking.set()
            beside.append(await _window(submit, collection, _WINDOW_SECONDS))
            asking.clear()
            await asyncio.sleep(2)  # questions that are cut leave the desk
        hostile.terminate()
        hostile.join()
    return alone, beside, answered.value


async def _window(submit: Any, collection: Collection, seconds: float) -> list[float]:
    """How long each call took."""
    took, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        batch = SubmitReportsRequest(
            collection_digest=collection.digest,
            batch_id=os.urandom(16),
            epoch=collection.epoch_at(time.time()),
            rows=bytes(8),
        )
        began = time.perf_counter()
        await submit(batch)
        took.append(time.perf_counter() - began)
        await asyncio.sleep(_PAUSE)
    return took


def _ask(endpoint: str, epochs: int, asking: Any, answered: Any) -> None:
    """Be the hostile readers, while it is said so."""
    asyncio.run(_askers(endpoint, epochs, asking, answered))


async def _askers(endpoint: str, epochs: int, asking: Any, answered: Any) -> None:
    numbers = itertools.count(1)

    async def one(number: int) -> None:
        async with grpc.aio.insecure_channel(endpoint, [("grpc.use_local_subchannel_pool", 1)]) as channel:
            service: Any = estimate_service_pb2_grpc.EstimateServiceStub(channel)
            while True:
                if not asking.is_set():
                    await asyncio.sleep(0.05)
                    continue
                query = pb.Query(epochs=3660 if number % 4 == 0 else epochs, confidence=0.9 + next(numbers) * 1e-7)
                try:
                    await service.ListEstimates(pb.ListEstimatesRequest(query=query), timeout=_WINDOW_SECONDS)
                except grpc.aio.AioRpcError as error:
                    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
                        answered.value += 1
                    await asyncio.sleep(0.02)
                else:
                    answered.value += 1

    await asyncio.gather(*map(one, range(_ASKERS)))


@asynccontextmanager
async def _serving() -> AsyncIterator[str]:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "metrics.toml"
        file.write_text(_TEXT)
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).parent / "deniable"),
            *("serve", str(file), "--data", f"{directory}/data", "--listen", "127.0.0.1:0", "--http", "off"),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout
        try:
            yield (await process.stdout.readline()).decode().rsplit(" on ", 1)[1].strip()
        finally:
            process.terminate()
            await process.wait()
