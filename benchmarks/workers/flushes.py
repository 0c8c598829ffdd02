"""Flushes and nothing else: python -m benchmarks.workers.flushes

Everything from a batch's ticket to its outcome, on an embedded store, with a board: `benchmarks/flushes.py` counts
what it takes. Valgrind looks out for getsid and getpgid, which nothing else calls: what is between them is counted.
What comes first after valgrind has begun to count anew has some of the past in it; so each is done twice.
"""

from __future__ import annotations

import gc
import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import uvloop

from benchmarks.ingest_servers import COLLECTION, batch
from deniable_aggregator.ingest import Admission, Batcher, Board, Calendar, FlushSettings
from deniable_aggregator.ingest.rows import Batch
from deniable_aggregator.serving.server import layout_of
from deniable_aggregator.store import EmbeddedStore, Store

__all__ = ["FLUSHES", "SIZES"]

SIZES = (1, 5, 20, 140)
"""How many batches a flush has."""
FLUSHES = 40
"""How many flushes of each size are counted."""
_WARM = 20
_COLLECT = (20_000, 20, 100)
"""How often the collector looks, as in a worker."""
_REPORTS = 20
_CONTENTS = 100


def _contents(door: Admission) -> list[Batch]:
    """Batches of devices with answers of their own; their ids are given out later."""
    admitted = [door.admit(batch(_REPORTS)) for _ in range(_CONTENTS)]
    return [each for each in admitted if isinstance(each, Batch)]


async def _flush(batcher: Batcher, batches: list[Batch]) -> None:
    """Submit some batches in one turn of the loop, and wait until they are done."""
    tickets = [batcher.submit(each) for each in batches]
    for ticket in tickets:
        assert isinstance(ticket, tuple)
        await ticket.outcomes


async def _counted(batcher: Batcher, contents: Iterator[Batch], size: int, flushes: int) -> None:
    prepared = [
        [each._replace(id=os.urandom(16)) for each in itertools.islice(contents, size)] for _ in range(flushes)
    ]
    os.getsid(0)
    for batches in prepared:
        await _flush(batcher, batches)
    os.getpgid(0)


async def _main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        embedded = EmbeddedStore(Path(directory, "data"))
        await embedded.start()
        store = Store(embedded.url, timeout=60.0)
        await store.open()
        calendar = Calendar()
        door = Admission([layout_of(COLLECTION)], calendar)
        stats = Board(Path(directory, "board")).join(0)
        batcher = Batcher(store, calendar, FlushSettings(interval=0.0), stats)
        contents = itertools.cycle(_contents(door))
        gc.freeze()
        gc.set_threshold(*_COLLECT)
        for size in SIZES:
            for flushes in (_WARM, FLUSHES):
                await _counted(batcher, contents, size, flushes)
        assert stats.accepted == (_WARM + FLUSHES) * sum(SIZES)
        await batcher.drain()
        await store.close()
        await embedded.stop()


if __name__ == "__main__":
    uvloop.run(_main())
