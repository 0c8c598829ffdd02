"""What is promised is waited for, and what can not be promised is said when the store is opened."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from deniable_aggregator.store import CounterKey, Durability, Promise, Store, StoreUnavailable, StoreUnfit
from support.aggregator_store import additions, admission, batch_ids, window_of
from support.servers import REDIS, VALKEY, Running, server
from support.waiting import PATIENCE, soon

KEY = CounterKey(1, 0, 20_000, 0)

needs_redis = pytest.mark.skipif(REDIS is None, reason="redis-server is missing: make system-tools")
SERVERS = pytest.mark.parametrize("binary", [VALKEY, pytest.param(REDIS, marks=needs_redis)], ids=["valkey", "redis"])


@asynccontextmanager
async def opened(at: Running, durability: Durability, timeout: float = 5.0) -> AsyncIterator[Store]:  # noqa: ASYNC109
    """A store that is open."""
    store = Store(at.url, durability=durability, timeout=timeout)
    try:
        await store.open()
        yield store
    finally:
        await store.close()


async def add(store: Store, ids: list[bytes] | None = None) -> bool:
    """Count a batch; whether it was known."""
    return bool(await store.add(0, {window_of(KEY): admission(ids or batch_ids())}, additions({KEY: {0: 1}})))


async def counted(store: Store) -> int:
    """How many batches have been counted."""
    (counters,) = await store.read([KEY])
    return 0 if counters is None else int(counters[0])


@SERVERS
def test_synced_is_still_there_after_sigkill(tmp_path: Path, binary: str) -> None:
    """With fsync, what has been acknowledged is there when the server has been killed and started again."""

    async def check() -> None:
        async with opened(at, Durability(Promise.FSYNC)) as store:
            for _ in range(20):
                assert not await add(store)
            at.kill()
            with pytest.raises(StoreUnavailable):
                await add(store)
            at.start_again()
            assert await counted(store) == 20

    with server(tmp_path, binary=binary) as at:
        asyncio.run(check())


def test_fsync_waits_for_the_disk_where_the_server_does_not(tmp_path: Path) -> None:
    """With a server that syncs now and then, fsync waits for that; without a sync there is no acknowledgement."""

    async def check() -> None:
        async with (
            opened(at, Durability(Promise.FSYNC)) as patient,
            opened(at, Durability(Promise.FSYNC, patience=0.001)) as hurried,
        ):
            given_up = []
            for _ in range(10):  # each of them within a millisecond before one of ten syncs a second: once in 10^20
                ids = batch_ids()
                try:
                    await add(hurried, ids)
                except StoreUnavailable:
                    given_up.append(ids)
            assert given_up
            for ids in given_up:
                assert await add(patient, ids)
            assert await counted(patient) == 10

    with server(tmp_path, "--appendfsync", "everysec") as at:
        asyncio.run(check())


def test_a_server_without_a_file_promises_nothing(tmp_path: Path) -> None:
    """A server that keeps nothing on disk is refused for fsync, with what to do; with memory, it forgets."""

    async def check() -> None:
        with pytest.raises(StoreUnfit, match="appendonly yes"):
            async with opened(at, Durability(Promise.FSYNC)):
                pass
        async with opened(at, Durability(Promise.MEMORY)) as store:
            assert not await add(store)
            await asyncio.to_thread(at.kill)
            await asyncio.to_thread(at.start_again)
            assert await counted(store) == 0

    with server(tmp_path, "--appendonly", "no") as at:
        asyncio.run(check())


@needs_redis
def test_a_server_that_can_not_say_when_it_has_synced_has_to_sync_always(tmp_path: Path) -> None:
    """Redis before 7.2 is refused for fsync unless it syncs before it answers."""

    async def check() -> None:
        with pytest.raises(StoreUnfit, match="appendfsync always"):
            async with opened(at, Durability(Promise.FSYNC)):
                pass

    with server(tmp_path, "--appendfsync", "everysec", binary=REDIS or "") as at:
        asyncio.run(check())


@SERVERS
def test_replicated_is_at_a_replica(tmp_path: Path, binary: str) -> None:
    """With replicated, nothing is acknowledged that no replica has: neither what is new nor what is known."""

    async def check() -> None:
        async with (
            opened(primary, Durability(Promise.REPLICATED, patience=PATIENCE), timeout=PATIENCE) as store,
            opened(primary, Durability(Promise.REPLICATED, patience=0.3)) as hurried,
        ):
            ids = batch_ids()
            assert not await add(store)
            os.kill(replica.pid, signal.SIGSTOP)
            for _ in range(2):  # the second time it is known to the primary
                with pytest.raises(StoreUnavailable, match="has not reached replicas"):
                    await add(hurried, ids)
            os.kill(replica.pid, signal.SIGCONT)
            assert await add(store, ids)
            assert not await add(store)
            primary.kill()
            replica.ask("REPLICAOF", "NO", "ONE")
        async with opened(replica, Durability()) as store:
            assert await counted(store) == 3
            assert await add(store, ids)

    with server(tmp_path / "primary", binary=binary) as primary:
        replicaof = ("--replicaof", f"127.0.0.1 {primary.port}")
        with server(tmp_path / "replica", *replicaof, binary=binary) as replica:
            soon(lambda: replica.said("replication")["master_link_status"] == "up")
            asyncio.run(check())


def test_so_many_replicas_are_so_many(tmp_path: Path) -> None:
    """Two replicas are not reached where there is one; what makes no sense is refused."""

    async def check() -> None:
        async with opened(primary, Durability(Promise.REPLICATED, replicas=2, patience=0.2)) as store:
            with pytest.raises(StoreUnavailable, match="has not reached replicas"):
                await add(store)

    with (
        server(tmp_path / "primary") as primary,
        server(tmp_path / "replica", "--replicaof", f"127.0.0.1 {primary.port}") as replica,
    ):
        soon(lambda: replica.said("replication")["master_link_status"] == "up")
        asyncio.run(check())
    wrongs: tuple[dict[str, Any], ...] = ({"replicas": 0}, {"patience": 0.0})
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"replica|seconds"):
            Durability(Promise.REPLICATED, **wrong)
