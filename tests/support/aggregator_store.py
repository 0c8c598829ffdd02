"""A real store to test against: an embedded server, an event loop that stays, and arrays made easily."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from redis import Redis

from deniable_aggregator.store import Additions, Admission, CounterKey, EmbeddedStore, Store, Window

__all__ = ["Place", "additions", "admission", "batch_ids", "place", "window_of"]

T = TypeVar("T")


class Place:
    """A store that runs, and the event loop that it runs on."""

    def __init__(self, runner: asyncio.Runner, embedded: EmbeddedStore, store: Store) -> None:
        self.embedded = embedded
        self.store = store
        self._runner = runner

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of something asynchronous."""
        return self._runner.run(work)

    def raw(self) -> Redis:
        """A client of the server itself, to look behind the store's back."""
        return Redis.from_url(self.embedded.url)


@contextmanager
def place(data_dir: Path, shards: int = 1) -> Iterator[Place]:
    """A place that is gone afterwards."""
    with asyncio.Runner() as runner:
        embedded = EmbeddedStore(data_dir)
        runner.run(embedded.start())
        store = Store(embedded.url, shards=shards)
        try:
            runner.run(store.open())
            yield Place(runner, embedded, store)
        finally:
            runner.run(store.close())
            runner.run(embedded.stop())


def batch_ids(count: int = 1) -> list[bytes]:
    """New ids of batches."""
    return [os.urandom(16) for _ in range(count)]


def admission(ids: Iterable[bytes], remember: int = 1000, keep: int = 5000) -> Admission:
    """An admission of batches."""
    return Admission(list(ids), remember, keep)


def additions(amounts: Mapping[CounterKey, Mapping[int, int]], size: int = 100) -> Additions:
    """Additions of amounts by key and counter."""
    entries = [(key, counter, by[counter]) for key, by in enumerate(amounts.values()) for counter in sorted(by)]
    key, counter, amount = (np.array(column, dtype=np.int64) for column in zip(*entries, strict=True))
    return Additions(list(amounts), [size] * len(amounts), key, counter, amount)


def window_of(key: CounterKey) -> Window:
    """The window that a key belongs to."""
    return Window(key.digest, key.epoch)
