"""Answers of a running aggregator, asked over gRPC, as plain rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import grpc

from deniable.v1 import estimate_service_pb2 as pb
from deniable.v1 import estimate_service_pb2_grpc

__all__ = ["RemoteError", "fetch"]

_SECONDS = 10.0
_TARGETS = {"population": pb.TARGET_POPULATION, "reporting": pb.TARGET_REPORTING}


class RemoteError(Exception):
    """The aggregator could not be asked, or would not answer; the message says why."""


def fetch(
    endpoint: str,
    *,
    collection: str = "",
    metric: str = "",
    epochs: int = 1,
    segment: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    target: str = "population",
) -> list[dict[str, Any]]:
    """A row for every line of every answer; what is not known is None."""
    query = pb.Query(epochs=epochs, segment=segment, confidence=confidence, target=_TARGETS[target])
    with grpc.insecure_channel(endpoint) as channel:
        service = estimate_service_pb2_grpc.EstimateServiceStub(channel)
        try:
            if metric:
                one = pb.GetEstimateRequest(collection=collection, metric=metric, query=query)
                estimates = [service.GetEstimate(one, timeout=_SECONDS).estimate]
            else:
                every = pb.ListEstimatesRequest(collection=collection, query=query)
                estimates = list(service.ListEstimates(every, timeout=_SECONDS).estimates)
        except grpc.RpcError as error:
            raise RemoteError(_words(endpoint, error)) from error
    return [row for estimate in estimates for row in _rows(estimate)]


def _words(endpoint: str, error: Any) -> str:
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        return f"{endpoint}: {error.details()}; is the aggregator running there? (deniable serve)"
    return f"{endpoint}: {error.details()}"


def _rows(estimate: pb.Estimate) -> list[dict[str, Any]]:
    return [
        {
            "collection": estimate.collection,
            "metric": estimate.metric,
            "reports": estimate.reports,
            "label": row.label,
            "value": row.value if row.HasField("value") else None,
            "low": row.low,
            "high": row.high,
            "std_error": row.std_error if row.HasField("std_error") else None,
        }
        for row in estimate.rows
    ]
