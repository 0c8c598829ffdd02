"""Questions: which counters an answer is made of, read from the store and handed to the answers.

words:
  truth     what the answer would be if devices were asked plainly: known only where they are simulated
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deniable import Collection, Metric
from deniable_aggregator.analysis.about import About
from deniable_aggregator.analysis.anytime import LOOKS_TIMES, Looks, anytime, at_one
from deniable_aggregator.analysis.catalog import Catalog, NotKnownError, parts, segments_of
from deniable_aggregator.analysis.counters import Counters, Version
from deniable_aggregator.analysis.dates import NAMES, Dates, window
from deniable_aggregator.analysis.prices import bounding, estimating, reading, suspecting
from deniable_aggregator.analysis.question import (
    LOOKED_AT,
    MOST_EPOCHS,
    Answer,
    EpochSuspicion,
    Overview,
    Point,
    Query,
    Trend,
)
from deniable_aggregator.analysis.remembered import Remembered, state_of
from deniable_aggregator.analysis.suspected import suspected
from deniable_aggregator.analysis.turns import SLICE, Turn, Turns
from deniable_aggregator.analysis.windows import Windowed, added
from deniable_aggregator.answers import Estimate, RowId, Target, answer, by_size, consistent, leading, without_fakes
from deniable_aggregator.store import Doubt, Store, StoreError

__all__ = ["Analyst", "Truth", "analyst_of", "chosen"]

_LOOK_BACK = 32
_LEFT_OUT = -1
"""The version of an epoch that does not count."""
_LAST_SECOND = 253_402_300_799
"""Of the year 9999, beyond which times can not be told."""


Truth = Callable[[Metric, range, Mapping[str, str]], Mapping[RowId, float] | None]
"""What the rows of a metric's answer would say over these epochs and in this segment, if the values were known."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question is about, but for the metric and the epochs; told by a number, which is quick to look up."""

    joined: tuple[int, ...]
    """The digests of the versions that are added."""
    segments: tuple[int, ...]
    confidence: float
    target: Target
    looks: Looks
    rows: tuple[RowId, ...]
    """That are asked for."""
    series: tuple[str, ...]
    fakes: float


@dataclass(frozen=True, slots=True)
class _Found:
    """An answer as it is remembered: with the rows that were asked for."""

    windowed: Windowed
    consistent: Sequence[float | None]
    row_counts: Sequence[int]
    """Of each series, how many rows there are."""
    lead: RowId
    """The leading row."""
    bounds: Sequence[tuple[float, float]]
    """For each row what it could be without fakes, where that is asked for."""
    suspicions: tuple[EpochSuspicion, ...] = ()
    """Marks of fakes."""

    @classmethod
    def of(
        cls, metric: Metric, found: Windowed, query: Query, epochs: Sequence[Sequence[NDArray[np.int64]]]
    ) -> _Found:
        """What is asked for of an answer from these counters."""
        estimate, fits, counts = chosen(metric, found.estimate, query)
        lead = leading(metric, found.estimate.told(query.series, query.asked))
        asked = found.estimate, query.fakes, estimate
        ends = without_fakes(metric, added(epochs), *asked).T.tolist() if query.fakes else []
        bounds = [(low, high) for low, high in ends]
        return cls(replace(found, estimate=estimate), fits, counts, lead, bounds)


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
        self._store = store
        self._simulated: bool | None = None
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
        about, turn = await self.about(collection, query), turn or self.turns.own()
        versions = await self.versions(about)
        return [
            self._told(about, each, about.window, await self._found(about, each, versions, turn))
            for each in self.metrics(about.collection, metric)
        ]

    async def by_epoch(self, collection: str, query: Query, metric: str, turn: Turn | None = None) -> list[Answer]:
        """The answers of one metric in each epoch of the window, without those that have no reports."""
        about, turn = await self.about(collection, query), turn or self.turns.own()
        one = self.catalog.metric(about.collection, metric)
        versions = await self.versions(about)
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
        about, turn = await self.about(collection, query), turn or self.turns.own()
        span = _span(about.window, epochs)
        versions = await self.versions(about, span)
        overview = Overview([], [])
        for metric in about.collection.metrics.values():
            read = self._read(about, metric, span, versions, turn)
            found = await self._found(about, metric, versions[about.window.start - span.start :], turn, read)
            overview.answers.append(self._told(about, metric, about.window, found))
            overview.trends.append(await self._trend(about, metric, span, versions, found.lead, turn, read))
        return overview

    async def simulated(self) -> bool:
        """Whether the store is for simulated devices; a store that is away is not known to be."""
        if self._simulated is None:
            with contextlib.suppress(StoreError):
                self._simulated = await self._store.simulated()
        return bool(self._simulated)

    async def dated(self, collection: str, said: Dates, names: tuple[str, str, str] = NAMES) -> Dates:
        """A window that was said by dates, in numbers of epochs; one to compare with has to say where it ends."""
        open_ended = said.start and not said.end and not said.last_epoch and names == NAMES
        newest = (await self.about(collection, Query())).window.stop - 1 if open_ended else None
        return window(said, self.catalog.collection(collection).epoch_seconds, self._clock(), newest, names)

    async def counters(
        self, about: About, metric: Metric, versions: Sequence[Version], turn: Turn
    ) -> list[Sequence[NDArray[np.int64]]]:
        """A metric's counters in each epoch of the window that has any; in one at least."""
        every = await self._read(about, metric, about.window, versions, turn)(about.window)
        return [each for each in every if any(column.any() for column in each)] or every[:1]

    async def version(self, collection: str, query: Query, epochs: int = 1) -> str:
        """What tells the answers to a query from those that the same query had before, or will have."""
        return await self.state(await self.about(collection, query), epochs)

    async def state(self, about: About, epochs: int = 1) -> str:
        """The same of what is known already."""
        span = _span(about.window, epochs)
        digests = [own.digest for own in self.catalog.served() if own.name == about.collection.name]
        doubts = about.doubts()
        state = (about.collection.digest, digests, span, about.query, doubts, await self.versions(about, span))
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

    async def about(self, collection: str, query: Query) -> About:
        """What a query is about, with all that the store has to be asked for that."""
        found = self.catalog.collection(collection)
        joined = self.catalog.joined(found)
        doubted = {
            own.epoch: doubt
            for own, doubt in (await self._store.doubts.all()).items()
            if (own.collection, own.seconds) == (found.name, found.epoch_seconds)
        }
        last = await self._newest(joined, doubted) if query.last_epoch is None else query.last_epoch
        return self._about(found, joined, doubted, query, last)

    def also(self, about: About, query: Query) -> About:
        """What another query is about, of the same collection and moment; by itself it ends where that does."""
        last = about.window.stop - 1 if query.last_epoch is None else query.last_epoch
        return self._about(about.collection, about.joined, about.doubted, query, last)

    def _about(
        self, found: Collection, joined: tuple[Collection, ...], doubted: Mapping[int, Doubt], query: Query, last: int
    ) -> About:
        if (last + 1) * found.epoch_seconds > _LAST_SECOND:
            latest = _LAST_SECOND // found.epoch_seconds - 1
            raise ValueError(f"epoch {last} ends after the year 9999; {latest} is the last that does not")
        segments = segments_of(found, query.segment)
        levels = query.confidence, query.target, query.looks
        digests = tuple(own.digest for own in joined)
        number = self._remembered.number(
            _Asked(digests, tuple(segments), *levels, query.asked, query.series, query.fakes)
        )
        window = range(max(0, last - query.epochs + 1), last + 1)
        return About(found, joined, window, np.array(segments), query, number, doubted)

    async def versions(self, about: About, span: range | None = None) -> list[Version]:
        """Those of a span's epochs, of the window's unless told; of one that is left out another one than it has ever
        had. What is answered changes with them."""
        span = about.window if span is None else span
        read = await self._counters.versions(about.joined, span)
        nothing = (_LEFT_OUT,) * len(about.joined)
        return [nothing if about.leaves_out(epoch) else own for epoch, own in zip(span, read, strict=True)]

    async def _newest(self, joined: Sequence[Collection], doubted: Mapping[int, Doubt]) -> int:
        """The newest epoch that is well under way and not doubted; the current one where nothing is remembered."""
        now = joined[0].epoch_at(self._clock())
        epochs = range(max(0, now - _LOOK_BACK), now + 2)
        seen = await self._counters.versions(joined, epochs)
        batches = [0 if epoch in doubted else sum(own) for epoch, own in zip(epochs, seen, strict=True)]
        enough = max(1, *batches) / 2
        return max((epoch for epoch, own in zip(epochs, batches, strict=True) if own >= enough), default=now)

    def _told(self, about: About, metric: Metric, window: range, found: _Found) -> Answer:
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
            place=self.catalog.place(about.collection, metric.name),
            fakes=about.query.fakes,
            bounds=found.bounds,
            suspicions=found.suspicions,
            doubts=about.doubts(window),
        )

    def _read(self, about: About, metric: Metric, span: range, versions: Sequence[Version], turn: Turn) -> _Read:
        """The counters of a metric in epochs of a span, added over segments and over the versions that ask the same;
        read when they are needed first."""
        joined = parts(about.joined, about.collection, metric)
        each = reading(about.collection, metric, 1) * len(joined)
        together = max(SLICE // each, 1)
        nothing = [np.zeros(column.shape.counters, np.int64) for column in metric.columns]
        found: dict[int, Sequence[NDArray[np.int64]]] = {
            epoch: nothing for epoch in about.doubted if epoch in span and about.leaves_out(epoch)
        }

        async def reads(epochs: Sequence[int]) -> list[Sequence[NDArray[np.int64]]]:
            missing = [epoch for epoch in epochs if epoch not in found]
            for start in range(0, len(missing), together):
                some = missing[start : start + together]
                read = []
                for place, part in joined:
                    own = [versions[epoch - span.start][place] for epoch in some]
                    counted = await self._counters.read(about.joined[place], [part], some, own)
                    read.append([epoch.of(part, about.segments) for epoch in counted])
                for epoch, *counters in zip(some, *read, strict=True):
                    found[epoch] = counters[0] if len(counters) == 1 else added(counters)
                await turn.did(each * len(some))
            return [found[epoch] for epoch in epochs]

        return reads

    async def _found(
        self, about: About, metric: Metric, versions: Sequence[Version], turn: Turn, read: _Read | None = None
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
            told = anytime(metric, own or counters[:1], *levels, more=query.asked, only=query.series)
            marks = suspected(metric, window, counters)
            return replace(_Found.of(metric, told, query, own or counters[:1]), suspicions=marks)

        work = estimating(metric, len(window)) * LOOKS_TIMES[query.looks]
        work += bounding(metric, query.rows) if query.fakes else 0
        work += min(len(window), LOOKED_AT) * suspecting(metric)
        made = await asyncio.to_thread(make) if work > SLICE else make()
        await turn.did(work)
        return self._remembered.keep(key, state, made, lambda found: len(found.consistent))

    async def _trend(
        self,
        about: About,
        metric: Metric,
        span: range,
        versions: Sequence[Version],
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


def chosen(metric: Metric, whole: Estimate, query: Query) -> tuple[Estimate, list[float | None], list[int]]:
    """Of an answer the series that are asked for, the largest rows of each or all; for each row its value in the
    consistent view, where there is one; and how many rows each series has."""
    named = whole.told(query.series, query.asked).keys
    fitted = iter(consistent(metric, whole, part=bool(query.segment)))
    series, fits, counts = [], [], []
    for own in whole.series:
        pairs = [(row, next(fitted)) for row in own.rows]
        if own.heading.name not in named:
            continue
        counts.append(len(pairs))
        if query.rows and len(pairs) > query.rows and not own.heading.ordered:
            pairs = sorted(pairs, key=lambda pair: by_size(pair[0]))[: query.rows]
        series.append(replace(own, rows=tuple(row for row, _ in pairs)))
        fits += [fit for _, fit in pairs]
    return replace(whole, series=tuple(series)), fits, counts


def _span(window: range, epochs: int) -> range:
    """The window, and as much before it as makes so many epochs."""
    return range(max(0, min(window.start, window.stop - min(epochs, MOST_EPOCHS))), window.stop)


def analyst_of(catalog: Catalog, truth: Truth | None = None) -> Callable[[Store], Analyst]:
    """The analyst of a store: one for all who ask, so that they share what it remembers."""
    return functools.cache(lambda store: Analyst(catalog, store, truth=truth))
