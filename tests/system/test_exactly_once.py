"""Acknowledged is counted once, whatever dies.

Every batch carries a measurement that occurs once. Batches are sent by devices that give up half-way, hurry, say
again what they have said, and say it to several workers at the same time, while processes are killed with SIGKILL
at random moments and replies of the store are lost. Afterwards every counter is 0 or 1: 1 for what was
acknowledged, either for what was given up, 0 for everything else.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import grpc
import numpy as np
import pytest

from deniable import Collection
from deniable.payload import Symbol
from deniable_aggregator.ingest import Calendar, Layout
from deniable_aggregator.store import CounterKey, EmbeddedStore, Store, Window
from support.aggregator_clients import Fleet
from support.aggregator_proxy import proxied
from support.aggregator_server import DAY, Client, request, serving, store_of
from support.aggregators import EXACT, LEVELS, Aggregator, connections, running
from support.stored import stored_in

WORKERS = 2
CONNECTIONS = 8
DEVICES = 40
DEEP = [pytest.mark.deep, pytest.mark.timeout(3600)]


class Chaos:
    """An aggregator, and what is done to it."""

    def __init__(self, *arguments: str | Path) -> None:
        self._arguments = arguments
        self._stack = contextlib.AsyncExitStack()
        self.aggregator: Aggregator
        self.kills = 0

    async def start(self, listen: str = "127.0.0.1:0") -> None:
        """Start the aggregator."""
        starting = running(*self._arguments, "--workers", str(WORKERS), listen=listen)
        self.aggregator = await self._stack.enter_async_context(starting)

    async def kill_a_worker(self) -> None:
        """One of the workers dies."""
        workers = self.aggregator.workers()
        if workers:
            self._kill(random.choice(workers))

    async def kill_the_store(self) -> None:
        """The embedded store dies."""
        with contextlib.suppress(ValueError):  # it may not be back from the last time
            self._kill(self.aggregator.store())

    async def kill_the_aggregator(self) -> None:
        """The supervisor dies, and all with it; it is started again."""
        self.aggregator.kill()
        self.kills += 1
        await self._stack.aclose()
        await self.start(self.aggregator.endpoint)

    async def end(self) -> None:
        """The aggregator is asked to end."""
        assert await self.aggregator.end() == 0
        await self._stack.aclose()

    def _kill(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.kills += 1


@contextlib.asynccontextmanager
async def devices(port: int) -> AsyncIterator[Fleet]:
    """Devices that report; in the end, what they still have to say is said."""
    fleet = Fleet(int(time.time() // DAY), Collection.loads(EXACT).digest, 0, LEVELS)
    async with connections(port, CONNECTIONS) as clients:
        reporting = [asyncio.create_task(fleet.device(*clients)) for _ in range(DEVICES)]
        try:
            yield fleet
            fleet.ended = True
            await asyncio.gather(*reporting)
        finally:
            for task in reporting:
                task.cancel()


async def kill(fleet: Fleet, chaos: Chaos, kills: int, *ways: Callable[[], Awaitable[None]]) -> None:
    """Do one of these things after another, at random moments, until so many processes have been killed."""
    while chaos.kills < kills:
        await fleet.more(DEVICES)
        await asyncio.sleep(random.uniform(0, 0.1))
        await random.choice(ways)()


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A collection's file."""
    file = tmp_path / "metrics.toml"
    file.write_text(EXACT)
    return file


@pytest.mark.parametrize("kills", [12, pytest.param(200, marks=DEEP)])
def test_workers_store_and_aggregator_may_die(tmp_path: Path, collection: Path, kills: int) -> None:
    """Workers, the embedded store and the aggregator itself are killed: acknowledged is counted once."""

    async def load() -> None:
        chaos = Chaos(collection, "--data", tmp_path / "data")
        await chaos.start()
        async with devices(chaos.aggregator.port) as fleet:
            ways = (chaos.kill_a_worker, chaos.kill_a_worker, chaos.kill_the_store, chaos.kill_the_aggregator)
            await kill(fleet, chaos, kills, *ways)
        assert fleet.failures > kills
        await chaos.end()
        async with stored_in(tmp_path / "data") as store:
            await fleet.check(store)

    asyncio.run(load())


@pytest.mark.parametrize("kills", [8, pytest.param(200, marks=DEEP)])
def test_replies_may_be_lost(tmp_path: Path, collection: Path, kills: int) -> None:
    """Replies of a store behind a network are lost, it dies, and workers die: acknowledged is counted once."""

    async def load() -> None:
        embedded = EmbeddedStore(tmp_path / "data")
        await embedded.start()
        async with proxied(embedded.url) as proxy:
            chaos = Chaos(collection, "--redis", proxy.url)
            await chaos.start()

            async def lose_a_reply() -> None:
                proxy.drop = random.randint(1, 5)  # scripts that add, read and fold

            async def kill_the_store() -> None:
                if embedded.pid:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(embedded.pid, signal.SIGKILL)
                        chaos.kills += 1

            async with devices(chaos.aggregator.port) as fleet:
                ways = (lose_a_reply, lose_a_reply, chaos.kill_a_worker, kill_the_store)
                await kill(fleet, chaos, kills, *ways)
                while proxy.dropped == 0:
                    await lose_a_reply()
                    await fleet.more(DEVICES)
            await chaos.end()
        store = Store(embedded.url)
        await fleet.check(store)
        await store.close()
        await embedded.stop()

    asyncio.run(load())


def test_ids_are_forgotten_and_late_batches_are_not_taken(tmp_path: Path) -> None:
    """Epochs of a second pass, and their ids are forgotten: what is repeated is never stored again, however late."""
    layout = Layout("quick", 5, 1, 3, (("level", Symbol(LEVELS)),))
    levels = iter(range(LEVELS))
    said: dict[int, list[int]] = {}
    late: list[str] = []

    async def repeat(clients: tuple[Client, Client]) -> None:
        epoch, level = int(time.time()), next(levels)
        batch = request((0, level), epoch=epoch, segment=0, collection_digest=layout.digest)
        answers = await asyncio.gather(*(client.submit(batch) for client in clients))
        assert sorted(answers) == [False, True]
        said.setdefault(epoch, []).append(level)
        await asyncio.sleep(random.uniform(0, 1.5))
        with contextlib.suppress(grpc.aio.AioRpcError):
            assert await random.choice(clients).submit(batch) is True
        await asyncio.sleep(epoch + 1 + 2 * calendar.accept_late + 1.5 - time.time())
        late.append((await random.choice(clients).refused(batch)).reason)

    calendar = Calendar(accept_late=1, accept_ahead=0.0)

    async def load() -> None:
        async with (
            serving(tmp_path, layout, calendar=calendar) as (first, one),
            serving(tmp_path, layout, calendar=calendar, redis_url=store_of(first).url) as (_, other),
        ):
            repeating = []
            for _ in range(600):
                repeating.append(asyncio.create_task(repeat((one, other))))
                await asyncio.sleep(0.005)
            await asyncio.gather(*repeating)
            assert len(said) > 2
            assert await first.store.remembered([Window(layout.digest, epoch) for epoch in said]) == [None] * len(
                said
            )
            for epoch, own in said.items():
                (counters,) = await first.store.read([CounterKey(layout.digest, 0, epoch, 0)])
                assert counters is not None
                assert np.flatnonzero(counters).tolist() == sorted(own)
                assert set(counters[own]) == {1}

    asyncio.run(load())
    assert late == ["EPOCH_TOO_OLD"] * 600
