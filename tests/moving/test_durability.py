"""What is imported is told as added once it is as durable as was asked for, and so is the claim that it needs."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from deniable_aggregator.moving import bring
from deniable_aggregator.store import Durability, Promise, Store, StoreUnavailable
from support.commands import told
from support.moved import LAYOUT, OLD, TEXT, counted, exported, put
from support.servers import Running, server
from support.stored import stored

ALONE = Durability(Promise.REPLICATED, patience=0.05)
"""What a server without replicas can not promise."""


@asynccontextmanager
async def opened(at: Running, durability: Durability) -> AsyncIterator[Store]:
    """A store that is open."""
    store = Store(at.url, durability=durability)
    try:
        await store.open()
        yield store
    finally:
        await store.close()


async def moved(file: Path) -> None:
    """Write a file with seven reports."""
    async with stored() as one:
        await put(one, OLD, {(0, 0): {0: 7}})
        await exported(one, file)


def test_what_has_not_got_far_enough_is_not_told_as_added(tmp_path: Path) -> None:
    """Neither the first time, when not even the claim has, nor where all of it is there already. Who asks for less
    goes on with what there is."""
    file = tmp_path / "counters"

    async def check() -> None:
        await moved(file)
        async with opened(at, ALONE) as hurried, opened(at, Durability(Promise.FSYNC)) as patient:
            with pytest.raises(StoreUnavailable, match="has not reached replicas"):
                await bring(hurried, file, [LAYOUT])
            assert await counted(patient, OLD, 0, 0) == {}
            assert (await bring(patient, file, [LAYOUT])).added == 1
            with pytest.raises(StoreUnavailable, match="has not reached replicas"):
                await bring(hurried, file, [LAYOUT])
            assert (await bring(patient, file, [LAYOUT])).known == 1
            assert await counted(patient, OLD, 0, 0) == {0: 7}

    with server(tmp_path) as at:
        asyncio.run(check())


def test_the_command_asks_for_the_disk_unless_it_is_told_otherwise(tmp_path: Path) -> None:
    """A server that keeps nothing is refused; whoever names one with a directory is told that there is no choice."""
    file, collection = tmp_path / "counters", tmp_path / "metrics.toml"
    collection.write_text(TEXT)

    async def begin() -> None:
        await moved(file)
        async with opened(at, Durability()):
            pass

    with server(tmp_path, "--appendonly", "no") as at:
        asyncio.run(begin())
        refused = told("import", file, collection, "--redis", at.url)
        assert (refused.returncode, "--durability memory" in refused.stderr) == (2, True)
        gc.collect()  # a connection that was not let go of is an error, now and not in another test
        alone = told("import", file, collection, "--redis", at.url, "--durability", "replicated")
        assert (alone.returncode, "has not reached replicas" in alone.stderr) == (2, True)
        done = told("import", file, collection, "--redis", at.url, "--durability", "memory")
        assert "added counters of 1 epochs" in done.stdout
    nowhere = told("import", file, collection, "--data", tmp_path, "--durability", "memory")
    assert (nowhere.returncode, "the embedded store syncs everything" in nowhere.stderr) == (2, True)
