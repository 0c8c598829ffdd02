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

import pytest

from deniable.payload import Symbol
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator.ingest import Calendar, Layout
from deniable_aggregator.store import CounterKey, EmbeddedStore, EpochKey, Store
from support.aggregator_clients import Fleet
from support.aggregator_proxy import proxied
from support.aggregator_server import DAY, Client, request, serving, store_of
from support.aggregators import DIGEST, EXACT, LEVELS, Aggregator, connections, running
from support.stored import answers, stored_in

WORKERS = 2
CONNECTIONS = 8
DEVICES = 16
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
    fleet = Fleet(int(time.time() // DAY), DIGEST, 0, LEVELS)
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
        await answers(store)
        await fleet.check(store)
        await store.close()
        await embedded.stop()

    asyncio.run(load())


class Clock:
    """A clock that a test sets: epochs pass when all of one has been said, on any machine."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        """The time that it shows."""
        return self.now


@contextlib.asynccontextmanager
async def two(tmp_path: Path, layout: Layout, clock: Clock) -> AsyncIterator[tuple[Store, Client, Client]]:
    """Two aggregators on one store, which take an epoch and the one before it."""
    calendar = Calendar(accept_late=1, accept_ahead=0.0, clock=clock)
    async with (
        serving(tmp_path, layout, calendar=calendar) as (first, one),
        serving(tmp_path, layout, calendar=calendar, redis_url=store_of(first).url) as (_, other),
    ):
        yield first.store, one, other


def test_what_is_repeated_is_known_for_as_long_as_it_is_taken(tmp_path: Path) -> None:
    """Said to two aggregators at once, it is stored once; said again while its epoch is taken it is known; later it
    is too old. Its id is remembered for longer than that, and nothing is ever counted twice."""
    length, epochs, each = 1000, range(3, 7), 100
    layout = Layout("slow", 5, length, 3, (("level", Symbol(LEVELS)),))
    clock = Clock(0.0)

    def said(epoch: int, level: int) -> SubmitReportsRequest:
        return request(
            (0, level), epoch=epoch, segment=0, collection_digest=layout.digest,
            batch_id=(epoch * each + level).to_bytes(16, "big"),
        )  # fmt: skip

    async def load() -> None:
        async with two(tmp_path, layout, clock) as (store, *clients):
            for epoch in epochs:
                clock.now = (epoch + random.random()) * length
                batches = [said(epoch, level) for level in range(each)]
                told = await asyncio.gather(*(client.submit(batch) for client in clients for batch in batches))
                assert [sorted(pair) for pair in zip(told[:each], told[each:], strict=True)] == [[False, True]] * each
                clock.now = (epoch + 1 + random.random()) * length
                assert all(await asyncio.gather(*(random.choice(clients).submit(batch) for batch in batches)))
                taken = (epoch + 2) * length - clock.now
                (remembered,) = await store.remembered([EpochKey(layout.digest, epoch)])
                assert remembered
                assert remembered > taken + length / 2
                clock.now = (epoch + 2) * length
                late = await asyncio.gather(*(random.choice(clients).refused(batch) for batch in batches))
                assert {answer.reason for answer in late} == {"EPOCH_TOO_OLD"}
            for epoch in epochs:
                (counters,) = await store.read([CounterKey(layout.digest, 0, epoch, 0)])
                assert counters is not None
                assert counters[:each].tolist() == [1] * each
                assert counters.sum() == each

    asyncio.run(load())


def test_ids_are_forgotten(tmp_path: Path) -> None:
    """When its epoch is taken no more, and has not been for as long as an epoch is, an id is gone from the store."""
    layout = Layout("quick", 5, 1, 3, (("level", Symbol(LEVELS)),))
    clock = Clock(8.0)

    async def load() -> None:
        async with two(tmp_path, layout, clock) as (store, one, other):
            batch = request((0, 1), epoch=7, segment=0, collection_digest=layout.digest)
            assert await one.submit(batch) is False
            clock.now = 9.0
            window = [EpochKey(layout.digest, 7)]
            while await store.remembered(window) != [None]:
                assert (await other.refused(batch)).reason == "EPOCH_TOO_OLD"
                await asyncio.sleep(0.05)
            assert (await other.refused(batch)).reason == "EPOCH_TOO_OLD"

    asyncio.run(load())
