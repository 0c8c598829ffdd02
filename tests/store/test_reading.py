"""Counters of many columns, epochs and segments, read by a few scripts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deniable_aggregator.store import Cell, CounterKey
from deniable_aggregator.store.reading import MOST_BYTES, MOST_KEYS
from support.aggregator_store import Fresh, additions, admission, batch_ids, fresh_key, window_of

SEGMENTS = 256


@pytest.mark.parametrize("shards", [1, 3])
def test_cells_are_what_their_keys_have(fresh: Fresh, shards: int) -> None:
    """Over all shards, segments with nothing left out, and also where one key is more than a script may read."""
    big = MOST_BYTES // 8 + 5
    digest = fresh_key().digest
    wanted = [(0, 5, 2), (0, 6, 2), (1, 5, 100), (2, 5, big), (3, 5, 3)]
    there = [(0, 5, 0, 2), (0, 5, 255, 2), (1, 5, 128, 100), (2, 5, 7, big), (2, 5, 8, big)]
    with fresh(shards=shards) as here:
        for shard in range(shards):
            for column, epoch, segment, size in there[shard:]:
                key = CounterKey(digest, column, epoch, segment)
                added = additions({key: {0: 1 + shard, size - 1: 10 + segment}}, size)
                here.run(here.store.add(shard, {window_of(key): admission(batch_ids(3))}, added))
        found = here.run(here.store.cells(digest, [Cell(*each) for each in wanted], SEGMENTS))
        for (column, epoch, size), own in zip(wanted, found, strict=True):
            keys = [CounterKey(digest, column, epoch, segment) for segment in range(SEGMENTS)]
            read = here.run(here.store.read(keys))
            counted = {segment: row for segment, row in enumerate(read) if row is not None}
            assert own.segments.tolist() == list(counted)
            assert own.rows.shape == (len(counted), size)
            for row, expected in zip(own.rows, counted.values(), strict=True):
                np.testing.assert_array_equal(row, expected)
        batches = 3 * sum(len(there[shard:]) for shard in range(shards))
        assert here.run(here.store.seen(digest, [5, 6])) == [batches, 0]
        assert here.run(here.store.seen(digest, range(5000))) == [0] * 5 + [batches] + [0] * 4994
        assert here.run(here.store.seen(digest, [])) == []


def test_no_script_reads_more_than_it_may(fresh: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait while a script runs: it looks few keys up, of few bytes, or one key alone."""
    calls: list[list[tuple[int, int]]] = []
    with fresh() as here:
        servers: Any = here.store._servers
        run = servers.run

        async def counted(script: Any, names: Any, *arguments: Any, **options: Any) -> Any:
            if names[0].find(b":counts:") > 0 and len(names) == 1:
                pieces = np.frombuffer(arguments[0], "<u4").reshape(-1, 4)
                calls.append([(int(column), int(count)) for column, _, _, count in pieces])
            return await run(script, names, *arguments, **options)

        monkeypatch.setattr(servers, "run", counted)
        sizes = (2, 1000, 1 << 20)
        cells = [Cell(column, epoch, size) for epoch in range(9) for column, size in enumerate(sizes)]
        here.run(here.store.cells(fresh_key().digest, cells, SEGMENTS))
    assert sum(count for call in calls for _, count in call) == len(cells) * SEGMENTS
    for call in calls:
        keys, size = sum(count for _, count in call), sum(8 * sizes[column] * count for column, count in call)
        assert keys <= MOST_KEYS
        assert size <= MOST_BYTES or keys == 1
