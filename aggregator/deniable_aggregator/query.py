"""Questions: which counters an answer is made of, read from the store and handed to the answers.

words:
  window    a span of epochs whose counters are added
  trend     one row of an answer, epoch by epoch
  truth     what the answer would be if devices were asked plainly: known only where they are simulated
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import itertools
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from deniable import Collection, Metric
from deniable_aggregator.answers import Estimate, Measure, Row, Target, answer
from deniable_aggregator.catalog import Catalog, NotKnownError
from deniable_aggregator.consistency import consistent
from deniable_aggregator.counters import Counters, EpochCounters
from deniable_aggregator.store import Store
from deniable_aggregator.windows import Windowed, windowed

__all__ = ["Analyst", "Answer", "Overview", "Point", "Query", "Trend", "Truth", "analyst_of"]

MOST_EPOCHS = 3660
"""Ten years of days."""
_LOOK_BACK = 32
_MOST_ROWS_KEPT = 400_000
_MOST_NUMBERS = 1000
_SLICE_SECONDS = 0.002


@dataclass(frozen=True, slots=True)
class Query:
    """Which window, segment and intervals are asked for."""

    last_epoch: int | None = None
    """The last epoch of the window; None: the newest that is well under way, with at least half as many batches as
    any other that is remembered. One that has only begun would tell little in place of one that is whole."""
    epochs: int = 1
    """How many epochs it has."""
    segment: Mapping[str, str] = field(default_factory=dict)
    """Values of segments, by name; segments that are not named are added up."""
    confidence: float = 0.95
    """Of the intervals."""
    target: Target = Target.POPULATION
    """Whom the intervals are about."""
    rows: int = 0
    """At most so many rows of each answer, the largest first; 0: all, in the order of the collection file."""

    def __post_init__(self) -> None:
        if not 1 <= self.epochs <= MOST_EPOCHS:
            raise ValueError(f"a window has 1 to {MOST_EPOCHS} epochs, not {self.epochs}")
        if not 0 < self.confidence < 1:
            raise ValueError(f"a confidence level lies between 0 and 1, not {self.confidence}")


@dataclass(frozen=True, slots=True)
class Answer:
    """An estimate, and what it is about."""

    collection: Collection
    metric: Metric
    first_epoch: int
    last_epoch: int
    segment: Mapping[str, str]
    """The segments that were asked for."""
    estimate: Estimate
    """With as many rows as were asked for."""
    effective: float
    """How many reports of different devices it is worth."""
    consistent: Sequence[float | None]
    """For each row its value in the consistent view, where there is one."""
    row_count: int
    """How many rows there are."""
    truth: Sequence[float] | None = None
    """For each row what it would say if the values were known: in a demonstration."""


@dataclass(frozen=True, slots=True)
class Point:
    """One epoch of a trend."""

    epoch: int
    reports: int
    row: Row


@dataclass(frozen=True, slots=True)
class Trend:
    """One row of a metric's answer in every epoch that has reports."""

    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """The answers of a collection, and how they have come about."""

    answers: list[Answer]
    trends: list[Trend]
    """For each answer, that of its leading row."""


Truth = Callable[[Metric, range, Mapping[str, str]], Sequence[float] | None]
"""What the rows of a metric's answer would say over these epochs and in this segment, if the values were known."""


class _Slices:
    """Lets others have their turn in the middle of long work: devices' calls are served on the same loop."""

    def __init__(self) -> None:
        self._until = time.perf_counter() + _SLICE_SECONDS

    async def end(self) -> None:
        if time.perf_counter() > self._until:
            await asyncio.sleep(0)
            self._until = time.perf_counter() + _SLICE_SECONDS


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question is about, but for the metric and the epochs; told by a number, which is quick to look up."""

    digest: int
    segments: tuple[int, ...]
    confidence: float
    target: Target


@dataclass(frozen=True, slots=True)
class _Found:
    """An answer as it is remembered: with the rows that were asked for."""

    windowed: Windowed
    consistent: tuple[float | None, ...]
    places: tuple[int, ...]
    """Which of all rows these are."""
    row_count: int
    lead: int
    """The place of the leading row among all."""

    @classmethod
    def of(cls, metric: Metric, found: Windowed, most: int) -> _Found:
        """The largest rows of an answer, or all."""
        rows, fitted = found.estimate.rows, consistent(metric, found.estimate)
        places: Sequence[int] = range(len(rows))
        if most and len(rows) > most:
            places = sorted(places, key=lambda place: -rows[place].value)[:most]
        kept = replace(found.estimate, rows=tuple(rows[place] for place in places))
        own = replace(found, estimate=kept)
        return cls(own, tuple(fitted[place] for place in places), tuple(places), len(rows), _leading(found.estimate))


_Key = tuple[int, str, int, int, int]
"""A question's number, a metric, the epochs from and to; and how many rows are asked for, or by -1 and less which."""
_Kept = TypeVar("_Kept")


class _Memory:
    """What has been found from counters that have not changed since; what was not asked for longest is forgotten."""

    def __init__(self) -> None:
        self._numbers: dict[_Asked, int] = {}
        self._kept: OrderedDict[_Key, tuple[tuple[int, ...], Any, int]] = OrderedDict()
        self._rows = 0

    def number(self, asked: _Asked) -> int:
        """The number of a question."""
        if len(self._numbers) >= _MOST_NUMBERS and asked not in self._numbers:
            self._numbers.clear()
            self._kept.clear()
            self._rows = 0
        return self._numbers.setdefault(asked, len(self._numbers))

    def find(
        self, key: _Key, versions: tuple[int, ...], make: Callable[[], _Kept], rows: Callable[[_Kept], int]
    ) -> _Kept:
        """What is kept of these versions, or is made; and how many rows that is."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._rows -= kept[2]
        if kept is None or kept[0] != versions:
            made = make()
            kept = versions, made, rows(made)
        self._kept[key] = kept
        self._rows += kept[2]
        while self._rows > _MOST_ROWS_KEPT and len(self._kept) > 1:
            _, (_, _, fewer) = self._kept.popitem(last=False)
            self._rows -= fewer
        found: _Kept = kept[1]
        return found


@dataclass(frozen=True, slots=True)
class _Context:
    """A query, as far as it is the same for all metrics."""

    collection: Collection
    window: range
    segments: tuple[int, ...]
    query: Query
    number: int


class Analyst:
    """Answers questions from the counters in a store."""

    def __init__(
        self, catalog: Catalog, store: Store, clock: Callable[[], float] = time.time, truth: Truth | None = None
    ) -> None:
        self.catalog = catalog
        self._counters = Counters(store)
        self._memory = _Memory()
        self._clock = clock
        self._truth = truth

    async def answers(self, collection: str, query: Query, metric: str | None = None) -> list[Answer]:
        """The answers of one metric, or of all metrics, of a collection."""
        about = await self._about(collection, query)
        found = about.collection
        metrics = list(found.metrics.values()) if metric is None else [self.catalog.metric(found, metric)]
        counters = await self._counters.read(found, metrics, about.window)
        slices = _Slices()
        answers = []
        for each in metrics:
            answers.append(self._answer(about, each, about.window, counters))
            await slices.end()
        return answers

    async def by_epoch(self, collection: str, query: Query, metric: str) -> list[Answer]:
        """The answers of one metric in each epoch of the window, without those that have no reports."""
        about = await self._about(collection, query)
        one = self.catalog.metric(about.collection, metric)
        counters = await self._counters.read(about.collection, [one], about.window)
        slices = _Slices()
        answers = []
        for epoch, own in zip(about.window, counters, strict=True):
            each = self._answer(about, one, range(epoch, epoch + 1), [own])
            if each.estimate.reports:
                answers.append(each)
            await slices.end()
        return answers

    async def by_segment(self, collection: str, query: Query, metric: str, name: str) -> list[Answer]:
        """The answers of one metric in each of the values of a segment, in the order of the collection file."""
        values = self.catalog.collection(collection).segments.get(name)
        if values is None:
            raise NotKnownError(
                f"no segment {name!r}; known: {', '.join(self.catalog.collection(collection).segments)}"
            )
        answers = []
        for value in values:
            own = replace(query, segment={**query.segment, name: value})
            answers += await self.answers(collection, own, metric)
        return answers

    async def overview(self, collection: str, query: Query, epochs: int) -> Overview:
        """The answers of all metrics, and the trends of their leading rows over so many epochs."""
        about = await self._about(collection, query)
        window, span = about.window, _span(about.window, epochs)
        metrics = list(about.collection.metrics.values())
        counters = dict(zip(span, await self._counters.read(about.collection, metrics, span), strict=True))
        slices = _Slices()
        overview = Overview([], [])
        for metric in metrics:
            found = self._found(about, metric, window, [counters[epoch] for epoch in window])
            points = []
            for epoch in span:
                points.append(self._point(about, metric, epoch, counters[epoch], found.lead))
                await slices.end()
            overview.answers.append(self._told(about, metric, window, found))
            own = [point for point in points if point.reports]
            overview.trends.append(Trend(points[-1].row.label, tuple(own)))
        return overview

    async def version(self, collection: str, query: Query, epochs: int = 1) -> str:
        """What tells the answers to a query from those that the same query had before, or will have."""
        about = await self._about(collection, query)
        span = _span(about.window, epochs)
        state = (about.collection.digest, span, query, await self._counters.versions(about.collection, span))
        return hashlib.sha256(repr(state).encode()).hexdigest()[:16]

    async def _about(self, collection: str, query: Query) -> _Context:
        found = self.catalog.collection(collection)
        last = await self._newest(found) if query.last_epoch is None else query.last_epoch
        segments = _segments(found, query.segment)
        number = self._memory.number(_Asked(found.digest, segments, query.confidence, query.target))
        return _Context(found, range(max(0, last - query.epochs + 1), last + 1), segments, query, number)

    async def _newest(self, collection: Collection) -> int:
        """The newest epoch that is well under way; the current one where no batches are remembered."""
        now = collection.epoch_at(self._clock())
        epochs = range(max(0, now - _LOOK_BACK), now + 2)
        batches = await self._counters.versions(collection, epochs)
        enough = max(1, *batches) / 2
        return max((epoch for epoch, own in zip(epochs, batches, strict=True) if own >= enough), default=now)

    def _answer(self, about: _Context, metric: Metric, window: range, counters: Sequence[EpochCounters]) -> Answer:
        return self._told(about, metric, window, self._found(about, metric, window, counters))

    def _told(self, about: _Context, metric: Metric, window: range, found: _Found) -> Answer:
        segment = about.query.segment
        truth = self._truth(metric, window, segment) if self._truth else None
        return Answer(
            about.collection,
            metric,
            window.start,
            window.stop - 1,
            segment,
            found.windowed.estimate,
            found.windowed.effective,
            found.consistent,
            found.row_count,
            [truth[place] for place in found.places] if truth else None,
        )

    def _found(self, about: _Context, metric: Metric, window: range, counters: Sequence[EpochCounters]) -> _Found:
        query = about.query

        def make() -> _Found:
            own = [each.of(metric, about.segments) for each in counters]
            return _Found.of(metric, windowed(metric, own, query.confidence, query.target), query.rows)

        key = about.number, metric.name, window.start, window.stop, query.rows
        versions = tuple([own.version for own in counters])
        return self._memory.find(key, versions, make, lambda found: len(found.places))

    def _point(self, about: _Context, metric: Metric, epoch: int, counters: EpochCounters, place: int) -> Point:
        query = about.query

        def make() -> Point:
            own = answer(metric, counters.of(metric, about.segments), query.confidence, query.target)
            return Point(epoch, own.reports, own.rows[place])

        key = about.number, metric.name, epoch, epoch + 1, -1 - place
        return self._memory.find(key, (counters.version,), make, lambda point: 1)  # noqa: ARG005 - one row


def _span(window: range, epochs: int) -> range:
    """The window, and as much before it as makes so many epochs."""
    return range(max(0, min(window.start, window.stop - epochs)), window.stop)


def analyst_of(catalog: Catalog, truth: Truth | None = None) -> Callable[[Store], Analyst]:
    """The analyst of a store: one for all who ask, so that they share what it remembers."""
    return functools.cache(lambda store: Analyst(catalog, store, truth=truth))


def _leading(estimate: Estimate) -> int:
    """The row that stands for the whole answer: the first that is no total, and of shares the largest."""
    rows = estimate.rows
    if rows[0].measure is not Measure.SHARE or not estimate.reports:
        return 0
    return max(range(len(rows)), key=lambda place: rows[place].value if rows[place].measure is Measure.SHARE else -1)


def _segments(collection: Collection, wanted: Mapping[str, str]) -> tuple[int, ...]:
    """The indices of all combinations that have the wanted values."""
    for name, value in wanted.items():
        if value not in collection.segments.get(name, ()):
            known = ", ".join(f"{key}={'|'.join(values)}" for key, values in collection.segments.items())
            raise NotKnownError(f"no segment {name}={value}; known: {known or 'none'}")
    choices = [(wanted[name],) if name in wanted else values for name, values in collection.segments.items()]
    return tuple(
        collection.segment_index(dict(zip(collection.segments, combination, strict=True)))
        for combination in itertools.product(*choices)
    )
