"""EstimateService: answers over gRPC."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from typing import Any, NoReturn

import grpc

from deniable import Collection
from deniable.kinds import Number
from deniable.v1 import estimate_service_pb2 as pb
from deniable.v1 import estimate_service_pb2_grpc
from deniable_aggregator.answers import Target
from deniable_aggregator.catalog import Catalog, NotKnownError
from deniable_aggregator.query import Answer, Query, Reader
from deniable_aggregator.server import AddService
from deniable_aggregator.store import Store, StoreError

__all__ = ["EstimateService", "estimate_message", "estimates_of"]

_Context = grpc.aio.ServicerContext[Any, Any]
_WATCH_SECONDS = 1.0
_TARGETS = {
    pb.TARGET_UNSPECIFIED: Target.POPULATION,
    pb.TARGET_POPULATION: Target.POPULATION,
    pb.TARGET_REPORTING: Target.REPORTING,
}


class EstimateService(estimate_service_pb2_grpc.EstimateServiceServicer):
    """Serves answers from a reader."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def ListCollections(  # noqa: N802
        self,
        request: pb.ListCollectionsRequest,  # noqa: ARG002 - gRPC calls it so
        context: _Context,  # noqa: ARG002
    ) -> pb.ListCollectionsResponse:
        """The collections that the aggregator knows."""
        known = self._reader.catalog.collections()
        return pb.ListCollectionsResponse(collections=map(_collection_message, known))

    async def GetEstimate(self, request: pb.GetEstimateRequest, context: _Context) -> pb.GetEstimateResponse:  # noqa: N802
        """The answer of one metric."""
        (found,) = await self._answers(request.collection, request.query, request.metric, context)
        return pb.GetEstimateResponse(estimate=estimate_message(found))

    async def ListEstimates(  # noqa: N802
        self, request: pb.ListEstimatesRequest, context: _Context
    ) -> pb.ListEstimatesResponse:
        """The answers of all metrics of a collection."""
        found = await self._answers(request.collection, request.query, None, context)
        return pb.ListEstimatesResponse(estimates=map(estimate_message, found))

    async def WatchEstimates(  # noqa: N802
        self, request: pb.WatchEstimatesRequest, context: _Context
    ) -> AsyncIterator[pb.WatchEstimatesResponse]:
        """The answers of all metrics of a collection, again whenever they have changed."""
        sent = None
        while True:
            found = await self._answers(request.collection, request.query, None, context)
            response = pb.WatchEstimatesResponse(estimates=map(estimate_message, found))
            if response != sent:
                sent = response
                yield response
            await asyncio.sleep(_WATCH_SECONDS)

    async def _answers(self, collection: str, query: pb.Query, metric: str | None, context: _Context) -> list[Answer]:
        try:
            return await self._reader.answers(collection, _query(query), metric)
        except NotKnownError as error:
            await _abort(context, grpc.StatusCode.NOT_FOUND, str(error))
        except ValueError as error:
            await _abort(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except StoreError:
            await _abort(context, grpc.StatusCode.UNAVAILABLE, "the store is away; try again")


async def _abort(context: _Context, code: grpc.StatusCode, message: str) -> NoReturn:
    await context.abort(code, message)
    raise AssertionError("abort raises")


def _query(query: pb.Query) -> Query:
    return Query(
        last_epoch=query.last_epoch or None,
        epochs=query.epochs or 1,
        segment=dict(query.segment),
        confidence=query.confidence or 0.95,
        target=_TARGETS[query.target],
    )


def estimates_of(catalog: Catalog) -> AddService:
    """Has a server answer questions about these collections."""

    def add(server: grpc.aio.Server, store: Store) -> str:
        service = EstimateService(Reader(catalog, store))
        estimate_service_pb2_grpc.add_EstimateServiceServicer_to_server(service, server)
        return pb.DESCRIPTOR.services_by_name["EstimateService"].full_name

    return add


def estimate_message(found: Answer) -> pb.Estimate:
    """An answer as it travels."""
    estimate = found.estimate
    return pb.Estimate(
        collection=found.collection,
        metric=estimate.metric,
        first_epoch=found.first_epoch,
        last_epoch=found.last_epoch,
        segment=found.segment,
        reports=estimate.reports,
        confidence=estimate.confidence,
        target=pb.TARGET_POPULATION if estimate.target is Target.POPULATION else pb.TARGET_REPORTING,
        rows=[
            pb.EstimateRow(
                label=row.label,
                value=None if math.isnan(row.value) else row.value,
                low=row.low,
                high=row.high,
                std_error=None if math.isnan(row.std_error) else row.std_error,
            )
            for row in estimate.rows
        ],
    )


def _collection_message(collection: Collection) -> pb.CollectionInfo:
    return pb.CollectionInfo(
        name=collection.name,
        digest=f"{collection.digest:016x}",
        epoch_seconds=collection.epoch_seconds,
        metrics=[
            pb.MetricInfo(
                name=metric.name,
                kind=metric.kind.name,
                description=metric.description,
                epsilon=float(metric.epsilon),
                mechanism=metric.columns[0].mechanism.name,
                unit=metric.kind.unit if isinstance(metric.kind, Number) else "",
            )
            for metric in collection.metrics.values()
        ],
        segments=[pb.SegmentInfo(name=name, values=values) for name, values in collection.segments.items()],
        budget_epoch=float(collection.budget.epoch),
        budget_lifetime=float(collection.budget.lifetime or 0),
    )
