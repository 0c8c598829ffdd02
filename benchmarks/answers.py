"""What loading, estimating, simulating and looking cost, each against its goal."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Collection, Column, Epsilon
from deniable.mechanisms import Mechanism, ProjectiveGeometryResponse, RandomizedResponse, SubsetSelection
from deniable.payload import Bitmap, Symbol
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.analysis.question import Query
from deniable_aggregator.estimators._intervals import _table, proportion
from deniable_aggregator.estimators.projective_geometry import frequencies, supports
from deniable_aggregator.planning import twins
from deniable_aggregator.store import Additions, Arrivals, CounterKey, EmbeddedStore, EpochKey, Store

__all__ = ["counters", "measure"]

_ROUNDS = 5
_EPOCHS = 90
_METRICS = 100
_KINDS = (
    'kind = "boolean"\nmemoize = true',
    'kind = "category"\nvalues = ["a", "b", "c", "d", "e"]',
    'kind = "number"\nrange = [0, 100]',
    'kind = "boolean"',
)
_LARGE = Collection.loads(
    '[collection]\nname = "large"\nepoch = "1d"\nowner = "a@b.example"\n[budget]\nepoch = 100\n'
    + "".join(
        f'[metrics.m{n:03}]\ndescription = "It"\nepsilon = 1\n{_KINDS[n % len(_KINDS)]}\n' for n in range(_METRICS)
    )
)
_FINE = Collection.loads(
    '[collection]\nname = "fine"\nepoch = "1d"\nowner = "a@b.example"\n[budget]\nepoch = 1\n[metrics.load]\n'
    'kind = "distribution"\ndescription = "It"\nepsilon = 1\nrange = [0, 4096]\nbuckets = 4096\n'
)
_ONE = Epsilon.of(1)


class _Goal(NamedTuple):
    """One thing that is done, and how many milliseconds of processor time it may take."""

    what: str
    goal: float
    work: Callable[[], object]


def measure() -> str:
    """A table: what was done, its goal, and what it took."""
    rows = [_row(goal.what, goal.goal, [_spent(goal.work) for _ in range(_ROUNDS)]) for goal in _goals()]
    rows += asyncio.run(_looks(_LARGE, f"a first look at {_METRICS} metrics over {_EPOCHS} days", 1000))
    rows += asyncio.run(_looks(_FINE, f"a first look at a distribution of 4,096 buckets over {_EPOCHS} days", 500))
    return (
        "# What loading, estimating and looking cost\n\n"
        f"Milliseconds of processor time, the median of {_ROUNDS} rounds. The goals are for the machine named below "
        "and others like it; tests assert no time, but that the work does not grow with what it should not grow "
        "with.\n\n| | goal | measured | |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _spent(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return 1000 * (time.process_time() - began)


def _row(what: str, goal: float, measured: list[float]) -> str:
    median = statistics.median(measured)
    return f"| {what} | {goal:g} | {median:.1f} | {'reached' if median <= goal else '**missed**'} |"


def _category(values: int) -> str:
    names = ", ".join(f'"v{number}"' for number in range(values))
    return (
        '[collection]\nname = "one"\nepoch = "1d"\nowner = "a"\n[budget]\nepoch = 1\n[metrics.one]\n'
        f'kind = "category"\ndescription = "d"\nepsilon = 1\nvalues = [{names}]\n'
    )


def _goals() -> Iterator[_Goal]:
    generator = np.random.default_rng(1)
    for values, goal in ((1024, 20.0), (65_536, 200.0)):
        text = _category(values)
        yield _Goal(f"load a category of {values:,} values", goal, partial(Collection.loads, text))
    counts = generator.integers(0, 1_000_001, 65_536)
    yield _Goal("intervals of 65,536 rows", 50, lambda: proportion(counts, 1_000_000, 0.95))
    yield _Goal("the table for a new number of reports", 20, lambda: _table.__wrapped__(1_000_000, 0.95))
    points = generator.integers(0, 40, (719**3 - 1) // 718)
    yield _Goal(f"transform of {len(points):,} counters", 1000, lambda: supports(points, 719, 3))
    mechanism = ProjectiveGeometryResponse.best(_ONE, 1024)
    many = generator.multinomial(10**7, np.full(mechanism.points, 1 / mechanism.points))
    yield _Goal("estimates of ten million reports of 1,024 values", 100, lambda: frequencies(mechanism, many))
    drawn: tuple[tuple[str, float, Mechanism], ...] = (
        ("a million booleans, simulated", 300, RandomizedResponse(_ONE, 2)),
        ("a million subsets of 48, simulated", 6000, SubsetSelection.best(_ONE, 48)),
    )
    inputs = np.zeros(10**6, dtype=np.int64)
    for what, most, each in drawn:
        yield _Goal(what, most, partial(twins.draw, each, inputs, np.random.default_rng(1)))


def counters(column: Column, generator: np.random.Generator) -> NDArray[np.int64]:
    """As of about ten thousand reports, another number in every epoch."""
    shape, reports = column.shape, int(generator.integers(8000, 12_000))
    if isinstance(shape, Symbol):
        return generator.multinomial(reports, np.full(shape.size, 1 / shape.size))
    if isinstance(shape, Bitmap):
        return np.append(reports, generator.binomial(reports, 0.4, shape.size))
    return np.array([reports, 250 * reports, 80_000 * reports, 0])


async def _looks(collection: Collection, what: str, goal: float) -> list[str]:
    """What a page over all metrics and ninety days costs, whose counters have been read."""
    with tempfile.TemporaryDirectory() as room:
        embedded = EmbeddedStore(Path(room))
        await embedded.start()
        store = Store(embedded.url)
        try:
            await store.open()
            today = collection.epoch_at(time.time())
            await _filled(store, collection, range(today - _EPOCHS + 1, today + 1))
            first, again = await _looked(Analyst(Catalog([collection]), store), collection, today)
            return [_row(what, goal, first), _row("the same look again", 300, again)]
        finally:
            await store.close()
            await embedded.stop()


async def _filled(store: Store, collection: Collection, epochs: range) -> None:
    generator = np.random.default_rng(3)
    columns = [column for metric in collection.metrics.values() for column in metric.columns]
    for epoch in epochs:
        own = [counters(column, generator) for column in columns]
        added = Additions.checked(
            keys=[CounterKey(collection.digest, column.number, epoch, 0) for column in columns],
            sizes=[len(each) for each in own],
            key=np.repeat(np.arange(len(own)), [len(each) for each in own]),
            counter=np.concatenate([np.arange(len(each)) for each in own]),
            amount=np.concatenate(own),
        )
        await store.add(0, {EpochKey(collection.digest, epoch): Arrivals([os.urandom(16)], 3600, 3600)}, added)


async def _looked(analyst: Analyst, collection: Collection, today: int) -> tuple[list[float], list[float]]:
    """Of looks at what was not looked at before, and of the last one again."""

    async def spent(confidence: float) -> float:
        began = time.process_time()
        query = Query(last_epoch=today, epochs=_EPOCHS, confidence=confidence, rows=8)
        await analyst.overview(f"{collection.digest:016x}", query, _EPOCHS)
        return 1000 * (time.process_time() - began)

    await spent(0.5)  # reads the counters
    first = [await spent(0.9 + number / 100) for number in range(_ROUNDS)]
    return first, [await spent(0.9) for _ in range(_ROUNDS)]
