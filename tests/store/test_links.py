"""Links: single servers, whichever Sentinel calls the primary, and clusters whose slots move."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.crc import key_slot

from deniable_aggregator.store import CounterKey, Durability, Promise, Store, StoreUnavailable, StoreUnfit
from support.aggregator_store import additions, admission, batch_ids, window_of
from support.servers import Cluster, cluster, sentinel, server
from support.waiting import soon

KEY = CounterKey(1, 0, 20_000, 0)
SHARDS = 6


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster for all tests of this file; they leave it well."""
    with cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


async def add(store: Store, key: CounterKey, shard: int | None = None) -> bytes:
    """Count a batch, in its shard or in the one of a batch that belongs there."""
    while store.shard_of(batch_id := batch_ids()[0]) != shard and shard is not None:
        pass
    known = await store.add(
        store.shard_of(batch_id), {window_of(key): admission([batch_id])}, additions({key: {0: 1}})
    )
    assert not known
    return batch_id


async def counted(store: Store, key: CounterKey) -> int:
    """How many batches have been counted."""
    (counters,) = await store.read([key])
    return 0 if counters is None else int(counters[0])


def test_everybody_is_never_nobody(nodes: Cluster) -> None:
    """Who waits while others learn of the primaries, which are lost again before it goes on, learns them itself: no
    status can be made of nobody's answers, and to be well takes somebody who says so."""

    async def check() -> None:
        store = Store(nodes.url, shards=SHARDS)
        await store.open()
        link: Any = store._servers._link
        link._starts, link._owners = [], []
        async with link._learning:
            asked = asyncio.create_task(link.ask_everywhere(("PING",)))
            while not link._learning._waiters:  # noqa: ASYNC110 - it waits for who learns
                await asyncio.sleep(0)
            link._learned += 1  # somebody has learned them, and lost one
        assert await asked
        await store.close()

    asyncio.run(check())


def test_shards_are_spread_over_a_cluster(nodes: Cluster) -> None:
    """Batches go to the primaries of their shards, are counted once, known again, and added up in reading."""
    key = KEY._replace(digest=2)

    async def check() -> None:
        store = Store(nodes.url, shards=SHARDS, durability=Durability(Promise.REPLICATED))
        await store.open()
        await store.ping()
        for _ in range(60):
            batch_id = await add(store, key)
            again = {window_of(key): admission([batch_id])}
            assert await store.add(store.shard_of(batch_id), again, additions({key: {0: 1}}))
        assert await counted(store, key) == 60
        assert await store.batches([window_of(key)]) == [60]
        (left,) = await store.remembered([window_of(key)])
        assert left is not None
        assert 990 <= left <= 1000
        assert (await store.status()).server.startswith("valkey")
        await store.close()

    asyncio.run(check())
    used = {nodes.primary_of(key_slot(b"{%d}" % shard)).port for shard in range(SHARDS)}
    assert len(used) == 3


def test_one_server_of_a_cluster_is_no_store(nodes: Cluster) -> None:
    """An address that leads to one of the servers alone is wrong, and an error at the start says how it begins."""

    async def check() -> None:
        for one in nodes.servers:
            store = Store(f"redis://127.0.0.1:{one.port}", shards=SHARDS)
            with pytest.raises(StoreUnfit, match=r"redis\+cluster://"):
                await store.open()
            await store.close()

    asyncio.run(check())


def test_a_slot_that_has_moved_is_found(nodes: Cluster) -> None:
    """A store that has learned where slots are finds one again that another primary has been given."""
    key = KEY._replace(digest=3)
    slot = key_slot(b"{0}")

    async def check() -> None:
        store = Store(nodes.url, shards=SHARDS)
        await store.open()
        await add(store, key, shard=0)
        source = nodes.primary_of(slot)
        target = nodes.primary_of((slot + 8192) % 16_384)
        assert source is not target
        await asyncio.to_thread(nodes.move, slot, target)
        await add(store, key, shard=0)
        assert nodes.primary_of(slot) is target
        assert await counted(store, key) == 2
        await asyncio.to_thread(nodes.move, slot, source)
        assert await counted(store, key) == 2
        await store.close()

    asyncio.run(check())


def test_while_a_slot_moves_nothing_is_half_done(nodes: Cluster) -> None:
    """Between two primaries, a shard takes nothing rather than half of it, and everything once it has arrived."""
    key = KEY._replace(digest=4)
    slot = key_slot(b"{0}")

    async def check() -> None:
        store = Store(nodes.url, shards=SHARDS)
        await store.open()
        await add(store, key, shard=0)
        await store.fold(0)
        source, target = nodes.primary_of(slot), nodes.primary_of((slot + 8192) % 16_384)
        ids = {each.port: each.ask("CLUSTER", "MYID") for each in (source, target)}
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source.port])
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target.port])
        for name in source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1000):
            if b"seen" in name:
                source.ask("MIGRATE", "127.0.0.1", target.port, name, 0, 5000)
        batch_id = bytes(16)
        one = (store.shard_of(batch_id), {window_of(key): admission([batch_id])}, additions({key: {0: 1}}))
        with pytest.raises(StoreUnavailable, match="in charge of slot"):
            await store.add(*one)
        rest = source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1000)
        source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *rest)
        for each in (target, source):
            each.ask("CLUSTER", "SETSLOT", slot, "NODE", ids[target.port])
        assert await store.add(*one) == set()
        assert await counted(store, key) == 2
        await store.close()
        nodes.move(slot, source)

    asyncio.run(check())


def test_a_primary_that_dies_is_followed_by_its_replica(nodes: Cluster) -> None:
    """After a failover the store is served by the replica, with everything that had been replicated."""
    key = KEY._replace(digest=5)
    slot = key_slot(b"{1}")

    async def check() -> None:
        store = Store(nodes.url, shards=SHARDS, durability=Durability(Promise.REPLICATED))
        await store.open()
        for _ in range(5):
            await add(store, key, shard=1)
        primary = nodes.primary_of(slot)
        primary.kill()
        with pytest.raises(StoreUnavailable):
            await add(store, key, shard=1)
        await asyncio.to_thread(soon, nodes.is_well)
        assert await counted(store, key) == 5
        primary.start_again()
        await asyncio.to_thread(soon, nodes.is_well)
        await add(store, key, shard=1)
        assert await counted(store, key) == 6
        await store.close()

    asyncio.run(check())


def test_sentinel_names_the_primary(tmp_path: Path) -> None:
    """Behind Sentinel, the store goes to the primary, and to the next one when Sentinel has chosen it."""

    def chosen() -> int:
        said = judge.ask("SENTINEL", "MASTER", "main")
        return int(said[said.index(b"port") + 1])

    async def check() -> None:
        url = f"redis+sentinel://127.0.0.1:{judge.port}/main"
        store = Store(url, durability=Durability(Promise.REPLICATED))
        await store.open()
        for _ in range(3):
            await add(store, KEY)
        primary.kill()
        with pytest.raises(StoreUnavailable):
            await add(store, KEY)
        await asyncio.to_thread(soon, lambda: chosen() == replica.port)
        assert await counted(store, KEY) == 3
        await store.close()
        store = Store(url)
        await store.open()
        await add(store, KEY)
        assert await counted(store, KEY) == 4
        await store.close()

    with (
        server(tmp_path / "primary") as primary,
        server(tmp_path / "replica", "--replicaof", f"127.0.0.1 {primary.port}") as replica,
    ):
        soon(lambda: replica.said("replication")["master_link_status"] == "up")
        with sentinel(tmp_path / "sentinel", primary) as judge:
            asyncio.run(check())


def test_a_password_is_used_everywhere(tmp_path: Path) -> None:
    """User and password of the address reach the server, and without them it is not reached."""

    async def check(url: str) -> None:
        store = Store(url)
        try:
            await store.open()
        finally:
            await store.close()

    with server(tmp_path) as at:
        at.ask("ACL", "SETUSER", "teller", "on", ">pass:word", "~*", "+@all")
        at.ask("CONFIG", "SET", "requirepass", "other")
        asyncio.run(check(f"redis://teller:pass%3Aword@127.0.0.1:{at.port}/0"))
        with pytest.raises(StoreUnavailable):
            asyncio.run(check(at.url))


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:6379",
        "redis+ring://localhost:6379",
        "unix+cluster:///tmp/socket",
        "redis+cluster://localhost:6379/1",
        "redis+sentinel://localhost:26379",
        "redis+cluster://",
        "redis+cluster://localhost:port",
        "redis://localhost:6379/?foo=",
        "redis://localhost:6379/?foo",
        "redis://localhost:6379/0?decode_responses=true",
        "redis://localhost:6379/0?ssl_ca_certs=ca.pem",
        "redis+sentinel://localhost:26379/own?foo=1",
        "rediss+cluster://localhost:6379?retry=3",
        "unix:///tmp/socket?socket_keepalive=true",
    ],
)
def test_addresses_that_make_no_sense_are_refused(url: str) -> None:
    """An address of no store is an error that says so."""
    with pytest.raises(StoreUnfit):
        Store(url)
