"""The counters, and the ids that have been counted, in Redis or Valkey.

One script adds a flush: it remembers the ids and keeps an increment, what the batches add up to; or, if one of the
ids is known, does neither and says which. Increments are folded into the counters later (`folding.py`), many at a
time. Reading folds first, so whatever has been acknowledged is in the counters that are read.

The script is atomic, so a reply that is lost costs nothing: the one who sent the batch repeats it, and the store
answers that it knows the id.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from deniable_aggregator.store.additions import Additions, IntArray, Written
from deniable_aggregator.store.condition import Condition
from deniable_aggregator.store.doubts import Doubts
from deniable_aggregator.store.durability import Durability
from deniable_aggregator.store.errors import ShardMismatch, StoreFull, StoreUnavailable, StoreUnfit
from deniable_aggregator.store.folding import Folding
from deniable_aggregator.store.imports import Imports
from deniable_aggregator.store.keys import (
    SHARDS_KEY,
    SIMULATED_KEY,
    CounterKey,
    EpochKey,
    counter_key,
    counts_name,
    counts_of_collection,
    counts_of_epoch,
    imported_name,
    increments_name,
    seen_name,
)
from deniable_aggregator.store.known import Known
from deniable_aggregator.store.links import link_to
from deniable_aggregator.store.reading import Cell, Counted, Reading
from deniable_aggregator.store.schema import begin, check_schema
from deniable_aggregator.store.servers import Places, Script
from deniable_aggregator.store.snapshots import Snapshot, Snapshots

__all__ = ["ID_BYTES", "Arrivals", "Store", "StoreStatus"]

ID_BYTES = 16
"""The length of a batch's id."""

T = TypeVar("T")

_IN_MEMORY = Durability()
_KEYS_AT_ONCE = 512
_DAY = 86_400
_PROBED = 16
"""So many shards do not all happen to be in the same third of a cluster."""
_MOST_INCREMENTS = b"10000"
"""So many increments of a shard may wait to be folded; then it takes no more."""

_ADD = Script("add")
_HEAD = struct.Struct("<2I")


class Arrivals(NamedTuple):
    """The new batches of one epoch, and how long what they leave behind is kept."""

    ids: Sequence[bytes]
    remember: int
    """Seconds from now for which the ids are remembered, at the least."""
    keep: int
    """Seconds from now for which the counters are kept, from when they begin."""


class StoreStatus(NamedTuple):
    """How the server is."""

    seconds: float
    """The time of a round trip."""
    memory_bytes: int
    """What it uses."""
    memory_limit_bytes: int
    """What it may use; 0: as much as there is."""
    evicted: int
    """Keys that it has thrown away to make room. Counters and ids may be among them: it must not."""
    server: str
    """What it is."""


class Store:
    """Counters and ids on a Redis or Valkey server, or on a cluster of them.

    Ids and counters are spread over shards; a batch's id says which it belongs to. How many there are is
    written down in the store when it is first used, since an id is known only in its own shard.
    """

    def __init__(
        self, url: str, *, shards: int = 1, timeout: float = 5.0, durability: Durability = _IN_MEMORY
    ) -> None:
        if not 1 <= shards <= 1024:
            raise ValueError(f"there are 1 to 1024 shards, not {shards}")
        self.shards = shards
        self._servers = Places(link_to(url, timeout), durability)
        self._folding = Folding(self._servers)
        self._reading = Reading(self._servers, shards)
        self._snapshots = Snapshots(self._servers, self._folding, self._reading, shards)
        self.imports = Imports(self._servers)
        """What has come in files."""
        self.doubts = Doubts(self._servers)
        """What an operator says of epochs."""
        self.known = Known(self._servers)
        """Which collection each digest is of."""

    async def open(self, *, simulated: bool = False) -> None:
        """Reach the store, and agree with it about the number of shards and about what it promises.

        One that begins here can be for simulated devices, and is so for good; one that was begun without is not.
        """
        await self._servers.open()
        await self._probe()
        (new,) = await self._servers.ask(SHARDS_KEY, ("SET", SHARDS_KEY, self.shards, "NX"))
        await begin(self._servers)
        if simulated and new:
            await self._servers.ask(SIMULATED_KEY, ("SET", SIMULATED_KEY, 1))
        await self._agreed(simulated)

    async def looked_at(self, *, simulated: bool = False) -> bool:
        """Whether the store was begun, found out as by opening it, but nothing is written."""
        await self._servers.open()
        await self._probe()
        return await self._agreed(simulated)

    async def _agreed(self, simulated: bool) -> bool:
        """Whether the store was begun; an error where that was for other devices or shards, or by a newer release."""
        await check_schema(self._servers)
        (begun,) = await self._servers.ask(SHARDS_KEY, ("GET", SHARDS_KEY))
        if begun is not None and int(begun) != self.shards:
            begun = int(begun)
            raise ShardMismatch(f"this store was begun with {begun} shards: it cannot be used with {self.shards}")
        if begun is not None and simulated and not await self.simulated():
            raise StoreUnfit("this store was begun for real devices: simulated ones have one of their own, by --data")
        return begun is not None

    @classmethod
    async def begun(cls, url: str, durability: Durability = _IN_MEMORY) -> Store:
        """A store that an aggregator has used, as that has begun it, opened."""
        found = cls(url)
        try:
            await found._servers.open()
            (shards,) = await found._servers.ask(SHARDS_KEY, ("GET", SHARDS_KEY))
        finally:
            await found.close()
        if shards is None:
            raise StoreUnfit("no aggregator has used this store")
        store = cls(url, shards=int(shards), durability=durability)
        try:
            await store.open()
        except BaseException:
            await store.close()
            raise
        return store

    async def simulated(self) -> bool:
        """Whether it was begun for simulated devices."""
        (said,) = await self._servers.ask(SIMULATED_KEY, ("EXISTS", SIMULATED_KEY))
        return bool(said)

    async def counted(self, epoch: int) -> set[CounterKey]:
        """All counters of an epoch, of whatever collection. A server looks at all of its keys for that, and does
        nothing else meanwhile: a tenth of a second for a few hundred thousand."""
        await self._of_all_shards(self.fold)
        replies = await self._servers.ask_everywhere(("KEYS", counts_of_epoch(epoch)))
        return {counter_key(name) for (names,) in replies for name in names}

    async def epochs(self, digest: int) -> list[int]:
        """The epochs of which a collection has counters, in order. Costs a server what `counted` does."""
        await self._of_all_shards(self.fold)
        replies = await self._servers.ask_everywhere(("KEYS", counts_of_collection(digest)))
        return sorted({counter_key(name).epoch for (names,) in replies for name in names})

    async def erase(self, keys: Sequence[CounterKey]) -> int:
        """Erase counters, what waits to be folded into them included; how many keys there were."""
        return sum(await self._of_all_shards(partial(self._erase, keys)))

    async def _probe(self) -> None:
        """Find out now, not with the first batch, that a server is one of a cluster and has not all shards."""
        with contextlib.suppress(StoreUnavailable):  # a cluster may miss a primary, and take what belongs to others
            for shard in range(min(self.shards, _PROBED)):
                await self._servers.ask(increments_name(shard), ("EXISTS", increments_name(shard)))

    async def close(self) -> None:
        """Let go of the connections."""
        await self._servers.close()

    async def ping(self) -> None:
        """Raise a StoreError unless the store answers; it does where it says that it is full."""
        with contextlib.suppress(StoreFull):
            await self._servers.ask_everywhere(("PING",))

    def shard_of(self, batch_id: bytes) -> int:
        """The shard that a batch belongs to."""
        return int.from_bytes(batch_id, "big") % self.shards

    async def add(
        self, shard: int, arrivals: Mapping[EpochKey, Arrivals], additions: Additions | Written
    ) -> set[tuple[EpochKey, bytes]]:
        """Remember the ids and add the counters; or, if any id is known, change nothing and return those."""
        increment = additions.increment({key: own.keep for key, own in arrivals.items()})
        known = await self._add(shard, [(seen_name(shard, key), own) for key, own in arrivals.items()], increment)
        if not known:
            return set()
        epochs = list(arrivals)
        return {(epochs[number], batch_id) for number, batch_id in zip(known[::2], known[1::2], strict=True)}

    async def merge(self, key: EpochKey, parcel: Arrivals, additions: Additions) -> bool:
        """Add a parcel to an epoch, and remember its one id for as long as the counters are kept; or, if it is known,
        change nothing. Whether it was added.

        The id also stands among those of batches: who has read the epoch's counters learns that they have changed.
        """
        (parcel_id,) = parcel.ids
        shard = self.shard_of(parcel_id)
        sets = [
            (imported_name(shard, key), parcel._replace(remember=parcel.keep + _DAY)),
            (seen_name(shard, key), parcel),
        ]
        return not await self._add(shard, sets, additions.increment({key: parcel.keep}))

    async def _add(self, shard: int, sets: Sequence[tuple[bytes, Arrivals]], increment: bytes) -> list[Any]:
        """Ids that were known, each behind the number of its set; without any, all of it has been added."""
        known: list[Any] = await self._servers.run(
            _ADD,
            [increments_name(shard), *(name for name, _ in sets)],
            *_written([own for _, own in sets]),
            increment,
            max([own.keep for _, own in sets]),
            _MOST_INCREMENTS,
            b"1" if self._servers.waits else b"0",
            durably=True,
        )
        return known

    async def snapshot(self, key: EpochKey, counters: Sequence[int], segments: int) -> Snapshot:
        """All counters of an epoch, which has columns of so many counters: every batch whole, or not at all."""
        cells = [Cell(column, key.epoch, size) for column, size in enumerate(counters)]
        return await self._snapshots.epoch(key, cells, segments)

    async def fold(self, shard: int) -> None:
        """Add the increments that wait in a shard to its counters."""
        await self._folding.fold(shard)

    async def keep_folding(self) -> None:
        """Fold all shards, again and again; one that fails delays no other."""
        await asyncio.gather(*map(self._folding.keep, range(self.shards)))

    async def read(self, keys: Sequence[CounterKey]) -> list[IntArray | None]:
        """The counters of each key, added over all shards; None where nothing has been counted."""
        sums: list[IntArray | None] = [None] * len(keys)
        for values in await self._of_all_shards(partial(self._read, keys)):
            for number, value in enumerate(values):
                if value is not None:
                    counters = np.frombuffer(value, dtype="<i8").astype(np.int64)
                    before = sums[number]
                    sums[number] = counters if before is None else before + counters
        return sums

    async def cells(self, digest: int, cells: Sequence[Cell], segments: int) -> list[Counted]:
        """What the cells of a collection have in each of its segments, added over all shards."""
        await self._of_all_shards(self.fold)
        return await self._reading.cells(digest, cells, segments)

    async def seen(self, digest: int, epochs: Sequence[int]) -> list[int]:
        """What `batches` says, for many epochs of one collection."""
        return await self._reading.batches(digest, epochs)

    async def batches(self, epochs: Sequence[EpochKey]) -> list[int]:
        """How many batches of each epoch are remembered: another number wherever counters have changed since."""
        counted = await self._of_all_shards(partial(self._seen, "SCARD", epochs))
        return [sum(each) for each in zip(*counted, strict=True)]

    async def remembered(self, epochs: Sequence[EpochKey]) -> list[int | None]:
        """For how many seconds the ids of each epoch are remembered yet, at the least; None where there are none."""
        left = await self._of_all_shards(partial(self._seen, "TTL", epochs))
        return [min((seconds for seconds in each if seconds >= 0), default=None) for each in zip(*left, strict=True)]

    async def status(self) -> StoreStatus:
        """How the server is, or the fullest of several; a StoreError where one does not answer."""
        began = time.perf_counter()
        await self.ping()
        seconds = time.perf_counter() - began
        found = [_info(reply) for (reply,) in await self._servers.ask_everywhere(("INFO",))]
        fullest = max(found, key=lambda info: int(info.get("used_memory", 0)))
        name = fullest.get("server_name", "redis")
        return StoreStatus(
            seconds,
            int(fullest.get("used_memory", 0)),
            int(fullest.get("maxmemory", 0)),
            sum(int(info.get("evicted_keys", 0)) for info in found),
            f"{name} {fullest.get(f'{name}_version', '')}".strip(),
        )

    async def save(self) -> None:
        """Have every server write down what it has, beside its other work; returns at once."""
        await self._servers.ask_everywhere(("BGSAVE", "SCHEDULE"))

    async def conditions(self) -> list[Condition]:
        """How each server is."""
        return await self._servers.conditions()

    async def _of_all_shards(self, of: Callable[[int], Coroutine[Any, Any, T]]) -> list[T]:
        return list(await asyncio.gather(*(of(shard) for shard in range(self.shards))))

    async def _read(self, keys: Sequence[CounterKey], shard: int) -> list[bytes | None]:
        """The packed counters of a shard."""
        await self.fold(shard)
        values: list[bytes | None] = []
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            names = [counts_name(shard, key) for key in keys[start : start + _KEYS_AT_ONCE]]
            (found,) = await self._servers.ask(names[0], ("MGET", *names))
            values += found
        return values

    async def _erase(self, keys: Sequence[CounterKey], shard: int) -> int:
        """Erase counters of a shard; how many there were."""
        await self.fold(shard)
        erased = 0
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            names = [counts_name(shard, key) for key in keys[start : start + _KEYS_AT_ONCE]]
            (gone,) = await self._servers.ask(names[0], ("UNLINK", *names))
            erased += gone
        return erased

    async def _seen(self, command: str, epochs: Sequence[EpochKey], shard: int) -> list[int]:
        """What a command says of a shard's sets of ids."""
        names = [seen_name(shard, key) for key in epochs]
        return await self._servers.ask(increments_name(shard), *((command, name) for name in names)) if names else []


def _info(reply: bytes) -> dict[str, str]:
    return {name: value for name, _, value in (line.partition(":") for line in reply.decode().splitlines())}


def _written(arrivals: Sequence[Arrivals]) -> tuple[bytes, bytes]:
    """How many ids each set gets and for how long, and the ids, as the script reads them; a ValueError for what is no
    set, or a number that has more than 32 bits."""
    heads, blobs = [], []
    for own in arrivals:
        blob = b"".join(own.ids)
        if not blob or len(blob) != ID_BYTES * len(set(own.ids)):
            raise ValueError(f"an epoch has ids of {ID_BYTES} bytes, and each of them once")
        blobs.append(blob)
        try:
            heads.append(_HEAD.pack(len(own.ids), own.remember))
        except struct.error as error:
            raise ValueError(f"ids are not remembered for {own.remember} seconds") from error
    return b"".join(heads), b"".join(blobs)
