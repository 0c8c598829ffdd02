"""Codewords: reports of eight bytes that become tens of thousands of numbers where they are added up."""

from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path

import pytest

from deniable.payload import Codeword
from deniable_aggregator.ingest import FlushSettings, Layout
from deniable_aggregator.store import CounterKey
from support.aggregator_server import DAY, EPOCH, request, serving

SEGMENTS = 256
LAYOUT = Layout("vectors", 11, DAY, SEGMENTS, (("v", Codeword(4096, 256, 1 << 40)), ("w", Codeword(2, 8, 1 << 45))))


def test_a_flush_of_codewords_has_room_for_what_they_become(tmp_path: Path) -> None:
    """256 batches of 8 bytes each, of as many segments, that are forwarded in one message: each adds to 8,193
    counters of its own. Memory is some times the 4 MiB of a full flush, whatever is in the rows; it was 200 MB."""
    batches = [request((0, number << 20 | 7), collection_digest=11, segment=number) for number in range(SEGMENTS)]

    async def forward() -> int:
        async with serving(tmp_path, LAYOUT) as (server, client):
            await client.forward(batches[:1])
            tracemalloc.start()
            try:
                told = await client.forward(batches[1:], together=SEGMENTS)
                _, most = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert not any(each.reason for each in told)
            for segment in (0, 1, SEGMENTS - 1):
                (sums,) = await server.store.read([CounterKey(11, 0, EPOCH, segment)])
                assert sums is not None
                assert sums[0] == 1
            return most

    assert asyncio.run(forward()) < 96 << 20


@pytest.mark.parametrize(("most", "busy"), [(3 * 8 * 8_193, 7), (1, 9)])
def test_what_waits_is_counted_by_what_it_becomes(tmp_path: Path, most: int, busy: int) -> None:
    """Of ten batches in one message three have room where three times their counters may wait; one always has."""
    batches = [request((0, number), collection_digest=11) for number in range(10)]

    async def forward() -> list[str]:
        async with serving(tmp_path, LAYOUT, flush=FlushSettings(most_waiting_bytes=most)) as (_, client):
            return [each.reason for each in await client.forward(batches, together=10)]

    refused = [reason for reason in asyncio.run(forward()) if reason]
    assert len(refused) >= busy
    assert len(refused) < 10
