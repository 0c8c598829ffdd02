"""Clients that send batches whose every measurement occurs once, and remember what they were told.

Whatever happens in between, the counters then tell loss from replay: a batch that was acknowledged must be
counted once, one that was not at most once, and anything else is a number that is not 0 or 1.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import grpc
import numpy as np

from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator.store import CounterKey, Store
from support.aggregator_server import LAYOUT, Client, request
from support.waiting import until

__all__ = ["LEVEL", "Fleet"]

LEVEL = 7
"""The column of the measurements."""

_RETRY_SECONDS = 0.05
_GIVE_UP = 0.05
_SAY_AGAIN = 0.05
_TO_SEVERAL = 0.2
_HURRIED = 0.02


@dataclass
class Fleet:
    """Devices, each of which has something to say that nobody else says."""

    last_epoch: int
    """The epoch that it is now."""
    digest: int = LAYOUT.digest
    """The collection's digest; it has three segments or more."""
    column: int = LEVEL
    """The column of the measurements."""
    levels: int = 65_536
    """How many different ones it takes."""
    epochs: int = 8
    """How many epochs back devices report."""
    acknowledged: set[tuple[int, int, int]] = field(default_factory=set)
    """Epoch, segment and level of every batch that was acknowledged."""
    abandoned: set[tuple[int, int, int]] = field(default_factory=set)
    """The same of every batch that a device has given up on after sending it."""
    failures: int = 0
    """How often a call failed."""
    wrong: list[str] = field(default_factory=list)
    """What should not have been answered."""
    ended: bool = False
    """Devices stop once this is set and their last batch is acknowledged."""

    def __post_init__(self) -> None:
        self._cells = [(self.last_epoch - back, segment) for back in range(self.epochs) for segment in range(3)]
        self._unsaid: Iterator[tuple[int, int, int]] = (
            (epoch, segment, level) for (epoch, segment), level in product(self._cells, range(self.levels))
        )

    async def device(self, *clients: Client) -> None:
        """Say one thing after another to any of these; give a few up half-way, and say a few again."""
        while not self.ended:
            said = next(self._unsaid)
            epoch, segment, level = said
            batch = request((self.column, level), epoch=epoch, segment=segment, collection_digest=self.digest)
            if random.random() < _GIVE_UP:
                self.abandoned.add(said)
                await self._once(random.choice(clients), batch)
                continue
            await self._insist(clients, batch)
            self.acknowledged.add(said)
            if random.random() < _SAY_AGAIN and await self._once(random.choice(clients), batch) is False:
                self.wrong.append(f"{said}: stored twice")

    async def more(self, batches: int) -> None:
        """Return when so many more batches are acknowledged."""
        goal = len(self.acknowledged) + batches
        await until(lambda: len(self.acknowledged) >= goal)

    async def _insist(self, clients: Sequence[Client], batch: SubmitReportsRequest) -> None:
        """Say something until it is acknowledged; now and then to several at the same time."""
        while True:
            some = random.sample(clients, 2) if len(clients) > 1 and random.random() < _TO_SEVERAL else [None]
            answers = await asyncio.gather(*(self._once(one or random.choice(clients), batch) for one in some))
            if answers.count(False) > 1:
                self.wrong.append("stored twice at the same time")
            if any(answer is not None for answer in answers):
                return
            await asyncio.sleep(_RETRY_SECONDS)

    async def _once(self, client: Client, batch: SubmitReportsRequest) -> bool | None:
        hurried = random.random() < _HURRIED
        try:
            return await client.submit(batch, timeout=random.uniform(0.0, 0.02) if hurried else None)
        except grpc.aio.AioRpcError as error:
            self.failures += 1
            late = hurried and error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            if not late and error.code() not in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}:
                self.wrong.append(f"{error.code()}: {error.details()}")
            return None

    async def check(self, store: Store) -> None:
        """Every acknowledged batch is counted once, every abandoned one at most once, and nothing else."""
        assert self.wrong == [], self.wrong[:5]
        keys = [CounterKey(self.digest, self.column, epoch, segment) for epoch, segment in self._cells]
        for (epoch, segment), counters in zip(self._cells, await store.read(keys), strict=True):
            counts = np.zeros(self.levels, dtype=np.int64) if counters is None else counters
            expected = np.zeros(self.levels, dtype=np.int64)
            expected[[said[2] for said in self.acknowledged if said[:2] == (epoch, segment)]] = 1
            maybe = np.zeros(self.levels, dtype=np.bool_)
            maybe[[said[2] for said in self.abandoned if said[:2] == (epoch, segment)]] = True
            assert np.flatnonzero((counts != expected) & ~(maybe & (counts == 1))).tolist() == []
