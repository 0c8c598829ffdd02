"""EstimateService: answers over gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

import grpc

from deniable.v1 import estimate_service_pb2 as pb
from deniable.v1 import estimate_service_pb2_grpc
from deniable_aggregator.analysis.catalog import NotKnownError
from deniable_aggregator.analysis.prices import TooDearError
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.analysis.turns import BusyError
from deniable_aggregator.caller import NotPermittedError
from deniable_aggregator.serving.desk import asker_of
from deniable_aggregator.serving.server import AddService
from deniable_aggregator.store import Store, StoreError
from deniable_aggregator.telling.messages import collection_message
from deniable_aggregator.telling.questions import Questions

__all__ = ["EstimateService", "estimates_of"]

_Context = grpc.aio.ServicerContext[Any, Any]
_Found = TypeVar("_Found")
_WATCH_SECONDS = 1.0
_WATCH_COUNTERS = 10_000_000
"""A watch is answered at this price a second, at the most: a fifth of a processor."""


class EstimateService(estimate_service_pb2_grpc.EstimateServiceServicer):
    """Serves an analyst's answers."""

    def __init__(self, analyst: Analyst) -> None:
        self._questions = Questions(analyst)

    async def ListCollections(  # noqa: N802
        self,
        request: pb.ListCollectionsRequest,  # noqa: ARG002 - gRPC calls it so
        context: _Context,  # noqa: ARG002
    ) -> pb.ListCollectionsResponse:
        """The collections that the aggregator knows."""
        catalog = self._questions.analyst.catalog
        simulated = await self._questions.analyst.simulated()
        known = [collection_message(own, catalog, simulated) for own in catalog.collections()]
        return pb.ListCollectionsResponse(collections=known)

    async def GetEstimate(self, request: pb.GetEstimateRequest, context: _Context) -> pb.GetEstimateResponse:  # noqa: N802
        """The answer of one metric."""

        found = self._questions.estimates(asker_of(context), request.collection, request.query, request.metric)
        (one,) = await _answered(found, context)
        return pb.GetEstimateResponse(estimate=one)

    async def ListEstimates(  # noqa: N802
        self, request: pb.ListEstimatesRequest, context: _Context
    ) -> pb.ListEstimatesResponse:
        """The answers of all metrics of a collection."""
        found = self._questions.estimates(asker_of(context), request.collection, request.query)
        return pb.ListEstimatesResponse(estimates=await _answered(found, context))

    async def ListEpochEstimates(  # noqa: N802
        self, request: pb.ListEpochEstimatesRequest, context: _Context
    ) -> pb.ListEpochEstimatesResponse:
        """The answers of one metric in each epoch of a window."""

        found = self._questions.epochs(asker_of(context), request.collection, request.query, request.metric)
        return pb.ListEpochEstimatesResponse(estimates=await _answered(found, context))

    async def ListSegmentEstimates(  # noqa: N802
        self, request: pb.ListSegmentEstimatesRequest, context: _Context
    ) -> pb.ListSegmentEstimatesResponse:
        """The answers of one metric in each value of a segment."""

        names = request.metric, request.segment
        found = self._questions.segments(asker_of(context), request.collection, request.query, *names)
        return pb.ListSegmentEstimatesResponse(estimates=await _answered(found, context))

    async def GetOverview(self, request: pb.GetOverviewRequest, context: _Context) -> pb.GetOverviewResponse:  # noqa: N802
        """The answers of all metrics of a collection, and how they have come about."""

        trend = request.trend_epochs
        return await _answered(
            self._questions.overview(asker_of(context), request.collection, request.query, trend), context
        )

    async def ListComparisons(  # noqa: N802
        self, request: pb.ListComparisonsRequest, context: _Context
    ) -> pb.ListComparisonsResponse:
        """By how much answers differ from others."""
        return await _answered(self._questions.comparisons(asker_of(context), request), context)

    async def ListCounters(  # noqa: N802
        self, request: pb.ListCountersRequest, context: _Context
    ) -> pb.ListCountersResponse:
        """The raw counters of one metric, or of all."""
        asked = request.collection, request.query, request.metric or None
        found = self._questions.counters(asker_of(context), *asked)
        return pb.ListCountersResponse(columns=await _answered(found, context))

    async def WatchEstimates(  # noqa: N802
        self, request: pb.WatchEstimatesRequest, context: _Context
    ) -> AsyncIterator[pb.WatchEstimatesResponse]:
        """The answers of all metrics of a collection, again whenever they have changed."""
        sent = None
        while True:
            query = await _answered(self._questions.dated(request.collection, request.query), context)
            asked = request.collection, query
            version = await _answered(self._questions.version(*asked), context)
            if version != sent:
                estimates = await _answered(self._unless_busy(asker_of(context), *asked), context)
                if estimates is not None:
                    sent = version
                    yield pb.WatchEstimatesResponse(estimates=estimates)
            await asyncio.sleep(self._pause(*asked))

    async def _unless_busy(self, asker: str, collection: str, query: pb.Query) -> list[pb.Estimate] | None:
        """The answers; None where too many questions wait: who watches can wait for longer."""
        try:
            return await self._questions.estimates(asker, collection, query)
        except BusyError:
            return None

    def _pause(self, collection: str, query: pb.Query) -> float:
        """A second; longer where every answer costs so much that it would be asked for without a pause."""
        try:
            return max(_WATCH_SECONDS, self._questions.price(collection, query).counters / _WATCH_COUNTERS)
        except (
            NotKnownError,
            NotPermittedError,
            ValueError,
        ):  # collections were replaced meanwhile: the next question says it
            return _WATCH_SECONDS


async def _answered(found: Awaitable[_Found], context: _Context) -> _Found:
    """What was found; or an error as gRPC tells it."""
    try:
        return await found
    except NotKnownError as error:
        await _abort(context, grpc.StatusCode.NOT_FOUND, str(error))
    except NotPermittedError as error:
        await _abort(context, grpc.StatusCode.PERMISSION_DENIED, str(error))
    except ValueError as error:
        await _abort(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
    except (TooDearError, BusyError) as error:
        await _abort(context, grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
    except StoreError:
        await _abort(context, grpc.StatusCode.UNAVAILABLE, "the store is away; try again")


async def _abort(context: _Context, code: grpc.StatusCode, message: str) -> NoReturn:
    await context.abort(code, message)
    raise AssertionError("abort raises")


def estimates_of(analyst_of: Callable[[Store], Analyst]) -> AddService:
    """Has a server answer questions; the listeners of a process share what is known."""
    shared = lru_cache(maxsize=1)(analyst_of)

    def add(server: grpc.aio.Server, store: Store) -> str:
        estimate_service_pb2_grpc.add_EstimateServiceServicer_to_server(EstimateService(shared(store)), server)
        return pb.DESCRIPTOR.services_by_name["EstimateService"].full_name

    return add
