"""An OpenTelemetry collector: the real services of its protocol, which keep whatever is sent."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf.message import Message
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as figures
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2_grpc import (
    MetricsServiceServicer,
    add_MetricsServiceServicer_to_server,
)
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)

__all__ = ["Collector", "Span", "collecting"]


class Span:
    """What a collector knows of a span."""

    def __init__(self, process: str, own: Any) -> None:
        self.process, self.name = process, str(own.name)
        self.said = {each.key: _plain(each.value) for each in own.attributes}
        self.failed = own.status.code == own.status.STATUS_CODE_ERROR
        self.times = own.start_time_unix_nano, own.end_time_unix_nano
        self.alone = not own.parent_span_id and not own.links
        self.trace = own.trace_id


class Collector:
    """All that has come."""

    def __init__(self) -> None:
        self.endpoint = ""
        self.messages: list[Message] = []
        self.headers: list[dict[str, str]] = []

    def take(self, message: Message, context: Any) -> None:
        """Keep a message, and what came along with it."""
        self.headers.append({str(name): str(value) for name, value in context.invocation_metadata()})
        self.messages.append(message)

    def spans(self) -> list[Span]:
        """Every span."""
        found = []
        for message in [each for each in self.messages if isinstance(each, traces.ExportTraceServiceRequest)]:
            for group in message.resource_spans:
                about = {each.key: _plain(each.value) for each in group.resource.attributes}
                assert about["service.name"] == "deniable"
                for scope in group.scope_spans:
                    found += [Span(about["deniable.process"], own) for own in scope.spans]
        return found

    def named(self, name: str) -> list[Span]:
        """Those of a name."""
        return [each for each in self.spans() if each.name == name]

    def sendings(self) -> list[dict[str, Any]]:
        """The figures of each message, by their names."""
        sent = [each for each in self.messages if isinstance(each, figures.ExportMetricsServiceRequest)]
        groups = [[scope for group in each.resource_metrics for scope in group.scope_metrics] for each in sent]
        return [{own.name: own for scope in each for own in scope.metrics} for each in groups]

    def everything(self) -> bytes:
        """All that has come, as bytes and as text."""
        own = b"".join(each.SerializeToString() + str(each).encode() for each in self.messages)
        return own + repr(self.headers).encode()


def _plain(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))


class _Traces(TraceServiceServicer):
    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC calls it so
        """Take spans."""
        self._collector.take(request, context)
        return traces.ExportTraceServiceResponse()


class _Figures(MetricsServiceServicer):
    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC calls it so
        """Take figures."""
        self._collector.take(request, context)
        return figures.ExportMetricsServiceResponse()


@contextlib.contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens."""
    collector = Collector()
    server = grpc.server(ThreadPoolExecutor(2))
    add_TraceServiceServicer_to_server(_Traces(collector), server)  # type: ignore[no-untyped-call]
    add_MetricsServiceServicer_to_server(_Figures(collector), server)  # type: ignore[no-untyped-call]
    collector.endpoint = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield collector
    finally:
        server.stop(0).wait()
