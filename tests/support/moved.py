"""Stores between which counters are moved, with counters of closed epochs that a test has put there itself."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from deniable import Collection
from deniable_aggregator.ingest import Layout
from deniable_aggregator.moving import export
from deniable_aggregator.serving.server import layout_of
from deniable_aggregator.store import Additions, Arrivals, CounterKey, EpochKey, Store
from support.aggregator_store import additions, batch_ids
from support.collection_files import head, metric

__all__ = ["COLLECTION", "LAYOUT", "OLD", "TEXT", "counted", "exported", "put"]

TEXT = (
    head("editor", 4.0, platform=["linux", "macos"])
    + metric("dark_mode", "boolean", "The dark theme is on")
    + metric("level", "category", "The level", values=[f"v{number}" for number in range(40_000)])
)
COLLECTION = Collection.loads(TEXT)
LAYOUT: Layout = layout_of(COLLECTION)
OLD = COLLECTION.epoch_at(time.time()) - 30
"""An epoch that is closed."""
_REMEMBERED = 5000
_KEPT = 100 * 86_400


async def put(store: Store, epoch: int, amounts: dict[tuple[int, int], dict[int, int]], batches: int = 1) -> None:
    """Add amounts to counters, by column and segment, as of so many batches."""
    for (column, segment), own in sorted(amounts.items()):
        key = CounterKey(LAYOUT.digest, column, epoch, segment)
        added: Additions = additions({key: own}, LAYOUT.columns[column][1].counters)
        arrivals = Arrivals(batch_ids(batches), _REMEMBERED, _KEPT)
        assert not await store.add(0, {EpochKey(LAYOUT.digest, epoch): arrivals}, added)


async def exported(store: Store, file: Path, *, with_open: bool = True) -> bytes:
    """What a store's file says."""
    await export(store, file, [LAYOUT], release="test", with_open=with_open)
    return await asyncio.to_thread(file.read_bytes)


async def counted(store: Store, epoch: int, column: int, segment: int) -> dict[int, int]:
    """The counters that are not zero."""
    (found,) = await store.read([CounterKey(LAYOUT.digest, column, epoch, segment)])
    return {} if found is None else {place: int(found[place]) for place in found.nonzero()[0].tolist()}
