"""Flushes and nothing else: python -m benchmarks.workers.flushes BATCHES FLUSHES

Everything from a batch's ticket to its outcome, on an embedded store, with a board: `benchmarks/flushes.py` counts
what it takes.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from benchmarks.ingest_servers import COLLECTION, batch
from deniable_aggregator.ingest import Batcher, Board, Calendar, Door, FlushSettings
from deniable_aggregator.ingest.rows import Batch
from deniable_aggregator.serving.server import layout_of
from deniable_aggregator.store import EmbeddedStore, Store

_REPORTS = 20
_CONTENTS = 100


def _contents(door: Door) -> list[Batch]:
    """Batches of devices with answers of their own; their ids are given out later."""
    admitted = [door.admit(batch(_REPORTS)) for _ in range(_CONTENTS)]
    return [each for each in admitted if isinstance(each, Batch)]


async def _flush(batcher: Batcher, batches: list[Batch]) -> None:
    """Submit some batches in one turn of the loop, and wait until they are settled."""
    tickets = [batcher.submit(each) for each in batches]
    for ticket in tickets:
        assert isinstance(ticket, tuple)
        await ticket.outcomes


async def _main(size: int, flushes: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        embedded = EmbeddedStore(Path(directory, "data"))
        await embedded.start()
        store = Store(embedded.url, timeout=60.0)
        await store.open()
        calendar = Calendar()
        door = Door([layout_of(COLLECTION)], calendar)
        stats = Board(Path(directory, "board")).join(0)
        batcher = Batcher(store, calendar, FlushSettings(interval=0.0), stats)
        contents = itertools.cycle(_contents(door))
        os.getsid(0)  # counting begins here: `benchmarks/flushes.py` has valgrind look out for it
        began = time.process_time()
        for _ in range(flushes):
            await _flush(batcher, [each._replace(id=os.urandom(16)) for each in itertools.islice(contents, size)])
        spent = time.process_time() - began
        os.getpgid(0)  # and ends here
        assert stats.accepted == size * flushes
        sys.stdout.write(f"{stats.flushes} {1e6 * spent / flushes:.0f}\n")
        await batcher.drain()
        await store.close()
        await embedded.stop()


if __name__ == "__main__":
    uvloop.run(_main(int(sys.argv[1]), int(sys.argv[2])))
