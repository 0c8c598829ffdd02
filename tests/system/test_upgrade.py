"""A store of the release before is gone on with; one of a newer release is refused, and left as it is."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator.store import CounterKey
from support.aggregators import DIGEST, EXACT, batch, connections, running, today
from support.commands import deniable
from support.stored import stored_in

NEW = ("deniable:schema", "deniable:identity")
"""What the release before did not write."""


def content(data: Path) -> dict[str, bytes]:
    """What is in the files of a store."""
    return {file.name: hashlib.sha256(file.read_bytes()).digest() for file in (data / "appendonlydir").iterdir()}


def test_a_store_of_the_release_before_is_gone_on_with(tmp_path: Path) -> None:
    """Its counters and ids: what it has counted is known, what is new is counted; after that it has a number."""
    metrics, data = tmp_path / "metrics.toml", tmp_path / "data"
    metrics.write_text(EXACT)
    before, after = ([batch() for _ in range(20)] for _ in range(2))

    async def said(*batches: SubmitReportsRequest) -> list[bool]:
        async with running(metrics, "--data", data) as one, connections(one.port, 1) as (client,):
            found = [await client.submit(each) for each in batches]
            assert await one.end() == 0
        return found

    async def upgrade() -> None:
        assert await said(*before) == [False] * 20
        async with stored_in(data) as store:
            for name in NEW:
                await store._servers.ask(name.encode(), ("DEL", name))
        assert await said(*before, *after) == [True] * 20 + [False] * 20
        async with stored_in(data) as store:
            (counters,) = await store.read([CounterKey(DIGEST, 0, today(), 1)])
            assert counters is not None
            assert counters.sum() == 40
            assert [await store._servers.ask(name.encode(), ("EXISTS", name)) for name in NEW] == [[1], [1]]

    asyncio.run(upgrade())


def test_a_store_of_a_newer_release_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    """By who would serve it, look at it, export from it or import into it; each says what to do instead."""
    metrics, data = tmp_path / "metrics.toml", tmp_path / "data"
    metrics.write_text(EXACT)

    async def newer() -> None:
        async with stored_in(data) as store:
            await store._servers.ask(b"deniable:schema", ("SET", "deniable:schema", 99))

    asyncio.run(newer())
    before = content(data)
    serve = ("serve", metrics, "--data", data, "--listen", "127.0.0.1:0", "--http", "off")
    for words in (serve, (*serve, "--check"), ("export", tmp_path / "file", metrics, "--data", data)):
        told = deniable(*words)
        assert told.returncode == 2, words
        assert (
            "(schema 99; this release knows 1): it is left as it is. Serve it with the newer release" in told.stderr
        )
    assert content(data) == before
