"""The batcher: when flushes begin, and that nobody is left waiting."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from pathlib import Path

import pytest

from deniable_aggregator.ingest import FlushSettings
from deniable_aggregator.ingest.flush import Flush
from support.aggregator_server import Client, counted, request, serving, store_of
from support.waiting import NEVER, until

CALLS = 30
"""About as many as a connection can have at a time."""


async def submit(client: Client, batches: int = 1) -> None:
    """Return when so many batches that are sent together are all stored."""
    await asyncio.gather(*(client.submit(request((0, 1))) for _ in range(batches)))


def test_an_idle_lane_flushes_at_once(tmp_path: Path) -> None:
    """The first batch does not wait for the interval; the next one, right behind it, does."""

    async def wait() -> None:
        async with serving(tmp_path, flush=FlushSettings(interval=NEVER)) as (server, client):
            await submit(client)
            behind = asyncio.create_task(submit(client))
            await until(lambda: server.stats.waiting == 1)
            assert server.stats.flushes == 1
            assert not behind.done()
            await server.drain()
            await behind

    asyncio.run(wait())


def test_an_interval_ends(tmp_path: Path) -> None:
    """What waits for it is then stored by itself."""

    async def wait() -> None:
        async with serving(tmp_path, flush=FlushSettings(interval=0.05)) as (server, client):
            for _ in range(3):
                await submit(client)
            assert server.stats.flushes == 3

    asyncio.run(wait())


def test_batches_that_come_together_are_stored_together(tmp_path: Path) -> None:
    """Within an interval, everything is one flush."""

    async def wait() -> None:
        async with serving(tmp_path, flush=FlushSettings(interval=NEVER)) as (server, client):
            await submit(client)
            together = asyncio.create_task(submit(client, CALLS))
            await until(lambda: server.stats.waiting == CALLS)
            await server.drain()
            await together
            assert server.stats.flushes == 2
        async with serving(tmp_path) as (server, _):
            assert await counted(server, 0) == [0, 1 + CALLS, 0, 0, 0]

    asyncio.run(wait())


@pytest.mark.parametrize("full", [{"most_batches": 10}, {"most_bytes": 80}])
def test_a_full_flush_does_not_wait(tmp_path: Path, full: dict[str, int]) -> None:
    """Flushes that are full, by batches or by bytes, are stored one after another without the interval."""

    async def fill() -> None:
        async with serving(tmp_path, flush=FlushSettings(interval=NEVER, **full)) as (server, client):
            await submit(client)
            await submit(client, 50)
            assert server.stats.flushes == 6

    asyncio.run(fill())


def test_shards_have_flushes_of_their_own(tmp_path: Path) -> None:
    """With four shards, batches are stored in the shard of their id, and all are counted."""

    async def load() -> None:
        async with serving(tmp_path, shards=4) as (server, client):
            await asyncio.gather(*(client.submit(request((0, 1), batch_id=n.to_bytes(16, "big"))) for n in range(40)))
            assert await counted(server, 0) == [0, 40, 0, 0, 0]
            assert server.stats.flushes >= 4

    asyncio.run(load())


def test_an_error_nobody_thought_of_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A flush that fails for any reason at all is answered as UNAVAILABLE, is logged, and the next one works."""

    async def load() -> None:
        async with serving(tmp_path) as (server, client):
            with monkeypatch.context() as patch:
                patch.setattr(Flush, "store", lambda *_: 1 / 0)
                batch = request((0, 1))
                assert (await client.refused(batch)).reason == "STORE_UNAVAILABLE"
            assert await client.submit(batch) is False
            assert await counted(server, 0) == [0, 1, 0, 0, 0]

    with caplog.at_level(logging.ERROR):
        asyncio.run(load())
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError]


def test_nobody_waits_for_a_store_that_is_away_behind_others(tmp_path: Path) -> None:
    """When the store does not answer a flush, those behind it are refused with it, and the next goes on."""

    async def load() -> None:
        async with serving(tmp_path / "store") as (behind, _):
            url, pid = store_of(behind).url, store_of(behind).pid
            assert pid
            few = FlushSettings(most_batches=2)
            async with serving(tmp_path, redis_url=url, flush=few, folds=False) as (server, client):
                await submit(client)
                os.kill(pid, signal.SIGSTOP)
                batches = [request((0, 1)) for _ in range(CALLS)]
                told = await asyncio.gather(*map(client.refused, batches))
                assert {each.reason for each in told} == {"STORE_UNAVAILABLE"}
                assert sum(server.stats.store_errors.values()) < 5  # not fifteen flushes, one after another
                assert server.stats.waiting == 0
                os.kill(pid, signal.SIGCONT)
                await asyncio.gather(*map(client.submit, batches))
                assert await counted(server, 0) == [0, 1 + CALLS, 0, 0, 0]

    asyncio.run(load())


def test_draining_stores_what_waits(tmp_path: Path) -> None:
    """Batches that wait for their flush when draining begins are stored at once and acknowledged."""

    async def load() -> None:
        async with serving(tmp_path, flush=FlushSettings(interval=NEVER)) as (server, client):
            await submit(client)
            sent = asyncio.gather(*(client.submit(request((0, 1))) for _ in range(30)))
            await until(lambda: server.stats.waiting == 30)
            await server.drain()
            assert await sent == [False] * 30
        async with serving(tmp_path) as (server, _):
            assert await counted(server, 0) == [0, 31, 0, 0, 0]

    asyncio.run(load())


@pytest.mark.parametrize(
    "wrong",
    [
        {"interval": -1.0},
        {"most_batches": 0},
        {"most_bytes": 0},
        {"most_waiting": 0},
        {"most_waiting_bytes": 0},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, int]) -> None:
    """There is room for at least one batch, and an interval is not negative."""
    with pytest.raises(ValueError, match="batch"):
        FlushSettings(**wrong)
