"""The counters that questions are answered from, kept in memory and read again only where they have changed.

words:
  version   how many batches an epoch has taken, as far as their ids are remembered. Ids and counters are stored
            together, so counters that have changed have another version; when ids are forgotten the epoch is
            closed, its version falls to 0 and its counters are read once more

What is not asked for is not read. What has not been asked for longest is let go of when there is too much.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deniable import Collection, Metric
from deniable.collection import Column
from deniable_aggregator.store import CounterKey, Store, Window

__all__ = ["Counters", "EpochCounters"]

_MOST_BYTES = 256 << 20
_COLUMN_BYTES = 200
"""What it takes to know that a column has no counters."""


@dataclass(slots=True)
class EpochCounters:
    """The counters of one epoch of a collection, as far as they have been asked for."""

    version: int
    columns: dict[int, dict[int, NDArray[np.int64]]] = field(default_factory=dict)
    """By the column's number and the segment's index; without what has not been counted."""
    size: int = 0
    """In bytes."""

    def of(self, metric: Metric, segments: Sequence[int]) -> list[NDArray[np.int64]]:
        """The counters of a metric's columns, added over segments."""
        return [_added(column, self.columns[column.number], segments) for column in metric.columns]


def _added(column: Column, by_segment: dict[int, NDArray[np.int64]], segments: Sequence[int]) -> NDArray[np.int64]:
    own = [by_segment[segment] for segment in segments if segment in by_segment]
    if len(own) == 1:
        return own[0]
    total = np.zeros(column.shape.counters, dtype=np.int64)
    for counters in own:
        total += counters
    return total


class Counters:
    """Counters by epoch."""

    def __init__(self, store: Store, most_bytes: int = _MOST_BYTES) -> None:
        self._store = store
        self._most_bytes = most_bytes
        self._epochs: OrderedDict[Window, EpochCounters] = OrderedDict()
        self._size = 0
        self._reading = asyncio.Lock()

    async def versions(self, collection: Collection, epochs: Iterable[int]) -> list[int]:
        """The epochs' versions; 0 where no batch is remembered."""
        return await self._store.batches([Window(collection.digest, epoch) for epoch in epochs])

    async def read(
        self, collection: Collection, metrics: Iterable[Metric], epochs: Sequence[int]
    ) -> list[EpochCounters]:
        """The counters of these metrics in each of the epochs, as they are now."""
        columns = [column for metric in metrics for column in metric.columns]
        async with self._reading:
            found = []
            versions = await self.versions(collection, epochs)
            for epoch, version in zip(epochs, versions, strict=True):
                found.append(self._at(Window(collection.digest, epoch), version))
            await self._fill(collection, columns, epochs, found)
            self._shrink()
        return found

    def _at(self, window: Window, version: int) -> EpochCounters:
        kept = self._epochs.pop(window, None)
        if kept is None or kept.version != version:
            self._size -= kept.size if kept else 0
            kept = EpochCounters(version)
        self._epochs[window] = kept
        return kept

    async def _fill(
        self, collection: Collection, columns: Sequence[Column], epochs: Sequence[int], found: Sequence[EpochCounters]
    ) -> None:
        """Read what is missing."""
        segments = range(collection.segment_count)
        missing = [
            (own, column.number, epoch)
            for epoch, own in zip(epochs, found, strict=True)
            for column in columns
            if column.number not in own.columns
        ]
        keys = [
            CounterKey(collection.digest, column, epoch, segment)
            for _, column, epoch in missing
            for segment in segments
        ]
        stored = iter(await self._store.read(keys))
        for own, column, _ in missing:
            read = {segment: next(stored) for segment in segments}
            kept = {segment: counters for segment, counters in read.items() if counters is not None}
            own.columns[column] = kept
            size = _COLUMN_BYTES + sum(counters.nbytes for counters in kept.values())
            own.size += size
            self._size += size

    def _shrink(self) -> None:
        while self._size > self._most_bytes and self._epochs:
            _, oldest = self._epochs.popitem(last=False)
            self._size -= oldest.size
