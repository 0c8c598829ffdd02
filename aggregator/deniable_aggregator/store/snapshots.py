"""All counters of an epoch as of one moment, while batches are added.

What a shard has of an epoch is read in pieces, so that nobody waits for it. It is as of one moment where nothing of
the epoch has got into the counters meanwhile: because no batch of it has been added since before the last fold, or
because nothing has been folded. Otherwise it is read again. A batch is in one shard: it is there as a whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from deniable_aggregator.store.additions import NONCE_BYTES
from deniable_aggregator.store.errors import StoreUnavailable
from deniable_aggregator.store.folding import Folding
from deniable_aggregator.store.keys import CounterKey, EpochKey, counts_name, increments_name, seen_name
from deniable_aggregator.store.reading import Cell, Counted, Reading, together
from deniable_aggregator.store.servers import Places

__all__ = ["Snapshot", "Snapshots"]

_MOST_TRIES = 100
_MOST_LOOKS = 25
_LOOK_SECONDS = 0.002


class Snapshot(NamedTuple):
    """What an epoch has."""

    columns: Sequence[Counted]
    """Of each column."""
    until: int
    """Until when the last of them is kept, in seconds since 1970; 0 where there are none."""


class Snapshots:
    """Reads epochs as of one moment."""

    def __init__(self, servers: Places, folding: Folding, reading: Reading, shards: int) -> None:
        self._servers = servers
        self._folding = folding
        self._reading = reading
        self._shards = shards

    async def epoch(self, key: EpochKey, cells: Sequence[Cell], segments: int) -> Snapshot:
        """What an epoch has in these cells."""
        of_shards = [await self._shard(shard, key, cells, segments) for shard in range(self._shards)]
        columns = [together(cell, [columns[place] for columns, _ in of_shards]) for place, cell in enumerate(cells)]
        return Snapshot(columns, max(until for _, until in of_shards))

    async def _shard(
        self, shard: int, key: EpochKey, cells: Sequence[Cell], segments: int
    ) -> tuple[list[list[Counted]], int]:
        """What a shard has, and until when."""
        for attempt in range(_MOST_TRIES):
            before, _ = await self._mark(shard, key)
            await self._folding.fold(shard)
            if attempt:
                await self._something_waits(shard, key)
            batches, head = await self._mark(shard, key)
            found = await self._reading.of_shard(shard, key.digest, cells, segments)
            until = await self._until(shard, key, cells, found)
            after, head_after = await self._mark(shard, key)
            if after == (before if head else batches) or (head and head_after == head):
                return found, until
        raise StoreUnavailable(
            f"the counters of epoch {key.epoch} change faster than they can be read: ask again when fewer devices "
            "report"
        )

    async def _something_waits(self, shard: int, key: EpochKey) -> None:
        """Return when something is to be folded next, by which it is seen whether anything is; or after a while."""
        for _ in range(_MOST_LOOKS):
            _, head = await self._mark(shard, key)
            if head:
                return
            await asyncio.sleep(_LOOK_SECONDS)

    async def _mark(self, shard: int, key: EpochKey) -> tuple[int, bytes]:
        """How many batches an epoch has, and how what is folded next begins: where that is nothing, all of them have
        been folded."""
        name = increments_name(shard)
        batches, waiting = await self._servers.ask(name, ("SCARD", seen_name(shard, key)), ("LRANGE", name, 0, 0))
        return int(batches), b"".join(waiting)[:NONCE_BYTES]

    async def _until(
        self, shard: int, key: EpochKey, cells: Sequence[Cell], found: Sequence[Sequence[Counted]]
    ) -> int:
        """Until when the last of what was found is kept."""
        names = [
            counts_name(shard, CounterKey(key.digest, cell.column, key.epoch, int(part.segments[0])))
            for cell, parts in zip(cells, found, strict=True)
            for part in parts
        ]
        if not names:
            return 0
        times = await self._servers.ask(names[0], *(("EXPIRETIME", name) for name in names))
        return max(map(int, times))
