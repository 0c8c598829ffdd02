"""A span of each question that is answered over gRPC: which method, and how it ended; never who asked, in what words.

What a question is about is noted where it is known (`telling/questions.py`), in the names of what is served.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import grpc

from deniable_aggregator.tracing import Span, span

__all__ = ["Asked"]

_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class Asked(grpc.aio.ServerInterceptor):
    """Tells of questions."""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler | None:
        """Go on, with what answers inside a span."""
        own: Any = await continuation(handler_call_details)
        if own is None:
            return None
        name = str(handler_call_details.method).rpartition("/")[2]
        if own.response_streaming:
            make, answer = grpc.unary_stream_rpc_method_handler, _watching(name, own.unary_stream)
        else:
            make, answer = grpc.unary_unary_rpc_method_handler, _asking(name, own.unary_unary)
        return make(answer, own.request_deserializer, own.response_serializer)


def _asking(name: str, answer: Any) -> Any:
    async def handle(request: Any, context: Any) -> Any:
        with span(name) as own:
            try:
                return await answer(request, context)
            finally:
                _end(own, context)

    return handle


def _watching(name: str, answer: Any) -> Any:
    """A span of its beginning alone: one of each answer would say when something new had come."""

    async def handle(request: Any, context: Any) -> AsyncIterator[Any]:
        with span(name):
            pass
        async for each in answer(request, context):
            yield each

    return handle


def _end(own: Span, context: Any) -> None:
    code = context.code()
    own.note({"rpc.grpc.status_code": int(getattr(code, "value", (code or 0,))[0])})
