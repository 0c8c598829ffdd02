"""For how long a running aggregator keeps counters, as its operator says."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from deniable import Client, Collection
from deniable_aggregator.store import CounterKey, Store, reached
from deniable_aggregator.store.keys import counts_name
from support.commands import EDITOR, serving
from support.waiting import PATIENCE

DAY = 86_400


async def left(data: Path, collection: Collection) -> int:
    """For how many seconds the counters of today's answer are kept yet."""
    epoch = collection.epoch_at(time.time())
    column = collection.metrics["dark_mode"].columns[0].number
    async with reached(data) as url:
        store = await Store.begun(url)
        keys = [
            counts_name(0, CounterKey(collection.digest, column, own, segment))
            for own in (epoch, epoch - 1)
            for segment in range(collection.segment_count)
        ]
        await store.fold(0)
        found: list[int] = await store._servers.ask(keys[0], *(("TTL", key) for key in keys))
        await store.close()
    return max(found)


def test_counters_are_kept_for_as_long_as_the_operator_says(tmp_path: Path) -> None:
    """Of the collection that is named, after the end of their epoch; one that is not served is warned of."""
    collection, log = Collection.load(EDITOR), tmp_path / "log"
    kept = ("--keep", "editor=30d", "--keep", "90d", "--keep", "editr=7d")
    with serving(tmp_path / "data", EDITOR, *kept, log=log) as endpoint:
        segment = {name: values[0] for name, values in collection.segments.items()}
        with Client(collection, endpoint=endpoint, consent="granted", segment=segment) as client:
            client.record("dark_mode", True)
            assert client.flush(PATIENCE)
        assert 28 * DAY < asyncio.run(left(tmp_path / "data", collection)) <= 31 * DAY
    assert "--keep editr=...: no such collection is served; did you mean 'editor'?" in log.read_text()
