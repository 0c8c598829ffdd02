"""Clients that send batches whose every measurement occurs once, and remember what they were told.

Whatever happens in between, the counters then tell loss from replay: a batch that was acknowledged must be
counted once, one that was not at most once, and anything else is a number that is not 0 or 1.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import grpc
import numpy as np

from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator.store import CounterKey, Store
from support.aggregator_server import LAYOUT, Client, request, until

__all__ = ["LEVEL", "Fleet"]

LEVEL = 7
"""The column of the measurements."""

_LEVELS = 65_536
_RETRY_SECONDS = 0.02
_GIVE_UP = 0.05
_SAY_AGAIN = 0.05


@dataclass
class Fleet:
    """Devices, each of which has something to say that nobody else says."""

    last_epoch: int
    """The epoch that it is now."""
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
        epochs = range(self.last_epoch, self.last_epoch - 8, -1)
        self._unsaid: Iterator[tuple[int, int, int]] = iter(product(epochs, range(3), range(_LEVELS)))

    async def device(self, client: Client) -> None:
        """Say one thing after another; give a few up half-way, and say a few again."""
        while not self.ended:
            said = next(self._unsaid)
            epoch, segment, level = said
            batch = request((LEVEL, level), epoch=epoch, segment=segment)
            if random.random() < _GIVE_UP:
                self.abandoned.add(said)
                await self._once(client, batch)
                continue
            await self._insist(client, batch)
            self.acknowledged.add(said)
            if random.random() < _SAY_AGAIN and await self._once(client, batch) is False:
                self.wrong.append(f"{said}: stored twice")

    async def more(self, batches: int) -> None:
        """Return when so many more batches are acknowledged."""
        goal = len(self.acknowledged) + batches
        await until(lambda: len(self.acknowledged) >= goal)

    async def _insist(self, client: Client, batch: SubmitReportsRequest) -> None:
        while True:
            if await self._once(client, batch) is not None:
                return
            await asyncio.sleep(_RETRY_SECONDS)

    async def _once(self, client: Client, batch: SubmitReportsRequest) -> bool | None:
        try:
            return await client.submit(batch)
        except grpc.aio.AioRpcError as error:
            self.failures += 1
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                self.wrong.append(f"{error.code()}: {error.details()}")
            return None

    async def check(self, store: Store) -> None:
        """Every acknowledged batch is counted once, every abandoned one at most once, and nothing else."""
        assert self.wrong == []
        cells = [(self.last_epoch - back, segment) for back in range(8) for segment in range(3)]
        keys = [CounterKey(LAYOUT.digest, LEVEL, epoch, segment) for epoch, segment in cells]
        for (epoch, segment), counters in zip(cells, await store.read(keys), strict=True):
            counts = np.zeros(_LEVELS, dtype=np.int64) if counters is None else counters
            expected = np.zeros(_LEVELS, dtype=np.int64)
            expected[[said[2] for said in self.acknowledged if said[:2] == (epoch, segment)]] = 1
            maybe = np.zeros(_LEVELS, dtype=np.bool_)
            maybe[[said[2] for said in self.abandoned if said[:2] == (epoch, segment)]] = True
            assert np.flatnonzero((counts != expected) & ~(maybe & (counts == 1))).tolist() == []
