"""What a report costs, by how much has been counted, by how many columns and by how large a domain."""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import uvloop

from benchmarks.processes import cpu_seconds
from deniable.payload import Symbol
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator.ingest import Admission, Calendar, Layout
from deniable_aggregator.ingest.flush import Flush
from deniable_aggregator.ingest.rows import Batch
from deniable_aggregator.store import EmbeddedStore, Store

__all__ = ["measure"]

_TEXT = """\
# What a report costs

Processor time of a batch of 20 reports from parsing to folded counters, that of the store's process included, without
gRPC's (about {grpc} microseconds a call). Flushes of {batches} batches, as many as come in a few milliseconds under
load; increments are folded after every {folded} flushes, once a second at 15,000 batches a second. The median of
{rounds} rounds in which all cases take turns.

| columns | values of each | devices counted before | µs a batch | times the first | with gRPC's {grpc} |
|---|---|---|---|---|---|
{rows}

Counters are touched where reports fall, and ids are looked up by hashing: neither grows with what is there already.
With more columns or values fewer reports fall on the same counter, so there is more to write down.
"""
_GRPC = 90
_DAY = 86400
_REPORTS = 20
_BATCHES = 100
_FOLDED = 150
_ROUNDS = 5
_COUNTED_AT_ONCE = 1000


class _Case(NamedTuple):
    columns: int
    values: int
    devices: int


_CASES = (
    _Case(20, 16, 0),
    _Case(20, 16, 1_000_000),
    _Case(100, 16, 0),
    _Case(1000, 16, 0),
    _Case(20, 1024, 0),
    _Case(20, 65_536, 0),
)


class _Bench:
    """A case, and what it needs."""

    def __init__(self, case: _Case, number: int, store: Store) -> None:
        columns = tuple((f"m{column}", Symbol(case.values)) for column in range(case.columns))
        self._layout = Layout("bench", number + 1, _DAY, 1, columns)
        self._calendar = Calendar()
        self._door = Admission([self._layout], self._calendar)
        self._store = store
        self._generator = np.random.default_rng(number)
        self._contents = itertools.cycle([self._rows() for _ in range(1000)])

    def _rows(self) -> bytes:
        columns, size = len(self._layout.columns), self._layout.columns[0][1].counters
        chosen = self._generator.choice(columns, _REPORTS, replace=False).astype(np.uint64)
        payload = self._generator.integers(size, size=_REPORTS).astype(np.uint64)
        return (chosen << np.uint64(48) | payload).astype("<u8").tobytes()

    def messages(self, number: int) -> list[bytes]:
        """New batches."""
        epoch = int(time.time() // _DAY)
        return [
            SubmitReportsRequest(
                batch_id=os.urandom(16), collection_digest=self._layout.digest, epoch=epoch, rows=next(self._contents)
            ).SerializeToString()
            for _ in range(number)
        ]

    async def take(self, messages: list[bytes]) -> None:
        """Parse, check, add up and store, as one flush."""
        await Flush(list(self._batches(messages))).store(self._store, 0, self._calendar)

    def _batches(self, messages: list[bytes]) -> Iterator[Batch]:
        for message in messages:
            batch = self._door.admit(SubmitReportsRequest.FromString(message))
            assert isinstance(batch, Batch)
            yield batch


async def _microseconds(bench: _Bench, store: Store, server: int) -> float:
    flushes = [bench.messages(_BATCHES) for _ in range(_FOLDED)]
    before = time.process_time() + cpu_seconds({server})
    for messages in flushes:
        await bench.take(messages)
    await store.fold(0)
    return (time.process_time() + cpu_seconds({server}) - before) * 1e6 / (_BATCHES * _FOLDED)


async def _measured() -> list[float]:
    with tempfile.TemporaryDirectory() as directory:
        embedded = EmbeddedStore(Path(directory))
        await embedded.start()
        store = Store(embedded.url)
        await store.open()
        benches = [_Bench(case, number, store) for number, case in enumerate(_CASES)]
        for case, bench in zip(_CASES, benches, strict=True):
            for _ in range(0, case.devices, _COUNTED_AT_ONCE):
                await bench.take(bench.messages(_COUNTED_AT_ONCE))
                await store.fold(0)
        found: list[list[float]] = [[] for _ in _CASES]
        for _ in range(_ROUNDS):
            for own, bench in zip(found, benches, strict=True):
                assert embedded.pid
                own.append(await _microseconds(bench, store, embedded.pid))
        await store.close()
        await embedded.stop()
    return [statistics.median(own) for own in found]


def measure() -> str:
    """A page about it."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(_measured())
    rows = "\n".join(
        f"| {case.columns:,} | {case.values:,} | {case.devices:,} | {own:.1f} | {own / found[0]:.2f} "
        f"| {(_GRPC + own) / (_GRPC + found[0]):.2f} |"
        for case, own in zip(_CASES, found, strict=True)
    )
    return _TEXT.format(grpc=_GRPC, batches=_BATCHES, folded=_FOLDED, rounds=_ROUNDS, rows=rows)
