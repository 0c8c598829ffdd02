"""What has happened at ingest, as plain numbers for whoever shows them, and the board where processes add them up.

words:
  board  one small file, mapped into memory, in which every worker has a slot. A worker writes its counts there
         before it answers, so what was acknowledged is counted even when it is killed in the next moment; and
         when it is started again it goes on from what its slot says
"""

from __future__ import annotations

import asyncio
import json
import mmap
import os
import struct
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from deniable_aggregator.ingest.refusal import Refusal

__all__ = ["Board", "Histogram", "IngestStats"]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_BATCHES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
_SLOTS = 512
_SLOT_BYTES = 4096
_PAGE_BYTES = _SLOT_BYTES // 2 - 8
"""A slot is a number and two pages, which are written in turn; the number says how often, so that the page that it
points to is always whole: its writer may be killed at any moment."""


@dataclass(slots=True)
class Histogram:
    """How many values there were up to each bound, and beyond the last."""

    bounds: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    """One for each bound, of the values above the bound before; and one for those above all bounds."""
    total: float = 0.0
    """The sum of the values."""

    def __post_init__(self) -> None:
        self.counts = self.counts or [0] * (len(self.bounds) + 1)

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


def _seconds() -> Histogram:
    return Histogram(_SECONDS)


def _batches() -> Histogram:
    return Histogram(_BATCHES)


@dataclass(slots=True)
class IngestStats:
    """Counts of batches, and of what was done for them."""

    accepted: int = 0
    """Batches that were stored."""
    reports: int = 0
    """Reports of the batches that were stored."""
    duplicate: int = 0
    """Batches that had been stored before."""
    refused: Counter[str] = field(default_factory=Counter)
    """Batches that were refused, by reason."""
    flushes: int = 0
    """Times that waiting batches were stored together."""
    store_errors: Counter[str] = field(default_factory=Counter)
    """Flushes that the store did not take, by kind of error."""
    waiting: int = 0
    """Batches that wait now."""
    flush_seconds: Histogram = field(default_factory=_seconds)
    """How long flushes took: checking, adding up and storing."""
    flush_batches: Histogram = field(default_factory=_batches)
    """How many batches they had."""
    unwritten: bool = field(default=False, repr=False, compare=False)
    """Some refusals are not on the board yet."""
    slot: memoryview | None = field(default=None, repr=False, compare=False)
    """This process's part of a board."""
    named: _Named | None = field(default=None, repr=False, compare=False)
    """What has a name, as it was last written there."""

    def refuse(self, refusal: Refusal) -> None:
        """Count a refused batch. Many of them come together, and writing takes as long as refusing: once for all."""
        self.refused[refusal.reason] += 1
        if self.slot is not None and not self.unwritten:
            self.unwritten = True
            asyncio.get_running_loop().call_soon(self.publish)

    def publish(self) -> None:
        """Write the counts to the board, where there is one."""
        self.unwritten = False
        if self.slot is not None:
            if self.named is None or not self.named.still(self):
                self.named = _Named(self)
            _write(self.slot, self, self.named.text)

    def add(self, other: IngestStats) -> None:
        """Add the counts of another process, or of an earlier one."""
        self.accepted += other.accepted
        self.reports += other.reports
        self.duplicate += other.duplicate
        self.flushes += other.flushes
        self.waiting += other.waiting
        self.refused.update(other.refused)
        self.store_errors.update(other.store_errors)
        for own, its in ((self.flush_seconds, other.flush_seconds), (self.flush_batches, other.flush_batches)):
            own.counts = [mine + more for mine, more in zip(own.counts, its.counts, strict=True)]
            own.total += its.total


_NUMBERS = struct.Struct(f"<B3x I 5q {len(_SECONDS) + 1}q d {len(_BATCHES) + 1}q d")
"""A page: the format, the length of the text behind the numbers; batches and flushes; the histograms."""
_FORMAT = 1
_OLD_FORMAT = ord("{")
"""Once a page was JSON; a board of that time is read, and written anew."""


class _Named:
    """The counts that have names, as text: names seldom change, and their counts do not in most flushes."""

    def __init__(self, stats: IngestStats) -> None:
        self._counts = dict(stats.refused), dict(stats.store_errors)
        self.text = json.dumps(self._counts).encode()
        if len(self.text) > _PAGE_BYTES - _NUMBERS.size:
            raise ValueError("a slot of the board is too small for the counts")

    def still(self, stats: IngestStats) -> bool:
        """Whether it still says what these counts are."""
        refused, store_errors = self._counts
        same = dict.__eq__  # a Counter's own is written in Python, and asked before every answer
        return bool(same(refused, stats.refused) and same(store_errors, stats.store_errors))


def _write(slot: memoryview, stats: IngestStats, text: bytes) -> None:
    written = slot[:8].cast("q")
    start = _start(written[0] + 1)
    seconds, batches = stats.flush_seconds, stats.flush_batches
    _NUMBERS.pack_into(
        slot, start,
        _FORMAT, len(text),
        stats.accepted, stats.reports, stats.duplicate, stats.flushes, stats.waiting,
        *seconds.counts, seconds.total, *batches.counts, batches.total,
    )  # fmt: skip
    start += _NUMBERS.size
    slot[start : start + len(text)] = text
    written[0] += 1


def _read(slot: memoryview) -> IngestStats:
    written = slot[:8].cast("q")
    while True:
        before = written[0]
        start = _start(before)
        page = bytes(slot[start : start + _PAGE_BYTES])
        if written[0] == before:
            return _parsed(page) if before else IngestStats()


def _start(number: int) -> int:
    return 8 + number % 2 * _PAGE_BYTES


def _parsed(page: bytes) -> IngestStats:
    if page[0] == _OLD_FORMAT:
        return _parsed_json(page)
    _, length, *numbers = _NUMBERS.unpack_from(page)
    refused, store_errors = json.loads(page[_NUMBERS.size : _NUMBERS.size + length])
    accepted, reports, duplicate, flushes, waiting, *histograms = numbers
    *seconds, seconds_total = histograms[: len(_SECONDS) + 2]
    *batches, batches_total = histograms[len(_SECONDS) + 2 :]
    return IngestStats(
        accepted,
        reports,
        duplicate,
        Counter(refused),
        flushes,
        Counter(store_errors),
        waiting,
        Histogram(_SECONDS, seconds, seconds_total),
        Histogram(_BATCHES, batches, batches_total),
    )


def _parsed_json(page: bytes) -> IngestStats:
    counts = json.loads(page)
    for name in ("flush_seconds", "flush_batches"):
        counts[name] = Histogram(tuple(counts[name][0]), *counts[name][1:])
    for name in ("refused", "store_errors"):
        counts[name] = Counter(counts[name])
    return IngestStats(**counts)


def _reserve(descriptor: int, size: int) -> None:
    """Give a file its room on the disk, or raise an OSError: who writes to a part of a mapped file for which a full
    disk has no room is ended by a signal, in the midst of whatever it does."""
    if os.fstat(descriptor).st_size < size and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    os.ftruncate(descriptor, size)


class Board:
    """The counts of all workers of one aggregator."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _reserve(descriptor, _SLOTS * _SLOT_BYTES)
            self._memory = memoryview(mmap.mmap(descriptor, _SLOTS * _SLOT_BYTES))
        finally:
            os.close(descriptor)

    def join(self, number: int) -> IngestStats:
        """The counts of the worker with this number, going on from what an earlier one has left."""
        if not 0 <= number < _SLOTS:
            raise ValueError(f"a board has slots 0 to {_SLOTS - 1}, not {number}")
        slot = self._slot(number)
        stats = _read(slot)
        stats.waiting = 0
        stats.slot = slot
        stats.publish()
        return stats

    def total(self) -> IngestStats:
        """The counts of all workers, added up."""
        total = IngestStats()
        for number in range(_SLOTS):
            slot = self._slot(number)
            if any(slot[:8]):
                total.add(_read(slot))
        return total

    def _slot(self, number: int) -> memoryview:
        return self._memory[number * _SLOT_BYTES : (number + 1) * _SLOT_BYTES]
