"""A ReportService that writes down what it is sent and answers as it is told: the other end of an SDK under test."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Never

import grpc

from deniable.v1 import report_service_pb2, report_service_pb2_grpc
from support.waiting import PATIENCE

__all__ = ["Recorder", "recording"]

Request = report_service_pb2.SubmitReportsRequest
Response = report_service_pb2.SubmitReportsResponse


class Recorder(report_service_pb2_grpc.ReportServiceServicer):
    """Keeps every request, in the order of arrival."""

    def __init__(self, answer: Callable[[Request, grpc.ServicerContext], None]) -> None:
        self.requests: list[Request] = []
        self._answer = answer

    def SubmitReports(self, request: Request, context: grpc.ServicerContext) -> Response:  # noqa: N802
        """Keep the request, then answer as told."""
        self.requests.append(request)
        self._answer(request, context)
        return Response()

    def StreamReports(self, requests: object, context: grpc.ServicerContext) -> Never:  # noqa: ARG002, N802
        """Devices do not stream."""
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "not here")


@contextlib.contextmanager
def recording(
    answer: Callable[[Request, grpc.ServicerContext], None] = lambda _request, _context: None,
) -> Iterator[tuple[str, Recorder]]:
    """A server on a free port of this machine; its endpoint and what it has been sent."""
    recorder = Recorder(answer)
    server = grpc.server(futures.ThreadPoolExecutor(4))
    report_service_pb2_grpc.add_ReportServiceServicer_to_server(recorder, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}", recorder
    finally:
        server.stop(0).wait(PATIENCE)
