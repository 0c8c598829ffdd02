"""Exactly once while the whole aggregator is killed under load, its store with it."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from deniable_aggregator.store import EmbeddedStore, Store
from support import aggregator_main
from support.aggregator_clients import Fleet
from support.aggregator_server import DAY, connected

DEVICES = 40


@asynccontextmanager
async def aggregator(data_dir: Path, port: int) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """An aggregator in a process of its own, and its port; killed in the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        aggregator_main.__file__,
        str(data_dir),
        str(port),
        stdout=asyncio.subprocess.PIPE,
        env=aggregator_main.ENVIRONMENT,
    )
    try:
        assert process.stdout
        first = await process.stdout.readline()
        yield process, int(first.split()[0])
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=[pytest.mark.deep, pytest.mark.timeout(1800)])])
def test_an_aggregator_that_is_killed_loses_and_doubles_nothing(tmp_path: Path, kills: int) -> None:
    """The aggregator is killed with SIGKILL at random moments and started again: acknowledged is counted once."""

    async def load() -> None:
        fleet = Fleet(int(time.time() // DAY))
        port = 0
        async with aggregator(tmp_path, port) as (_, port):
            pass
        quick = (("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 100))
        async with connected(port, *quick, ("grpc.min_reconnect_backoff_ms", 50)) as client:
            devices = [asyncio.create_task(fleet.device(client)) for _ in range(DEVICES)]
            for _ in range(kills):
                async with aggregator(tmp_path, port):
                    await fleet.more(DEVICES)
                    await asyncio.sleep(random.uniform(0, 0.3))
            fleet.ended = True
            async with aggregator(tmp_path, port):
                await asyncio.gather(*devices)
        assert fleet.failures >= kills
        embedded = EmbeddedStore(tmp_path)
        await embedded.start()
        store = Store(embedded.url)
        await fleet.check(store)
        await store.close()
        await embedded.stop()

    asyncio.run(load())
