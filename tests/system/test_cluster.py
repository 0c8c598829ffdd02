"""Exactly once on a Redis Cluster, while its primaries die and its slots move under load."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.crc import key_slot

from deniable_aggregator.store import Durability, Promise, Store
from support.aggregator_clients import Fleet
from support.aggregator_server import EPOCH, connected, serving
from support.servers import Cluster, cluster
from support.waiting import soon

SHARDS = 6
DEVICES = 16
DEEP = [pytest.mark.deep, pytest.mark.timeout(3600)]
REPLICATED = Durability(Promise.REPLICATED, patience=1.0)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster."""
    with cluster(tmp_path / "cluster") as running:
        yield running


@contextlib.asynccontextmanager
async def load(tmp_path: Path, nodes: Cluster) -> AsyncIterator[Fleet]:
    """Devices that report to two aggregators on one cluster; afterwards everything is counted as it should be."""
    settings = {"redis_url": nodes.url, "shards": SHARDS, "durability": REPLICATED}
    fleet = Fleet(EPOCH)
    async with (
        serving(tmp_path, **settings) as (first, one),
        serving(tmp_path, **settings) as (second, other),
        connected(first.port) as third,
        connected(second.port) as fourth,
    ):
        devices = [asyncio.create_task(fleet.device(one, other, third, fourth)) for _ in range(DEVICES)]
        try:
            await fleet.more(10 * DEVICES)
            yield fleet
            await fleet.more(10 * DEVICES)
            fleet.ended = True
            await asyncio.gather(*devices)
        finally:
            for device in devices:
                device.cancel()
    store = Store(nodes.url, shards=SHARDS)
    await fleet.check(store)
    await store.close()


def test_slots_move_under_load(tmp_path: Path, nodes: Cluster) -> None:
    """Every shard is given to another primary while devices report: acknowledged is counted once."""

    async def move() -> None:
        async with load(tmp_path, nodes) as fleet:
            for shard in range(SHARDS):
                slot = key_slot(b"{%d}" % shard)
                owner = nodes.primary_of(slot)
                target = nodes.primary_of((slot + 16_384 // 3) % 16_384)
                assert target is not owner
                await asyncio.to_thread(nodes.move, slot, target)
                await fleet.more(DEVICES)
                assert nodes.primary_of(slot) is target

    asyncio.run(move())


@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=DEEP)])
def test_primaries_die_under_load(tmp_path: Path, nodes: Cluster, kills: int) -> None:
    """Primaries are killed and come back as replicas while devices report: acknowledged is counted once."""

    async def kill() -> None:
        async with load(tmp_path, nodes) as fleet:
            for _ in range(kills):
                await asyncio.sleep(random.uniform(0, 0.2))
                primary = nodes.primary_of(key_slot(b"{%d}" % random.randrange(SHARDS)))
                primary.kill()
                await asyncio.to_thread(soon, nodes.is_well)
                await asyncio.to_thread(primary.start_again)  # until then, there is no replica to be replicated to
                await asyncio.to_thread(soon, nodes.is_well)
                await fleet.more(DEVICES)
            assert fleet.failures

    asyncio.run(kill())
