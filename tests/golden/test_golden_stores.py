"""Stores that aggregators of earlier commits have left behind, killed while increments waited to be folded.

`store_COMMIT.json` is written by that commit's own code (`python -m tools.earlier_store COMMIT`). Of one of them the
digests are those of today; the other is from before mechanisms' thresholds changed what reports mean.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import Collection
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.analysis.question import Query
from deniable_aggregator.answers import answer
from deniable_aggregator.ingest import Calendar
from deniable_aggregator.serving.server import Server, layout_of
from deniable_aggregator.store import CounterKey
from support.aggregator_server import DAY, Client, request, serving
from support.aggregators import EXACT, batch, connections, running
from support.commands import deniable
from support.servers import Running, server

HERE = Path(__file__).parent
SAME, OTHER = (json.loads((HERE / f"store_{commit}.json").read_text()) for commit in ("d4b1441", "8a9b262"))
OWN = Collection.loads(SAME["collection"])
SUMS = {tuple(map(int, name.split())): own for name, own in SAME["sums"].items()}
"""What was sent, by column and segment."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Running]:
    """A server, empty."""
    with server(tmp_path / "server") as running_server:
        yield running_server


def restored(place: Running, earlier: dict[str, Any]) -> None:
    """Write the keys as they were."""
    with place.client() as link:
        for name, (kind, value) in earlier["keys"].items():
            if kind == "string":
                link.set(name, bytes.fromhex(value))
            elif kind == "set":
                link.sadd(name, *map(bytes.fromhex, value))
            else:
                link.rpush(name, *map(bytes.fromhex, value))


@asynccontextmanager
async def today_on(place: Running, earlier: dict[str, Any], room: Path) -> AsyncIterator[tuple[Server, Client]]:
    """Today's aggregator on the store, at noon of the day in which it was written."""
    noon = Calendar(clock=lambda: (earlier["epoch"] + 0.5) * DAY)
    async with serving(room, layout_of(OWN), redis_url=place.url, calendar=noon) as found:
        yield found


async def counters(running_server: Server, earlier: dict[str, Any]) -> dict[tuple[int, int], list[int]]:
    """The sums that are stored for what it counted then, by column and segment."""
    found = {}
    for column, segment in SUMS:
        key = CounterKey(earlier["digest"], column, earlier["epoch"], segment)
        (own,) = await running_server.store.read([key])
        assert own is not None
        found[column, segment] = own.tolist()
    return found


def test_what_an_earlier_aggregator_counted_is_answered_and_gone_on_with(place: Running, tmp_path: Path) -> None:
    """Counters and increments that waited are its sums; its batches are known; new ones are added to them."""
    assert OWN.digest == SAME["digest"]
    restored(place, SAME)
    batches = [SubmitReportsRequest.FromString(bytes.fromhex(each)) for each in SAME["batches"]]

    async def go_on() -> None:
        async with today_on(place, SAME, tmp_path) as (aggregator, client):
            assert await counters(aggregator, SAME) == SUMS
            analyst = Analyst(Catalog([OWN]), aggregator.store, clock=aggregator.calendar.clock)
            for column, name in enumerate(OWN.metrics):
                (found,) = await analyst.answers("earlier", Query(epochs=1), name)
                told = np.array(SUMS[column, 0]) + np.array(SUMS[column, 1])
                assert repr(found.estimate) == repr(answer(OWN.metrics[name], [told]))
            assert [await client.submit(each) for each in batches] == [True] * 3
            assert await counters(aggregator, SAME) == SUMS, "which changes nothing"
            own = request((0, 1), (1, 3), epoch=SAME["epoch"], collection_digest=OWN.digest, segment=0)
            assert not await client.submit(own)
            after = {**SUMS, (0, 0): SUMS[0, 0][:], (1, 0): SUMS[1, 0][:]}
            after[0, 0][1] += 1
            after[1, 0][3] += 1
            assert await counters(aggregator, SAME) == after

    asyncio.run(go_on())


def test_what_has_come_to_mean_something_else_is_refused_and_kept_apart(place: Running, tmp_path: Path) -> None:
    """Under one name and of the same words: its devices are told so, nothing of it is in an answer, or is lost."""
    assert Collection.loads(OTHER["collection"]).digest == OWN.digest != OTHER["digest"]
    restored(place, OTHER)

    async def refuse() -> None:
        async with today_on(place, OTHER, tmp_path) as (aggregator, client):
            for each in OTHER["batches"]:
                told = await client.refused(SubmitReportsRequest.FromString(bytes.fromhex(each)))
                assert (told.reason, told.retry_after) == ("UNKNOWN_COLLECTION", 3600)
            analyst = Analyst(Catalog([OWN]), aggregator.store, clock=aggregator.calendar.clock)
            assert [each.estimate.reports for each in await analyst.answers("earlier", Query(epochs=1))] == [0, 0]
            sums = {tuple(map(int, name.split())): own for name, own in OTHER["sums"].items()}
            assert await counters(aggregator, OTHER) == sums

    asyncio.run(refuse())


def test_of_two_versions_on_one_store_the_newer_keeps_the_earlier_from_beginning(
    place: Running, tmp_path: Path
) -> None:
    """One that serves when rules change goes on, and has counted rightly until it ends; none begins any more."""
    metrics, log = tmp_path / "metrics.toml", tmp_path / "log"
    metrics.write_text(EXACT)

    async def beside() -> None:
        async with running(metrics, "--redis", place.url, log=log) as one:
            async with connections(one.port, 1) as (client,):
                mine = batch()
                assert not await client.submit(mine)
                with place.client() as link:
                    link.set("deniable:schema", 2)
                assert await client.submit(mine)
                assert not await client.submit(batch())
            serve = ("serve", metrics, "--redis", place.url, "--listen", "127.0.0.1:0", "--http", "off")
            for words in (serve, (*serve, "--check")):
                told = await asyncio.to_thread(deniable, *words)
                assert told.returncode == 2
                assert "schema 2; this release knows 1): it is left as it is. Serve it with the newer" in told.stderr
            assert await one.end() == 0
        with place.client() as link:
            assert link.get("deniable:schema") == b"2"

    asyncio.run(beside())
