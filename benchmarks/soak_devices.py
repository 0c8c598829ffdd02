"""The honest devices of a soak: what they have sent is known to the last counter, and how long each batch took.

words:
  moment   the second of the soak in which a device had a batch to send
  answered the batch was acknowledged; until then it is sent again, under the same id, as a device does
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import struct
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import grpc

from benchmarks.soak_server import COLLECTION, DAY
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable.wire.upload import ONCE
from deniable_aggregator.planning.fleet import reported

__all__ = ["SUBMIT", "Devices", "Sums", "percentile", "prepared"]

SUBMIT = "/deniable.v1.ReportService/SubmitReports"
_LATE_DAYS = -2
"""A clock that is two days slow: its epoch is still accepted."""
_EARLY_DAYS = 3
"""One that is fast: its epoch has not begun, whatever the aggregator's own clock does here."""
_WRONG = 0.25
"""The share of devices with such clocks, while there are any; half of them are slow."""
_AGAIN = 0.03
"""The share of answers that are lost on the way: the batch is sent again."""
_CONTENTS = 500
_DEADLINE, _PAUSE = 10.0, 0.5


class Sums(NamedTuple):
    """What the store has to have in the end."""

    batches: Counter[int]
    """By epoch."""
    counters: Counter[tuple[int, int, int, int]]
    """By column, epoch, segment and symbol."""

    def add(self, batch: SubmitReportsRequest) -> None:
        """A batch was acknowledged for the first time."""
        self.batches[batch.epoch] += 1
        for (row,) in struct.iter_unpack("<Q", batch.rows):
            self.counters[row >> 48, batch.epoch, batch.segment, row & (1 << 48) - 1] += 1


def prepared(number: int = _CONTENTS) -> list[SubmitReportsRequest]:
    """Batches of devices that randomise as they should: of today, without an id of their own yet."""
    rng = random.Random()
    found = []
    for _ in range(number):
        answers: dict[str, Any] = {"dark": rng.random() < 0.6, "browser": rng.choices("abcd", (5, 3, 1, 1))[0]}
        own = reported(COLLECTION, answers, int(time.time() // DAY), rng.randrange(COLLECTION.segment_count))
        found.append(SubmitReportsRequest.FromString(own.request))
    return found


def percentile(seconds: list[float], percent: float) -> float:
    """Of so many times; 0 of none."""
    ordered = sorted(seconds)
    return ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)] if ordered else 0.0


class Devices:
    """Devices that come at a pace, whether or not those before have been answered."""

    def __init__(self, port: int, pace: float, connections: int = 16) -> None:
        self._port, self._pace, self._connections = port, pace, connections
        self._contents = itertools.cycle(prepared())
        self._began = time.monotonic()
        self._rng = random.Random()
        self._submits: list[Any] = []
        self.sums = Sums(Counter(), Counter())
        self.seconds: dict[int, list[float]] = defaultdict(list)
        """How long batches took until they were acknowledged, by their moment."""
        self.wrong = False
        """Whether some of the devices have clocks that are days wrong."""
        self.early = self.early_stored = self.tries = self.repeated = 0
        """Batches of epochs that have not begun, and those of them that were taken; tries that were not answered with
        an acknowledgement; batches that were sent again although they had been."""
        self.open = 0

    @property
    def moment(self) -> int:
        """The second of the soak that it is."""
        return int(time.monotonic() - self._began)

    @contextlib.asynccontextmanager
    async def reporting(self) -> AsyncIterator[None]:
        """Report all the while; in the end every batch that is open has been answered."""
        over = asyncio.Event()
        async with contextlib.AsyncExitStack() as stack:
            options = [ONCE, ("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 50),
                       ("grpc.min_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 500)]  # fmt: skip
            calls = []
            for _ in range(self._connections):
                channel = grpc.aio.insecure_channel(f"127.0.0.1:{self._port}", options=options)
                calls.append(await stack.enter_async_context(channel))
            self._submits = [channel.unary_unary(SUBMIT) for channel in calls]
            coming = asyncio.create_task(self._come(over))
            try:
                yield
            finally:
                over.set()
                await coming

    async def _come(self, over: asyncio.Event) -> None:
        due, own = time.monotonic(), set()
        while not over.is_set():
            due += self._rng.expovariate(self._pace)
            await asyncio.sleep(max(due - time.monotonic(), 0.0))
            each = asyncio.create_task(self._device())
            own.add(each)
            each.add_done_callback(own.discard)
        while own:
            await asyncio.gather(*own)

    def fresh(self) -> SubmitReportsRequest:
        """The batch of a device that has not sent it yet."""
        batch = SubmitReportsRequest()
        batch.CopyFrom(next(self._contents))
        batch.batch_id = os.urandom(16)
        return batch

    async def finish(self, batch: SubmitReportsRequest, acknowledged: bool = False) -> None:
        """Send a batch until it is acknowledged, which it may be."""
        self.open += 1
        while not acknowledged and not await self._acknowledged(self._rng.choice(self._submits), batch):
            self.tries += 1
            await asyncio.sleep(_PAUSE * (0.5 + self._rng.random()))
        self.open -= 1
        self.sums.add(batch)

    async def _device(self) -> None:
        batch = self.fresh()
        if self.wrong and self._rng.random() < _WRONG:
            early = self._rng.random() < 0.5
            batch.epoch += _EARLY_DAYS if early else _LATE_DAYS
            if early:
                self.early += 1
                self.early_stored += await self._acknowledged(self._rng.choice(self._submits), batch)
                return
        moment, began = self.moment, time.monotonic()
        await self.finish(batch)
        self.seconds[moment].append(time.monotonic() - began)
        if self._rng.random() < _AGAIN:
            self.repeated += 1
            await self._acknowledged(self._rng.choice(self._submits), batch)

    async def _acknowledged(self, submit: Any, batch: SubmitReportsRequest) -> bool:
        try:
            await submit(batch.SerializeToString(), timeout=_DEADLINE)
        except grpc.aio.AioRpcError:
            return False
        return True

    def p99(self, moments: range) -> float:
        """Of the batches of these seconds, as far as they have been answered."""
        return percentile([each for moment in moments for each in self.seconds.get(moment, [])], 99)
