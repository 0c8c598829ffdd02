"""Epochs as of one moment: every batch is in all columns that it adds to, or in none."""

from __future__ import annotations

import asyncio

import numpy as np

from deniable_aggregator.store import CounterKey, EpochKey, Snapshot
from support.aggregator_store import Fresh, Place, additions, admission, batch_ids, fresh_key

WIDE = 40_000
"""Counters of a column, too many for two columns to be read at once."""


def test_a_batch_is_there_as_a_whole_or_not_at_all(here: Place) -> None:
    """Columns are read one after another while batches that add to all of them are added and folded."""
    first = fresh_key()
    columns = [first._replace(column=column) for column in range(4)]
    key = EpochKey(first.digest, first.epoch)
    ended = False

    async def report() -> int:
        added = 0
        while not ended:
            additional = additions({own: {added % WIDE: 1} for own in columns}, WIDE)
            assert not await here.store.add(0, {key: admission(batch_ids())}, additional)
            added += 1
        return added

    async def fold() -> None:
        while not ended:
            await here.store.fold(0)
            await asyncio.sleep(0.2)

    async def read() -> None:
        nonlocal ended
        work = [asyncio.create_task(report()), asyncio.create_task(fold())]
        last = 0
        for _ in range(20):
            found = await here.store.snapshot(key, [WIDE] * len(columns), 3)
            totals = {int(own.rows.sum()) for own in found.columns}
            assert len(totals) == 1, "a batch is torn"
            (total,) = totals
            assert total >= last
            last = total
        ended = True
        added, _ = await asyncio.gather(*work)
        found = await here.store.snapshot(key, [WIDE] * len(columns), 3)
        assert {int(own.rows.sum()) for own in found.columns} == {added}

    here.run(read())


def test_shards_are_added_up_and_the_last_end_is_told(fresh: Fresh) -> None:
    """What each of them has, and until when it is kept; of an epoch that nobody has, nothing."""
    key = CounterKey(5, 0, 20_000, 2)
    with fresh(shards=4) as place:
        for shard in range(4):
            own = {EpochKey(5, 20_000): admission(batch_ids(), keep=1000 * (shard + 1))}
            place.run(place.store.add(shard, own, additions({key: {shard: 7, 9: 1}})))
        found: Snapshot = place.run(place.store.snapshot(EpochKey(5, 20_000), [100], 3))
        assert found.columns[0].segments.tolist() == [2]
        assert np.flatnonzero(found.columns[0].rows[0]).tolist() == [0, 1, 2, 3, 9]
        assert found.columns[0].rows[0].sum() == 32
        with place.raw() as server:
            ends = [server.expiretime(name) for name in server.keys("*counts*")]
        assert found.until == max(ends)
        assert place.run(place.store.epochs(5)) == [20_000]
        nothing = place.run(place.store.snapshot(EpochKey(5, 20_001), [100], 3))
        assert (nothing.until, nothing.columns[0].segments.tolist()) == (0, [])
        assert place.run(place.store.epochs(6)) == []
