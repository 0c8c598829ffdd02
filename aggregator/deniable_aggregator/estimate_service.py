"""EstimateService: answers over gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

import grpc

from deniable.v1 import estimate_service_pb2 as pb
from deniable.v1 import estimate_service_pb2_grpc
from deniable_aggregator.catalog import NotKnownError
from deniable_aggregator.messages import collection_message, estimate_message, overview_message, query_of
from deniable_aggregator.query import Analyst
from deniable_aggregator.server import AddService
from deniable_aggregator.store import Store, StoreError

__all__ = ["EstimateService", "estimates_of"]

_Context = grpc.aio.ServicerContext[Any, Any]
_Found = TypeVar("_Found")
_WATCH_SECONDS = 1.0


class EstimateService(estimate_service_pb2_grpc.EstimateServiceServicer):
    """Serves an analyst's answers."""

    def __init__(self, analyst: Analyst) -> None:
        self._analyst = analyst

    async def ListCollections(  # noqa: N802
        self,
        request: pb.ListCollectionsRequest,  # noqa: ARG002 - gRPC calls it so
        context: _Context,  # noqa: ARG002
    ) -> pb.ListCollectionsResponse:
        """The collections that the aggregator knows."""
        known = self._analyst.catalog.collections()
        return pb.ListCollectionsResponse(collections=map(collection_message, known))

    async def GetEstimate(self, request: pb.GetEstimateRequest, context: _Context) -> pb.GetEstimateResponse:  # noqa: N802
        """The answer of one metric."""

        async def found() -> pb.GetEstimateResponse:
            query = query_of(request.query)
            (one,) = await self._analyst.answers(request.collection, query, request.metric)
            return pb.GetEstimateResponse(estimate=estimate_message(one))

        return await _answered(found(), context)

    async def ListEstimates(  # noqa: N802
        self, request: pb.ListEstimatesRequest, context: _Context
    ) -> pb.ListEstimatesResponse:
        """The answers of all metrics of a collection."""
        estimates = await _answered(self._all(request.collection, request.query), context)
        return pb.ListEstimatesResponse(estimates=estimates)

    async def ListEpochEstimates(  # noqa: N802
        self, request: pb.ListEpochEstimatesRequest, context: _Context
    ) -> pb.ListEpochEstimatesResponse:
        """The answers of one metric in each epoch of a window."""

        async def found() -> pb.ListEpochEstimatesResponse:
            query = query_of(request.query)
            answers = await self._analyst.by_epoch(request.collection, query, request.metric)
            estimates = [*map(estimate_message, answers)]
            return pb.ListEpochEstimatesResponse(estimates=estimates)

        return await _answered(found(), context)

    async def ListSegmentEstimates(  # noqa: N802
        self, request: pb.ListSegmentEstimatesRequest, context: _Context
    ) -> pb.ListSegmentEstimatesResponse:
        """The answers of one metric in each value of a segment."""

        async def found() -> pb.ListSegmentEstimatesResponse:
            query = query_of(request.query)
            answers = await self._analyst.by_segment(request.collection, query, request.metric, request.segment)
            estimates = [*map(estimate_message, answers)]
            return pb.ListSegmentEstimatesResponse(estimates=estimates)

        return await _answered(found(), context)

    async def GetOverview(self, request: pb.GetOverviewRequest, context: _Context) -> pb.GetOverviewResponse:  # noqa: N802
        """The answers of all metrics of a collection, and how they have come about."""

        async def found() -> pb.GetOverviewResponse:
            query = query_of(request.query)
            overview = await self._analyst.overview(request.collection, query, request.trend_epochs)
            return overview_message(overview)

        return await _answered(found(), context)

    async def WatchEstimates(  # noqa: N802
        self, request: pb.WatchEstimatesRequest, context: _Context
    ) -> AsyncIterator[pb.WatchEstimatesResponse]:
        """The answers of all metrics of a collection, again whenever they have changed."""
        sent = None
        while True:
            version = await _answered(self._version(request.collection, request.query), context)
            if version != sent:
                sent = version
                estimates = await _answered(self._all(request.collection, request.query), context)
                yield pb.WatchEstimatesResponse(estimates=estimates)
            await asyncio.sleep(_WATCH_SECONDS)

    async def _all(self, collection: str, query: pb.Query) -> list[pb.Estimate]:
        answers = await self._analyst.answers(collection, query_of(query))
        return [*map(estimate_message, answers)]

    async def _version(self, collection: str, query: pb.Query) -> str:
        return await self._analyst.version(collection, query_of(query))


async def _answered(found: Awaitable[_Found], context: _Context) -> _Found:
    """What was found; or an error as gRPC tells it."""
    try:
        return await found
    except NotKnownError as error:
        await _abort(context, grpc.StatusCode.NOT_FOUND, str(error))
    except ValueError as error:
        await _abort(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
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
