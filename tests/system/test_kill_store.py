"""Exactly once while the embedded store is killed under load."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from support.aggregator_clients import Fleet
from support.aggregator_server import EPOCH, serving, store_of

DEVICES = 40


@pytest.mark.parametrize("kills", [8, pytest.param(200, marks=[pytest.mark.deep, pytest.mark.timeout(1800)])])
def test_a_store_that_is_killed_loses_and_doubles_nothing(tmp_path: Path, kills: int) -> None:
    """The store is killed with SIGKILL at random moments of a run of clients: acknowledged is counted once."""

    async def load() -> None:
        async with serving(tmp_path) as (server, client):
            fleet = Fleet(EPOCH)
            devices = [asyncio.create_task(fleet.device(client)) for _ in range(DEVICES)]
            for _ in range(kills):
                await fleet.more(DEVICES)
                await asyncio.sleep(random.uniform(0, 0.1))
                pid = store_of(server).pid
                assert pid
                os.kill(pid, signal.SIGKILL)
            fleet.ended = True
            await asyncio.gather(*devices)
            assert fleet.failures >= kills
            await fleet.check(server.store)

    asyncio.run(load())
