"""Questions as they come over gRPC and HTTP: what each costs, whose turn it is, and answers as messages.

A question's price is known before anything is read. One that costs too much is refused with what would fit; the
others wait for their turn, and are answered in slices. Whether an answer has changed costs next to nothing, and is
told at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.analysis.anytime import LOOKS_TIMES
from deniable_aggregator.analysis.changes import RATE, SIDES_TIMES, changes, sides_of
from deniable_aggregator.analysis.prices import Price, counting, told
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.analysis.question import MOST_EPOCHS, Answer
from deniable_aggregator.analysis.turns import SLICE, Turn
from deniable_aggregator.analysis.weighting import weighted_answers
from deniable_aggregator.analysis.windows import added
from deniable_aggregator.answers import check_asked, headings
from deniable_aggregator.telling.change_messages import before_of, changes_message, devices_of
from deniable_aggregator.telling.counters import Counted, counters_message
from deniable_aggregator.telling.messages import (
    dates_of,
    estimate_message,
    in_numbers,
    overview_message,
    query_of,
)
from deniable_aggregator.tracing import note

__all__ = ["Questions"]

_Told = TypeVar("_Told")
_BEFORE = ("with_from", "with_to", "with")
"""What the parts of a window are called that is compared with."""


class Questions:
    """What an analyst is asked, by whoever it is."""

    def __init__(self, analyst: Analyst) -> None:
        self.analyst = analyst
        """Who answers."""

    async def estimates(
        self, asker: str, collection: str, query: pb.Query, metric: str | None = None
    ) -> list[pb.Estimate]:
        """The answers of one metric, or of all metrics, of a collection."""
        query = await self.dated(collection, query)
        weighted = bool(query.weights) and query.looks in {pb.LOOKS_UNSPECIFIED, pb.LOOKS_ONE}
        asked, times = query_of(query, weighted), max(len(query.weights), 1)
        async with self._turn(asker, self.price(collection, query, metric, times=times)) as turn:
            if weighted:
                shares = query.weight_by, dict(query.weights)
                answers = await weighted_answers(self.analyst, collection, asked, *shares, metric, turn)
            else:
                answers = await self.analyst.answers(collection, asked, metric, turn)
            return await _messages(answers, turn)

    async def epochs(self, asker: str, collection: str, query: pb.Query, metric: str) -> list[pb.Estimate]:
        """The answers of one metric in each epoch of a window."""
        query = await self.dated(collection, query)
        async with self._turn(asker, self.price(collection, query, metric, apart=True)) as turn:
            answers = await self.analyst.by_epoch(collection, query_of(query), metric, turn)
            return await _messages(answers, turn)

    async def segments(
        self, asker: str, collection: str, query: pb.Query, metric: str, segment: str
    ) -> list[pb.Estimate]:
        """The answers of one metric in each value of a segment."""
        query = await self.dated(collection, query)
        times = len(self.analyst.values(collection, segment))
        async with self._turn(asker, self.price(collection, query, metric, times=times)) as turn:
            answers = await self.analyst.by_segment(collection, query_of(query), metric, segment, turn)
            return await _messages(answers, turn)

    async def overview(self, asker: str, collection: str, query: pb.Query, trend: int) -> pb.GetOverviewResponse:
        """The answers of all metrics of a collection, and how they have come about."""
        query = await self.dated(collection, query)
        span = min(max(trend, query.epochs, 1), MOST_EPOCHS)
        async with self._turn(asker, self.price(collection, query, trend=span)) as turn:
            found = await self.analyst.overview(collection, query_of(query), span, turn)
            rows = sum(len(own.estimate.rows) for own in found.answers)
            return await _made(lambda: overview_message(found), told(rows), turn)

    async def comparisons(self, asker: str, request: pb.ListComparisonsRequest) -> pb.ListComparisonsResponse:
        """By how much answers differ."""
        request = await self._both_dated(request)
        query, before, devices = query_of(request.query, compared=True), before_of(request), devices_of(request)
        about = self.analyst.catalog.collection(request.collection)
        metrics = self.analyst.metrics(about, request.metric or None)
        epochs = query.epochs + (before.epochs or query.epochs) * (before.baseline is None)
        joined, times = len(self.analyst.catalog.joined(about)), SIDES_TIMES * LOOKS_TIMES[query.looks]
        price = Price(about, metrics, epochs, query.rows, times=times, joined=joined, marked=False)
        async with self._turn(asker, price) as turn:
            asked = request.collection, query, before, devices, request.metric or None
            found = await changes(self.analyst, *asked, request.false_discovery_rate or RATE, turn)
            rows = sum(len(own) for each in found.changed for own in each.rows)
            return await _made(lambda: changes_message(found), told(rows), turn)

    async def counters(
        self, asker: str, collection: str, query: pb.Query, metric: str | None = None
    ) -> list[pb.ColumnCounters]:
        """The raw counters of one metric, or of all metrics, over a window."""
        _check_window_alone(query)
        asked, about = query_of(await self.dated(collection, query)), self.analyst.catalog.collection(collection)
        metrics, joined = self.analyst.metrics(about, metric), len(self.analyst.catalog.joined(about))
        columns = []
        async with self._turn(asker, Price(about, metrics, asked.epochs, joined=joined, raw=True)) as turn:
            of = await self.analyst.about(collection, asked)
            versions, where = await self.analyst.versions(of), (of.window, asked.segment)
            for each in metrics:
                own = added(await self.analyst.counters(of, each, versions, turn))
                counted = Counted(self.analyst.catalog.title(about), about, each, *where, own, of.doubts())
                columns += await _made(lambda own=counted: [*counters_message(own)], counting(each), turn)  # type: ignore[misc]
        return columns

    async def comparisons_version(self, request: pb.ListComparisonsRequest) -> str:
        """What tells comparisons from those that the same question had before, or will have."""
        request = await self._both_dated(request)
        query, before = query_of(request.query), before_of(request)
        sides = await sides_of(self.analyst, request.collection, query, before)
        return " ".join([await self.analyst.state(own) for own in sides])

    async def version(self, collection: str, query: pb.Query, trend: int = 1) -> str:
        """What tells the answers to a query from those that the same query had before, or will have."""
        query = await self.dated(collection, query)
        return await self.analyst.version(collection, query_of(query, weighted=True), trend)

    async def dated(self, collection: str, query: pb.Query) -> pb.Query:
        """A query whose window is said in numbers of epochs, in place of one that says it by dates."""
        said = dates_of(query)
        if not (said.start or said.end or said.last):
            return query
        numbered = pb.Query()
        numbered.CopyFrom(query)
        in_numbers(numbered, await self.analyst.dated(collection, said))
        return numbered

    async def _both_dated(self, request: pb.ListComparisonsRequest) -> pb.ListComparisonsRequest:
        """The same of both sides of a comparison."""
        numbered = pb.ListComparisonsRequest()
        numbered.CopyFrom(request)
        numbered.query.CopyFrom(await self.dated(request.collection, request.query))
        said = dates_of(request.before)
        if said.start or said.end or said.last:
            in_numbers(numbered.before, await self.analyst.dated(request.collection, said, _BEFORE))
        return numbered

    def price(
        self,
        collection: str,
        query: pb.Query,
        metric: str | None = None,
        *,
        trend: int = 0,
        apart: bool = False,
        times: int = 1,
    ) -> Price:
        """What a question costs."""
        found, own = self.analyst.catalog.collection(collection), query_of(query, weighted=True)
        metrics = self.analyst.metrics(found, metric)
        for each in metrics:
            check_asked(each, own.asked, own.series)
        looked, joined = times * LOOKS_TIMES[own.looks], len(self.analyst.catalog.joined(found))
        finds = not own.series or any(headings(each)[0].name in own.series for each in metrics)
        price = Price(found, metrics, own.epochs, own.rows, trend, apart, looked, len(own.asked), finds, joined)
        return replace(price, fakes=own.fakes)

    @contextlib.asynccontextmanager
    async def _turn(self, asker: str, price: Price) -> AsyncIterator[Turn]:
        of = price.metrics[0].name if len(price.metrics) == 1 else ""
        note({"deniable.collection": price.collection.name, "deniable.epochs": price.epochs})
        note({"deniable.metric": of} if of else {})
        async with self.analyst.turns.question(asker, price.check()) as turn:
            yield turn


def _check_window_alone(query: pb.Query) -> None:
    """A ValueError for whatever has to do with estimates alone."""
    taken = {"from", "to", "last", "last_epoch", "epochs", "segment", "doubtful"}
    if others := [field.name for field, _ in query.ListFields() if field.name not in taken]:
        raise ValueError(f"counters are of a window and a segment; they have no {', '.join(others)}")


async def _messages(answers: Iterable[Answer], turn: Turn) -> list[pb.Estimate]:
    """The answers as they travel."""
    messages = []
    for own in answers:
        work = told(len(own.estimate.rows))
        messages.append(await _made(lambda own=own: estimate_message(own), work, turn))  # type: ignore[misc]
    return messages


async def _made(make: Callable[[], _Told], work: int, turn: Turn) -> _Told:
    """What is made in so much work: in a thread, where that is more than a slice."""
    made = await asyncio.to_thread(make) if work > SLICE else make()
    await turn.did(work)
    return made
