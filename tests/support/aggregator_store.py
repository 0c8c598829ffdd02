"""A real store to test against: an embedded server, an event loop that stays, and arrays made easily."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
from redis import Redis

from deniable_aggregator.store import (
    Additions,
    Arrivals,
    CounterKey,
    Durability,
    EmbeddedStore,
    EpochKey,
    Promise,
    Store,
)
from support.servers import REDIS, server

__all__ = [
    "OWN",
    "SIZE",
    "EmbeddedPlace",
    "Fresh",
    "Place",
    "add",
    "additions",
    "admission",
    "batch_ids",
    "counters",
    "fresh_key",
    "place",
    "redis_place",
    "window_of",
]

SIZE = 100
"""How many counters a key has, where a test does not say."""
OWN = {b"deniable:shards", b"deniable:schema", b"deniable:identity"}
"""The keys that every store has of its own, and keeps for ever."""

T = TypeVar("T")
_digests = iter(range(1, 1 << 32))


class Place:
    """A store that runs, and the event loop that it runs on."""

    def __init__(self, runner: asyncio.Runner, url: str, data_dir: Path, store: Store) -> None:
        self.url = url
        self.data_dir = data_dir
        self.store = store
        self._runner = runner

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of something asynchronous."""
        return self._runner.run(work)

    def raw(self) -> Redis:
        """A client of the server itself, to look behind the store's back."""
        return Redis.from_url(self.url)


Fresh = Callable[..., AbstractContextManager[Place]]
"""Makes a place."""


class EmbeddedPlace(Place):
    """A place whose server is the embedded one."""

    def __init__(self, runner: asyncio.Runner, embedded: EmbeddedStore, store: Store) -> None:
        super().__init__(runner, embedded.url, embedded.data_dir, store)
        self.embedded = embedded


@contextmanager
def place(data_dir: Path, shards: int = 1) -> Iterator[EmbeddedPlace]:
    """A place with the embedded server, which is gone afterwards."""
    with asyncio.Runner() as runner:
        embedded = EmbeddedStore(data_dir)
        runner.run(embedded.start())
        store = Store(embedded.url, shards=shards)
        try:
            runner.run(store.open())
            yield EmbeddedPlace(runner, embedded, store)
        finally:
            runner.run(store.close())
            runner.run(embedded.stop())


@contextmanager
def redis_place(data_dir: Path, shards: int = 1) -> Iterator[Place]:
    """A place with Debian's Redis, which is gone afterwards."""
    assert REDIS
    with (
        TemporaryDirectory() as room,
        asyncio.Runner() as runner,
        server(data_dir, "--unixsocket", f"{room}/redis.sock", binary=REDIS),
    ):
        url = f"unix://{room}/redis.sock"
        store = Store(url, shards=shards, durability=Durability(Promise.FSYNC))
        try:
            runner.run(store.open())
            yield Place(runner, url, data_dir, store)
        finally:
            runner.run(store.close())


def batch_ids(count: int = 1) -> list[bytes]:
    """New ids of batches."""
    return [os.urandom(16) for _ in range(count)]


def admission(ids: Iterable[bytes], remember: int = 1000, keep: int = 5000) -> Arrivals:
    """An admission of batches."""
    return Arrivals(list(ids), remember, keep)


def additions(amounts: Mapping[CounterKey, Mapping[int, int]], size: int = SIZE) -> Additions:
    """Additions of amounts by key and counter."""
    entries = [(key, counter, by[counter]) for key, by in enumerate(amounts.values()) for counter in sorted(by)]
    key, counter, amount = (np.array(column, dtype=np.int64) for column in zip(*entries, strict=True))
    return Additions.checked(list(amounts), [size] * len(amounts), key, counter, amount)


def window_of(key: CounterKey) -> EpochKey:
    """The window that a key belongs to."""
    return EpochKey(key.digest, key.epoch)


def fresh_key(column: int = 0) -> CounterKey:
    """A key that no other test uses."""
    return CounterKey(next(_digests), column, 20_000, 2)


async def add(
    store: Store, key: CounterKey, amounts: dict[int, int], ids: list[bytes] | None = None
) -> set[tuple[EpochKey, bytes]]:
    """Add amounts to one key."""
    return await store.add(0, {window_of(key): admission(ids or batch_ids())}, additions({key: amounts}))


async def counters(store: Store, key: CounterKey) -> list[int]:
    """The counters of a key, which exist."""
    (values,) = await store.read([key])
    assert values is not None
    return [int(value) for value in values]
