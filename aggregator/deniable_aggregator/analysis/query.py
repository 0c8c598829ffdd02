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
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from deniable import Collection, Metric
from deniable_aggregator.analysis.anytime import LOOKS_TIMES, Looks, anytime, at_one
from deniable_aggregator.analysis.catalog import Catalog, NotKnownError, segments_of
from deniable_aggregator.analysis.counters import Counters, Segments
from deniable_aggregator.analysis.prices import estimating, reading
from deniable_aggregator.analysis.remembered import Remembered, state_of
from deniable_aggregator.analysis.turns import SLICE, Turn, Turns
from deniable_aggregator.analysis.windows import Windowed
from deniable_aggregator.answers import Estimate, Row, RowId, Series, Target, answer, by_size, consistent, leading
from deniable_aggregator.store import Store

__all__ = ["Analyst", "Answer", "Overview", "Point", "Query", "Trend", "Truth", "analyst_of"]

MOST_EPOCHS = 3660
"""Ten years of days."""
_LOOK_BACK = 32
_LAST_SECOND = 253_402_300_799
"""Of the year 9999, beyond which times can not be told."""


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
    """At most so many rows of each series, the largest first; 0: all, in the order of the collection file."""
    looks: Looks = Looks.ONE
    """At which looks together the intervals hold."""

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
    row_counts: Sequence[int]
    """How many rows each series has."""
    truth: Sequence[float] | None = None
    """For each row what it would say if the values were known: in a demonstration."""
    looks: Looks = Looks.ONE
    """At which looks together its intervals hold."""
    weighted_by: str = ""
    """The segment whose shares of the population it is weighted by."""


@dataclass(frozen=True, slots=True)
class Point:
    """One epoch of a trend."""

    epoch: int
    reports: int
    row: Row


@dataclass(frozen=True, slots=True)
class Trend:
    """One row of a metric's answer in every epoch that has reports."""

    row: RowId
    """Which row."""
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """The answers of a collection, and how they have come about."""

    answers: list[Answer]
    trends: list[Trend]
    """For each answer, that of its leading row."""


Truth = Callable[[Metric, range, Mapping[str, str]], Mapping[RowId, float] | None]
"""What the rows of a metric's answer would say over these epochs and in this segment, if the values were known."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question is about, but for the metric and the epochs; told by a number, which is quick to look up."""

    digest: int
    segments: tuple[int, ...]
    confidence: float
    target: Target
    looks: Looks


@dataclass(frozen=True, slots=True)
class _Found:
    """An answer as it is remembered: with the rows that were asked for."""

    windowed: Windowed
    consistent: tuple[float | None, ...]
    row_counts: tuple[int, ...]
    """Of each series, how many rows there are."""
    lead: RowId
    """The leading row."""

    @classmethod
    def of(cls, metric: Metric, found: Windowed, most: int) -> _Found:
        """The largest rows of each series of an answer, or all."""
        whole = found.estimate
        fitted = iter(consistent(metric, whole))
        series, fits = [], []
        for own in whole.series:
            pairs = [(row, next(fitted)) for row in own.rows]
            if most and len(pairs) > most:
                pairs = sorted(pairs, key=lambda pair: by_size(pair[0]))[:most]
            series.append(Series(own.heading, tuple(row for row, _ in pairs)))
            fits += [fit for _, fit in pairs]
        counts = tuple(len(own.rows) for own in whole.series)
        kept = replace(found, estimate=replace(whole, series=tuple(series)))
        return cls(kept, tuple(fits), counts, leading(metric, whole))


@dataclass(frozen=True, slots=True)
class _Context:
    """A query, as far as it is the same for all metrics."""

    collection: Collection
    window: range
    segments: Segments
    query: Query
    number: int


_Read = Callable[[Sequence[int]], Awaitable[list[Sequence[NDArray[np.int64]]]]]
"""The counters of a metric's columns in each of some epochs."""


class Analyst:
    """Answers questions from the counters in a store.

    What is asked with a turn is done in slices, between which others have theirs.
    """

    def __init__(
        self, catalog: Catalog, store: Store, clock: Callable[[], float] = time.time, truth: Truth | None = None
    ) -> None:
        self.catalog = catalog
        self.turns = Turns()
        """Whose question is answered next, by all who ask this analyst."""
        self._counters = Counters(store)
        self._remembered = Remembered()
        self.compared = Remembered()
        """Comparisons, by what was asked."""
        self._clock = clock
        self._truth = truth

    async def answers(
        self, collection: str, query: Query, metric: str | None = None, turn: Turn | None = None
    ) -> list[Answer]:
        """The answers of one metric, or of all metrics, of a collection."""
        about, turn = await self._about(collection, query), turn or self.turns.own()
        versions = await self._counters.versions(about.collection, about.window)
        return [
            self._told(about, each, about.window, await self._found(about, each, versions, turn))
            for each in self.metrics(about.collection, metric)
        ]

    async def by_epoch(self, collection: str, query: Query, metric: str, turn: Turn | None = None) -> list[Answer]:
        """The answers of one metric in each epoch of the window, without those that have no reports."""
        about, turn = await self._about(collection, query), turn or self.turns.own()
        one = self.catalog.metric(about.collection, metric)
        versions = await self._counters.versions(about.collection, about.window)
        read = self._read(about, one, about.window, versions, turn)
        await read(about.window)
        answers = []
        for epoch, version in zip(about.window, versions, strict=True):
            alone = replace(about, window=range(epoch, epoch + 1))
            found = await self._found(alone, one, [version], turn, read)
            if found.windowed.estimate.reports:
                answers.append(self._told(about, one, alone.window, found))
        return answers

    async def by_segment(
        self, collection: str, query: Query, metric: str, name: str, turn: Turn | None = None
    ) -> list[Answer]:
        """The answers of one metric in each of the values of a segment, in the order of the collection file."""
        answers = []
        for value in self.values(collection, name):
            own = replace(query, segment={**query.segment, name: value})
            answers += await self.answers(collection, own, metric, turn)
        return answers

    async def overview(self, collection: str, query: Query, epochs: int, turn: Turn | None = None) -> Overview:
        """The answers of all metrics, and the trends of their leading rows over so many epochs."""
        about, turn = await self._about(collection, query), turn or self.turns.own()
        span = _span(about.window, epochs)
        versions = await self._counters.versions(about.collection, span)
        overview = Overview([], [])
        for metric in about.collection.metrics.values():
            read = self._read(about, metric, span, versions, turn)
            found = await self._found(about, metric, versions[about.window.start - span.start :], turn, read)
            overview.answers.append(self._told(about, metric, about.window, found))
            overview.trends.append(await self._trend(about, metric, span, versions, found.lead, turn, read))
        return overview

    async def window(self, collection: str, query: Query) -> range:
        """The epochs of a query's window."""
        return (await self._about(collection, query)).window

    async def versions(self, collection: str, query: Query) -> list[int]:
        """Those of the epochs of a query's window: what is answered changes with them."""
        about = await self._about(collection, query)
        return await self._counters.versions(about.collection, about.window)

    async def counters(
        self, collection: str, query: Query, metric: Metric, turn: Turn
    ) -> list[Sequence[NDArray[np.int64]]]:
        """A metric's counters in each epoch of the window that has any; in one at least."""
        about = await self._about(collection, query)
        versions = await self._counters.versions(about.collection, about.window)
        every = await self._read(about, metric, about.window, versions, turn)(about.window)
        return [each for each in every if any(column.any() for column in each)] or every[:1]

    async def version(self, collection: str, query: Query, epochs: int = 1) -> str:
        """What tells the answers to a query from those that the same query had before, or will have."""
        about = await self._about(collection, query)
        span = _span(about.window, epochs)
        state = (about.collection.digest, span, query, await self._counters.versions(about.collection, span))
        return hashlib.sha256(repr(state).encode()).hexdigest()[:16]

    def metrics(self, collection: Collection, metric: str | None) -> list[Metric]:
        """One metric, or all of them."""
        return list(collection.metrics.values()) if metric is None else [self.catalog.metric(collection, metric)]

    def values(self, collection: str, name: str) -> Sequence[str]:
        """The values of a segment."""
        segments = self.catalog.collection(collection).segments
        if name not in segments:
            raise NotKnownError(f"no segment {name!r}; known: {', '.join(segments)}")
        return segments[name]

    async def _about(self, collection: str, query: Query) -> _Context:
        found = self.catalog.collection(collection)
        last = await self._newest(found) if query.last_epoch is None else query.last_epoch
        if (last + 1) * found.epoch_seconds > _LAST_SECOND:
            latest = _LAST_SECOND // found.epoch_seconds - 1
            raise ValueError(f"epoch {last} ends after the year 9999; {latest} is the last that does not")
        segments = segments_of(found, query.segment)
        levels = query.confidence, query.target, query.looks
        number = self._remembered.number(_Asked(found.digest, tuple(segments), *levels))
        window = range(max(0, last - query.epochs + 1), last + 1)
        return _Context(found, window, np.array(segments), query, number)

    async def _newest(self, collection: Collection) -> int:
        """The newest epoch that is well under way; the current one where no batches are remembered."""
        now = collection.epoch_at(self._clock())
        epochs = range(max(0, now - _LOOK_BACK), now + 2)
        batches = await self._counters.versions(collection, epochs)
        enough = max(1, *batches) / 2
        return max((epoch for epoch, own in zip(epochs, batches, strict=True) if own >= enough), default=now)

    def _told(self, about: _Context, metric: Metric, window: range, found: _Found) -> Answer:
        segment, estimate = about.query.segment, found.windowed.estimate
        truth = self._truth(metric, window, segment) if self._truth else None
        return Answer(
            about.collection,
            metric,
            window.start,
            window.stop - 1,
            segment,
            estimate,
            found.windowed.effective,
            found.consistent,
            found.row_counts,
            [truth.get(row, math.nan) for row in estimate.ids] if truth else None,
            about.query.looks,
        )

    def _read(self, about: _Context, metric: Metric, span: range, versions: Sequence[int], turn: Turn) -> _Read:
        """The counters of a metric in epochs of a span, added over segments; read when they are needed first."""
        each = reading(about.collection, metric, 1)
        together = max(SLICE // each, 1)
        found: dict[int, Sequence[NDArray[np.int64]]] = {}

        async def read(epochs: Sequence[int]) -> list[Sequence[NDArray[np.int64]]]:
            missing = [epoch for epoch in epochs if epoch not in found]
            for start in range(0, len(missing), together):
                some = missing[start : start + together]
                own = [versions[epoch - span.start] for epoch in some]
                for epoch, counters in zip(
                    some, await self._counters.read(about.collection, [metric], some, own), strict=True
                ):
                    found[epoch] = counters.of(metric, about.segments)
                await turn.did(each * len(some))
            return [found[epoch] for epoch in epochs]

        return read

    async def _found(
        self, about: _Context, metric: Metric, versions: Sequence[int], turn: Turn, read: _Read | None = None
    ) -> _Found:
        """The answer of a window; remembered, if its epochs have these versions still."""
        query, window, state = about.query, about.window, state_of(versions)
        key = about.number, metric.name, window.start, window.stop, query.rows
        kept: _Found | None = self._remembered.find(key, state)
        if kept is not None:
            return kept
        counters = await (read or self._read(about, metric, window, versions, turn))(window)

        def make() -> _Found:
            own = [each for each in counters if any(column.any() for column in each)]  # the others tell nothing
            levels = query.confidence, query.target, query.looks
            return _Found.of(metric, anytime(metric, own or counters[:1], *levels), query.rows)

        work = estimating(metric, len(window)) * LOOKS_TIMES[query.looks]
        made = await asyncio.to_thread(make) if work > SLICE else make()
        await turn.did(work)
        return self._remembered.keep(key, state, made, lambda found: len(found.consistent))

    async def _trend(
        self,
        about: _Context,
        metric: Metric,
        span: range,
        versions: Sequence[int],
        lead: RowId,
        turn: Turn,
        read: _Read,
    ) -> Trend:
        """One row in each epoch of a span; of an answer without any row, nothing."""
        if not lead.key:
            return Trend(lead, ())
        query = about.query
        keys = [(about.number, metric.name, epoch, epoch + 1, lead) for epoch in span]
        states = [state_of([version]) for version in versions]
        points: list[Point | None] = [*map(self._remembered.find, keys, states)]
        missing = [number for number, point in enumerate(points) if point is None]
        asked = {lead.series: [lead.key]}
        for number, own in zip(missing, await read([span[number] for number in missing]), strict=True):
            estimate = answer(metric, own, at_one(query.confidence, query.looks), query.target, keys=asked)
            point = Point(span[number], estimate.reports, estimate.row(lead))
            points[number] = self._remembered.keep(keys[number], states[number], point, lambda _: 1)
            await turn.did(estimating(metric))
        return Trend(lead, tuple(point for point in points if point and point.reports))


def _span(window: range, epochs: int) -> range:
    """The window, and as much before it as makes so many epochs."""
    return range(max(0, min(window.start, window.stop - min(epochs, MOST_EPOCHS))), window.stop)


def analyst_of(catalog: Catalog, truth: Truth | None = None) -> Callable[[Store], Analyst]:
    """The analyst of a store: one for all who ask, so that they share what it remembers."""
    return functools.cache(lambda store: Analyst(catalog, store, truth=truth))
