"""Changes: what has changed between two windows, two segments, or since a baseline; asked of an analyst.

words:
  before   what is compared with: by default as many epochs as the window has, right before it
  new      of a word: found in the window and not in the one before, which has as many epochs, and more frequent by
           more than noise explains
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from deniable import Collection, Metric
from deniable_aggregator.analysis.about import About
from deniable_aggregator.analysis.anytime import Looks
from deniable_aggregator.analysis.catalog import Place
from deniable_aggregator.analysis.comparison import OTHERS, UNKNOWN, Change, Comparison, Devices, against, compared
from deniable_aggregator.analysis.counters import Version
from deniable_aggregator.analysis.discoveries import found
from deniable_aggregator.analysis.prices import estimating
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.analysis.question import EpochDoubt, Query
from deniable_aggregator.analysis.remembered import state_of
from deniable_aggregator.analysis.turns import SLICE, Turn
from deniable_aggregator.answers import Measure, RowId, headings

__all__ = ["RATE", "SIDES_TIMES", "Before", "Changed", "Found", "Marked", "changes", "sides_of"]

SIDES_TIMES = 4
"""What is to be known of a side takes as much as so many estimates of it, at the most."""
RATE = 0.05
"""The false discovery rate, unless another one is asked for."""


@dataclass(frozen=True, slots=True)
class Before:
    """What a query's window is compared with."""

    last_epoch: int | None = None
    """Its last epoch; None: the one before the query's window begins, or with another segment the same window."""
    epochs: int | None = None
    """How many epochs it has; None: as many as the query's window."""
    segment: Mapping[str, str] | None = None
    """Values of segments, by name; None: those of the query."""
    baseline: Mapping[RowId, float] | None = None
    """Instead of all that, numbers that are known without an error; without a series they are of the first."""


class Marked(NamedTuple):
    """A change, and what it is called at the false discovery rate."""

    change: Change
    """The change."""
    found: bool
    """Whether it is found."""
    new: bool
    """Whether it is of a word that is new; then it is found, too."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A comparison, and what it is about."""

    collection: Collection
    metric: Metric
    windows: tuple[range, range]
    """Before and after; a baseline has the window that is compared with it."""
    segments: tuple[Mapping[str, str], Mapping[str, str]]
    """Before and after."""
    comparison: Comparison
    rows: tuple[tuple[Marked, ...], ...]
    """Of each series the changes that were asked for, and what each is called."""
    fixed: bool
    """Whether it is compared with a baseline."""
    looks: Looks
    """At which looks together its intervals and p-values hold."""
    place: Place
    """Where its answers stand among those of other versions."""
    doubts: tuple[tuple[EpochDoubt, ...], tuple[EpochDoubt, ...]]
    """Before and after, epochs that an operator does not trust."""


@dataclass(frozen=True, slots=True)
class Found:
    """All that is told together."""

    changed: list[Changed]
    rate: float
    """The false discovery rate of what is found."""
    looked_at: int
    """Among how many rows it was looked for."""


async def changes(
    analyst: Analyst,
    collection: str,
    query: Query,
    before: Before,
    devices: Devices = UNKNOWN,
    metric: str | None = None,
    rate: float = RATE,
    turn: Turn | None = None,
) -> Found:
    """What has changed in one metric, or in all of them."""
    turn = turn or analyst.turns.own()
    about = analyst.catalog.collection(collection)
    metrics = analyst.metrics(about, metric)
    if query.series or query.asked:
        raise ValueError("a comparison has all its series, and no rows besides those: ask estimates for these")
    if before.baseline is not None and (metric is None or not before.baseline):
        raise ValueError("a baseline is of one metric, and has at least one number")
    sides = await sides_of(analyst, collection, query, before)
    other, asked = (side.query for side in sides)
    if _one_epoch(asked, other) and _disjoint(asked.segment, other.segment) and devices.changed is None:
        devices = OTHERS
    versions = await analyst.versions(sides[0]), await analyst.versions(sides[1])
    compares = _Compares(analyst, sides, versions, before.baseline, devices)
    told = [await compares.changed(each, turn) for each in metrics]
    return _found(told, query.rows, rate)


async def sides_of(analyst: Analyst, collection: str, query: Query, before: Before) -> tuple[About, About]:
    """What both sides are about, with their last epochs; a ValueError where both have the same reports."""
    about = await analyst.about(collection, query)
    asked = replace(query, last_epoch=about.window.stop - 1)
    after = analyst.also(about, asked)
    if before.baseline is not None:
        return after, after
    analyst.also(about, replace(asked, segment=before.segment or {}))  # where it is not known, that is said
    return analyst.also(about, _earlier(asked, before)), after


def _earlier(asked: Query, before: Before) -> Query:
    assert asked.last_epoch is not None
    last, first = asked.last_epoch, asked.last_epoch - asked.epochs + 1
    segment = asked.segment if before.segment is None else before.segment
    usual = last if dict(segment) != dict(asked.segment) else first - 1
    own = usual if before.last_epoch is None else before.last_epoch
    if own < 0:
        raise ValueError(f"there is no epoch before a window of {asked.epochs} that ends with epoch {last}")
    other = replace(asked, last_epoch=own, epochs=before.epochs or asked.epochs, segment=segment)
    start, end = max(first, own - other.epochs + 1), min(last, own)
    if start <= end and not _disjoint(segment, asked.segment):
        raise ValueError(
            f"both sides have the reports of epochs {start} to {end}: there is nothing to compare in them"
        )
    return other


def _one_epoch(one: Query, other: Query) -> bool:
    """Whether both are about the same epoch, in which a device reports once: in one segment."""
    return one.last_epoch == other.last_epoch and one.epochs == other.epochs == 1


def _disjoint(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether no report is in both segments."""
    return any(name in other and other[name] != value for name, value in one.items())


@dataclass(frozen=True, slots=True)
class _Compares:
    """What is compared, as far as it is the same for all metrics: the store is asked for it once a question."""

    analyst: Analyst
    sides: tuple[About, About]
    """Before and after."""
    versions: tuple[list[Version], list[Version]]
    """Those of their epochs."""
    baseline: Mapping[RowId, float] | None
    devices: Devices

    async def changed(self, metric: Metric, turn: Turn) -> Changed:
        """The comparison of a metric; remembered, if its epochs have these versions still."""
        kept, (before, after) = self.analyst.compared, self.sides
        asked, segments = after.query, (before.query.segment, after.query.segment)
        fixed = None if self.baseline is None else tuple(self.baseline.items())
        named = [tuple(sorted(own.items())) for own in segments]
        joined = tuple(own.digest for own in after.joined)
        what = joined, *named, asked.confidence, asked.target, asked.looks, self.devices, fixed
        key = kept.number(what), metric.name, after.window.start, after.window.stop, before.window
        state = state_of([*self.versions[0], *self.versions[1]])
        comparison: Comparison | None = kept.find(key, state)
        if comparison is None:
            comparison = await self._compared(metric, turn)
            kept.keep(key, state, comparison, lambda made: len(made.by_id))
        place = self.analyst.catalog.place(after.collection, metric.name)
        of = after.collection, metric, (before.window, after.window), segments, comparison
        return Changed(*of, (), fixed is not None, asked.looks, place, (before.doubts(), after.doubts()))

    async def _compared(self, metric: Metric, turn: Turn) -> Comparison:
        asked = self.sides[1].query
        levels = asked.confidence, asked.target
        after = await self.analyst.counters(self.sides[1], metric, self.versions[1], turn)
        if self.baseline is not None:
            first = headings(metric)[0].name
            fixed = {RowId(where.series or first, where.key): value for where, value in self.baseline.items()}
            return await _made(lambda: against(metric, fixed, after, *levels, asked.looks), metric, len(after), turn)
        before = await self.analyst.counters(self.sides[0], metric, self.versions[0], turn)
        epochs = len(before) + len(after)
        return await _made(
            lambda: compared(metric, before, after, *levels, self.devices, asked.looks), metric, epochs, turn
        )


async def _made(make: Callable[[], Comparison], metric: Metric, epochs: int, turn: Turn) -> Comparison:
    work = SIDES_TIMES * estimating(metric, epochs)
    made = await asyncio.to_thread(make) if work > SLICE else make()
    await turn.did(work)
    return made


def _found(told: Sequence[Changed], most: int, rate: float) -> Found:
    """What is found among all rows but totals: these change with the number of reports, whatever devices say. And
    which words are new: those that are found where all others are said to be no change. Chances that are greater than
    they are keep the rate, so that of the words that are called new as few are none."""
    rows = [
        (heading.measure is Measure.TOTAL, change, change.came and change.value > 0 and _follows(own))
        for own in told
        for heading, changes in own.comparison.series
        for change in changes
    ]
    chances = [math.nan if total else change.p_value for total, change, _ in rows]
    grown = [max(chance, float(not came)) for chance, (_, _, came) in zip(chances, rows, strict=True)]
    marks = iter([Marked(change, *own) for (_, change, _), *own in zip(rows, found(chances, rate), found(grown, rate),
                                                                       strict=True)])  # fmt: skip
    marked = [
        replace(own, rows=tuple(_most([next(marks) for _ in changes], most) for _, changes in own.comparison.series))
        for own in told
    ]
    return Found(marked, rate, sum(not math.isnan(each) for each in chances))


def _follows(own: Changed) -> bool:
    """Whether it is compared with an earlier window of as many epochs, of the same segment."""
    (before, after), (one, other) = own.windows, own.segments
    return not own.fixed and before.stop <= after.start and len(before) == len(after) and dict(one) == dict(other)


def _most(rows: list[Marked], most: int) -> tuple[Marked, ...]:
    """All, or what is new, and then those that differ most certainly."""
    if not most or len(rows) <= most:
        return tuple(rows)

    def certain(row: Marked) -> tuple[bool, bool, float, float]:
        chance = row.change.p_value
        return not row.new, math.isnan(chance), chance, -abs(row.change.value)

    return tuple(sorted(rows, key=certain)[:most])
