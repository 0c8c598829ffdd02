"""The counters that questions are answered from, kept in memory and read again only where they have changed.

words:
  joined    the versions of a collection whose counters are added: each has its own digest, and numbers of its columns
  version   of an epoch: how many batches it has taken, as far as their ids are remembered, in each of the collections
            that are joined. Ids and counters are stored together, so counters that have changed have another version;
            when ids are forgotten the epoch is closed, its version falls to 0 and its counters are read once more

What is not asked for is not read. What has not been asked for longest is let go of when there is too much.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deniable import Collection, Metric
from deniable_aggregator.store import Cell, Counted, EpochKey, Store

__all__ = ["Counters", "EpochCounters", "Segments", "Version"]

Version = tuple[int, ...]
"""Of an epoch: what changes when its counters do."""
Segments = NDArray[np.int64]
"""Indices of segments, in order."""

_MOST_BYTES = 256 << 20
_COLUMN_BYTES = 200
"""What it takes to know that a column has no counters."""


@dataclass(slots=True)
class EpochCounters:
    """The counters of one epoch of a collection, as far as they have been asked for."""

    version: int
    columns: dict[int, Counted] = field(default_factory=dict)
    """By the column's number; without segments in which nothing has been counted."""
    size: int = 0
    """In bytes."""

    def of(self, metric: Metric, segments: Segments) -> list[NDArray[np.int64]]:
        """The counters of a metric's columns, added over segments."""
        return [_added(self.columns[column.number], segments) for column in metric.columns]


def _added(own: Counted, segments: Segments) -> NDArray[np.int64]:
    rows = own.rows
    if len(rows):
        last = own.segments[-1]
        if len(segments) <= last or segments[last] != last:  # not all of them are asked for
            rows = rows[np.isin(own.segments, segments, assume_unique=True)]
    if not len(rows):
        return _nothing(rows.shape[1])
    total: NDArray[np.int64] = rows[0] if len(rows) == 1 else rows.sum(axis=0)
    return total


@lru_cache(maxsize=256)
def _nothing(counters: int) -> NDArray[np.int64]:
    """What has not been counted: the same array for every epoch, since many may have none."""
    zeros = np.zeros(counters, dtype=np.int64)
    zeros.setflags(write=False)
    return zeros


class Counters:
    """Counters by epoch."""

    def __init__(self, store: Store, most_bytes: int = _MOST_BYTES) -> None:
        self._store = store
        self._most_bytes = most_bytes
        self._epochs: OrderedDict[EpochKey, EpochCounters] = OrderedDict()
        self._size = 0
        self._reading = asyncio.Lock()

    async def versions(self, joined: Sequence[Collection], epochs: Iterable[int]) -> list[Version]:
        """The epochs' versions; of each collection 0 where no batch is remembered."""
        wanted = list(epochs)
        seen = await asyncio.gather(*(self._store.seen(own.digest, wanted) for own in joined))
        return list(zip(*seen, strict=True))

    async def read(
        self,
        collection: Collection,
        metrics: Iterable[Metric],
        epochs: Sequence[int],
        versions: Sequence[int] | None = None,
    ) -> list[EpochCounters]:
        """The counters of these metrics in each of the epochs, at versions that were just told; or now."""
        async with self._reading:
            found = []
            if versions is None:
                versions = [own for (own,) in await self.versions([collection], epochs)]
            for epoch, version in zip(epochs, versions, strict=True):
                found.append(self._at(EpochKey(collection.digest, epoch), version))
            await self._fill(collection, metrics, epochs, found)
            self._shrink()
        return found

    def _at(self, key: EpochKey, version: int) -> EpochCounters:
        kept = self._epochs.pop(key, None)
        if kept is None or kept.version != version:
            self._size -= kept.size if kept else 0
            kept = EpochCounters(version)
        self._epochs[key] = kept
        return kept

    async def _fill(
        self, collection: Collection, metrics: Iterable[Metric], epochs: Sequence[int], found: Sequence[EpochCounters]
    ) -> None:
        """Read what is missing."""
        columns = [column for metric in metrics for column in metric.columns]
        missing = [
            (own, Cell(column.number, epoch, column.shape.counters))
            for epoch, own in zip(epochs, found, strict=True)
            for column in columns
            if column.number not in own.columns
        ]
        if not missing:
            return
        cells = [cell for _, cell in missing]
        stored = await self._store.cells(collection.digest, cells, collection.segment_count)
        for (own, cell), counted in zip(missing, stored, strict=True):
            own.columns[cell.column] = counted
            size = _COLUMN_BYTES + counted.segments.nbytes + counted.rows.nbytes
            own.size += size
            self._size += size

    def _shrink(self) -> None:
        while self._size > self._most_bytes and self._epochs:
            _, oldest = self._epochs.popitem(last=False)
            self._size -= oldest.size
