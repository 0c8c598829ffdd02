"""What a vector costs a device and the aggregator, by how many entries it has and how it is asked for."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from deniable import Epsilon
from deniable.kinds import Vector
from deniable.mechanisms import Mechanism
from deniable.mechanisms._entries import pack
from deniable.payload import PAYLOAD_BITS, Shape, Symbol
from deniable_aggregator.ingest import Layout
from deniable_aggregator.ingest.rows import Batch, Lookup, Rows
from deniable_aggregator.store import EpochKey

__all__ = ["measure"]

_TEXT = """\
# What a vector costs

Processor time of one report, the median of {rounds} rounds in which all cases take turns. **Device**: to randomise a
vector that is encoded. **Aggregator**: to check and to add up, in a flush of {batches} batches, each of one report;
what gRPC and the store cost is not in it.

| entries | epsilon | mechanism | bytes a report | device, ms | aggregator, µs | reports a second |
|---|---|---|---|---|---|---|
{rows}

Beside codewords other reports cost what they did: a batch of 20 symbols takes {alone:.1f} µs where the collection
has no vector, and {beside:.1f} µs where it has one of 1,024 entries that these batches do not answer.
"""
_ROUNDS = 7
_BATCHES = 200
_SYMBOLS = 20
_SECONDS = 0.05
"""A round of a case takes so long, or one report."""
_CASES = ((16, 1), (64, 4), (256, 4), (1024, 1), (1024, 4), (1024, 8), (4096, 4))
_MECHANISMS = ("codewords", "gaussian")


class _Case(NamedTuple):
    """A way to ask for a vector."""

    entries: int
    epsilon: int
    mechanism: Mechanism

    @property
    def report_bytes(self) -> int:
        """How long a report is on the way."""
        return 4 * self.entries if self.mechanism.shape.wide else 8


def _seconds(work: Callable[[], object], units: int = 1) -> float:
    """Of one unit of some work, which is done again until a round is over."""
    times, before = 0, time.process_time()
    while True:
        work()
        times += 1
        if (passed := time.process_time() - before) > _SECONDS:
            return passed / times / units


def _flush(shapes: tuple[Shape, ...], made: list[tuple[bytes, list[tuple[int, bytes]]]]) -> Callable[[], object]:
    """What adds up batches of these narrow and wide rows."""
    table = Lookup(Layout("bench", 1, 86400, 1, tuple((f"m{place}", shape) for place, shape in enumerate(shapes))))
    batches = [Batch(os.urandom(16), table, EpochKey(1, 1), 0, rows, wide) for rows, wide in made]
    keep = np.ones(len(batches), dtype=np.bool_)

    def flushed() -> None:
        rows = Rows(batches)
        assert not rows.malformed()
        rows.additions(keep)

    return flushed


def _case(entries: int, epsilon: int, name: str) -> _Case:
    kind = Vector(entries, Fraction(1), "l2", Fraction(1, 10**6) if name == "gaussian" else Fraction(0))
    return _Case(entries, epsilon, kind.build(Epsilon.of(epsilon), name))


def _device(case: _Case) -> Callable[[], object]:
    value = pack([100] * case.entries)
    return lambda: case.mechanism.randomize(value)


def _aggregator(case: _Case) -> Callable[[], object]:
    shape, generator = case.mechanism.shape, np.random.default_rng(1)
    made: list[tuple[bytes, list[tuple[int, bytes]]]] = []
    for _ in range(_BATCHES):
        if shape.wide:
            made.append((b"", [(0, generator.integers(-1000, 1000, case.entries).astype("<i4").tobytes())]))
        else:
            made.append((int(generator.integers(1 << PAYLOAD_BITS)).to_bytes(8, "little"), []))
    return _flush((shape,), made)


def _symbols(*more: Shape) -> Callable[[], object]:
    generator = np.random.default_rng(2)
    columns = np.arange(_SYMBOLS) << PAYLOAD_BITS
    made = [(columns | generator.integers(16, size=_SYMBOLS)).astype("<u8").tobytes() for _ in range(_BATCHES)]
    return _flush((*[Symbol(16)] * _SYMBOLS, *more), [(rows, []) for rows in made])


def measure() -> str:
    """A page about it."""
    cases = [_case(entries, epsilon, name) for entries, epsilon in _CASES for name in _MECHANISMS]
    beside = _case(1024, 1, "codewords").mechanism.shape
    work = [(each, 1) for each in map(_device, cases)] + [(each, _BATCHES) for each in map(_aggregator, cases)]
    work += [(_symbols(), _BATCHES), (_symbols(beside), _BATCHES)]
    found = [[_seconds(*each) for each in work] for _ in range(_ROUNDS)]
    medians = [statistics.median(own) for own in zip(*found, strict=True)]
    device, aggregator, last = medians[: len(cases)], medians[len(cases) : -2], medians[-2:]
    rows = "\n".join(
        f"| {case.entries:,} | {case.epsilon} | {case.mechanism.name} | {case.report_bytes:,} | {1e3 * own:.2f} "
        f"| {1e6 * added:.1f} | {1 / added:,.0f} |"
        for case, own, added in zip(cases, device, aggregator, strict=True)
    )
    return _TEXT.format(rounds=_ROUNDS, batches=_BATCHES, rows=rows, alone=1e6 * last[0], beside=1e6 * last[1])
