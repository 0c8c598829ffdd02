"""What eight bytes can do that make thousands: keep a worker busy, point where their sender likes, be no codeword.

The bounds that hold what is sent hold what is made of it, too.
"""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import numpy as np
import pytest

from deniable import codebook
from deniable.payload import Codeword, Symbol
from deniable_aggregator.codebook import directions
from deniable_aggregator.estimators import entries
from deniable_aggregator.ingest import FlushSettings, Layout
from deniable_aggregator.ingest.rows import Batch, Lookup, Rows, faults
from deniable_aggregator.planning.leverage import gain
from deniable_aggregator.store import EpochKey
from support.aggregator_server import EPOCH, request, rows, serving
from support.asked import asked
from support.waiting import PATIENCE, until

LONG = Layout("long", 21, 86400, 3, (("v", Codeword(4096, 256, 1 << 40)), ("s", Symbol(3))))
BATCHES = 12


def test_a_flush_makes_no_more_of_codewords_than_is_sent_of_vectors(tmp_path: Path) -> None:
    """Reports of 4,096 entries are flushed as if they had their 16 kB with them: no more than three in 48 kB.

    Of what was sent alone, 96 bytes, all twelve would be one flush; a thousand such reports would keep a worker from
    everybody else for 40 ms, and more of them in a collection with several vectors.
    """

    async def flood() -> None:
        few = FlushSettings(interval=1, most_bytes=48_000)
        async with serving(tmp_path, LONG, flush=few) as (server, client):
            await client.submit(request((1, 0), collection_digest=LONG.digest))
            batches = [request((0, number), collection_digest=LONG.digest) for number in range(BATCHES)]
            await asyncio.gather(*map(client.submit, batches))
            assert server.stats.flushes >= 1 + BATCHES / 3

    asyncio.run(flood())


@pytest.mark.parametrize(("segments", "flushes"), [(1, 1), (24, 3)])
def test_what_a_flush_opens_for_codewords_is_bounded(tmp_path: Path, segments: int, flushes: int) -> None:
    """Of batches of as many segments as there are few make a flush, here eight of 131 kB in a megabyte: entries of
    each lie in memory until they are stored. Batches of one segment are flushed together, as many as there are.

    It was one flush in any case: at its usual size 256 segments, and 200 MB.
    """
    spread = Layout("spread", 23, 86400, 24, LONG.columns)

    async def flood() -> None:
        settings = FlushSettings(interval=10 * PATIENCE, most_bytes=1 << 20)
        async with serving(tmp_path, spread, flush=settings) as (server, client):
            await client.submit(request((1, 0), collection_digest=spread.digest))
            batches = [
                request((0, number), collection_digest=spread.digest, segment=number % segments)
                for number in range(24)
            ]
            told = asyncio.gather(*map(client.submit, batches))
            await until(lambda: told.done() or server.stats.waiting == len(batches))
            await server.drain()
            await told
            assert server.stats.flushes == 1 + flushes

    asyncio.run(flood())


def test_what_is_no_codeword_is_refused() -> None:
    """Beyond the last one of the last seed, or two of one vector, alone and among others: with its reason."""
    few = Lookup(Layout("few", 22, 86400, 1, (("v", Codeword(3, 8, 5)), ("v", Codeword(3, 8, 5)))))

    def batch(*reports: tuple[int, int]) -> Batch:
        return Batch(bytes(16), few, EpochKey(22, EPOCH), 0, rows(*reports), ())

    fine, beyond, twice = batch((0, 39)), batch((0, 40)), batch((0, 1), (1, 1))
    for each in (beyond, twice):
        assert Rows([fine, each, fine]).malformed() == {1}
        assert Rows([each]).malformed() == {0}
        assert faults(each)
    assert not Rows([fine]).malformed()


@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_who_looks_through_the_seeds_moves_the_mean_no_farther_than_is_stated(epsilon: str) -> None:
    """A fake tries 200,000 codewords and sends the one that lies best along an entry: it moves that by 0.5 of what is
    stated, where all honest reports move the whole vector by as much as it does, and no codeword is longer."""
    metric = asked("vector", f'dimensions = 24\nclip = 1\nnorm = "l2"\nepsilon = {epsilon}\n')
    (column,) = metric.columns
    shape = column.mechanism.shape
    assert isinstance(shape, Codeword)
    tried = directions(shape, np.random.default_rng(1).integers(0, 1 << 48, 200_000).astype(np.uint64))
    step = entries(column.mechanism, np.zeros(shape.counters, dtype=np.int64)).step
    grid = step * metric.kind.grid  # type: ignore[attr-defined]
    stated = gain(metric)
    assert stated.row == stated.together
    assert (np.linalg.norm(tried, axis=1) / grid + 1).max() / 2 <= stated.together * (1 + 1e-3)
    best = (float(tried.max()) / grid + 1) / 2
    assert 0.5 * stated.row < best < stated.row
    assert math.isclose(codebook.LENGTH / grid, 2 * stated.row - 1)
