"""How counters are read for questions: many columns, epochs and segments at once, of which most may be empty.

words:
  cell   one column in one epoch: in each segment that has reports, a row of counters
  piece  a cell, or some of its segments where all of them would be too much to read at once

One script answers for some pieces. What it takes is bounded, by keys and by bytes: the server does nothing else
meanwhile, and devices' batches wait for it. What is empty costs the server a look, and the one who asks nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from deniable_aggregator.store.additions import IntArray
from deniable_aggregator.store.keys import counts_begin, seen_begin
from deniable_aggregator.store.servers import Places, Script, packed

__all__ = ["Cell", "Counted", "Reading", "together"]

MOST_KEYS = 1024
"""Of one script: a third of a millisecond of the server's time."""
MOST_BYTES = 256 << 10
"""Of one script, but for one key alone."""

_CELLS, _SEEN = Script("cells"), Script("seen")


class Cell(NamedTuple):
    """Which column and epoch, and how many counters each of its rows has."""

    column: int
    epoch: int
    counters: int


class Counted(NamedTuple):
    """What a cell has."""

    segments: IntArray
    """The segments that have been counted, in order."""
    rows: IntArray
    """A row of counters for each of them."""


class _Piece(NamedTuple):
    """Some segments of a cell."""

    cell: int
    """Its place among all that are asked for."""
    first: int
    segments: int


class Reading:
    """Reads from the shards of a store; what waits in them has been folded before."""

    def __init__(self, servers: Places, shards: int) -> None:
        self._servers = servers
        self._shards = shards

    async def cells(self, digest: int, cells: Sequence[Cell], segments: int) -> list[Counted]:
        """What the cells have in these segments, counted from 0, added over all shards."""
        shards = await asyncio.gather(
            *(self.of_shard(shard, digest, cells, segments) for shard in range(self._shards))
        )
        return [together(cell, [shard[place] for shard in shards]) for place, cell in enumerate(cells)]

    async def batches(self, digest: int, epochs: Sequence[int]) -> list[int]:
        """How many ids are known of each epoch."""
        counted = await asyncio.gather(*(self._seen(shard, digest, epochs) for shard in range(self._shards)))
        return [sum(each) for each in zip(*counted, strict=True)]

    async def of_shard(self, shard: int, digest: int, cells: Sequence[Cell], segments: int) -> list[list[Counted]]:
        """What one shard has of the cells, in parts."""
        begin = counts_begin(shard, digest)
        found: list[list[Counted]] = [[] for _ in cells]
        for pieces in _calls(cells, segments):
            wanted = [(cells[own.cell].column, cells[own.cell].epoch, own.first, own.segments) for own in pieces]
            reply = await self._servers.run(_CELLS, [begin], packed(wanted))
            for own, there, counters in zip(pieces, reply[::2], reply[1::2], strict=True):
                if there:
                    rows = np.frombuffer(counters, "<i8").astype(np.int64)
                    numbers = np.frombuffer(there, "<u4").astype(np.int64)
                    found[own.cell].append(Counted(numbers, rows.reshape(len(numbers), -1)))
        return found

    async def _seen(self, shard: int, digest: int, epochs: Sequence[int]) -> list[int]:
        found = [b""]
        for start in range(0, len(epochs), MOST_KEYS):
            some = packed([(epoch,) for epoch in epochs[start : start + MOST_KEYS]])
            found.append(await self._servers.run(_SEEN, [seen_begin(shard, digest)], some))
        numbers: list[int] = np.frombuffer(b"".join(found), "<u4").tolist()
        return numbers


def _calls(cells: Sequence[Cell], segments: int) -> Iterator[list[_Piece]]:
    """The pieces of each call."""
    pieces: list[_Piece] = []
    keys = size = 0
    for place, cell in enumerate(cells):
        each = 8 * cell.counters
        most = min(max(MOST_BYTES // each, 1), MOST_KEYS)
        for first in range(0, segments, most):
            count = min(most, segments - first)
            if pieces and (keys + count > MOST_KEYS or size + count * each > MOST_BYTES):
                yield pieces
                pieces, keys, size = [], 0, 0
            pieces.append(_Piece(place, first, count))
            keys, size = keys + count, size + count * each
    if pieces:
        yield pieces


def together(cell: Cell, shards: Sequence[list[Counted]]) -> Counted:
    """What all shards have of a cell."""
    parts = [part for shard in shards for part in shard]
    if not parts:
        return Counted(np.zeros(0, np.int64), np.zeros((0, cell.counters), np.int64))
    if len(parts) == 1:
        return parts[0]
    segments = np.concatenate([part.segments for part in parts])
    rows = np.concatenate([part.rows for part in parts])
    numbers, places = np.unique(segments, return_inverse=True)
    sums = np.zeros((len(numbers), cell.counters), np.int64)
    np.add.at(sums, places, rows)
    return Counted(numbers, sums)
