"""Counters put into a real store without a fleet: what a test asks about, it has put there itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deniable import Collection
from deniable_aggregator.store import Additions, Arrivals, CounterKey, EmbeddedStore, EpochKey, Store, StoreError
from support.waiting import PATIENCE

__all__ = ["Counted", "answers", "put", "stored", "stored_in"]

_KEPT_SECONDS = 3600
Counted = Sequence[int] | NDArray[np.int64] | Sequence[NDArray[np.int64]]
"""The counters of one column, or of several."""


async def answers(store: Store) -> None:
    """Return when a store does: its server may have been killed a moment ago, and be started again."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await store.ping()
            except StoreError:
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def stored() -> AsyncIterator[Store]:
    """A store of its own, empty."""
    with tempfile.TemporaryDirectory() as directory:
        async with stored_in(Path(directory)) as store:
            yield store


@contextlib.asynccontextmanager
async def stored_in(data: Path) -> AsyncIterator[Store]:
    """The store that an aggregator has left behind, or will."""
    embedded = EmbeddedStore(data)
    await embedded.start()
    store = Store(embedded.url)
    try:
        await store.open()
        yield store
    finally:
        await store.close()
        await embedded.stop()


def _several(counters: Counted) -> bool:
    return isinstance(counters, list) and isinstance(counters[0], np.ndarray)


async def put(
    store: Store,
    collection: Collection,
    epoch: int,
    counters: Mapping[str, Counted],
    segment: int = 0,
    batches: int = 1,
) -> None:
    """Add counters to the first columns of metrics, or to all of them, as of so many batches."""
    added = {
        column: np.asarray(each)
        for name, own in counters.items()
        for column, each in zip(collection.metrics[name].columns, own if _several(own) else [own], strict=False)
    }
    columns = sorted(added, key=lambda column: column.number)
    amounts = [added[column] for column in columns]
    additions = Additions.checked(
        keys=[CounterKey(collection.digest, column.number, epoch, segment) for column in columns],
        sizes=[column.shape.counters for column in columns],
        key=np.repeat(np.arange(len(columns)), [len(own) for own in amounts]),
        counter=np.concatenate([np.arange(len(own)) for own in amounts]),
        amount=np.concatenate(amounts),
    )
    window = EpochKey(collection.digest, epoch)
    ids = [os.urandom(16) for _ in range(batches)]
    known = await store.add(0, {window: Arrivals(ids, _KEPT_SECONDS, _KEPT_SECONDS)}, additions)
    assert not known
