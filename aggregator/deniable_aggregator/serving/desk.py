"""The desk: the process that answers questions, so that no worker has to, and the way to it.

words:
  desk  a process beside the workers with an analyst and a server of its own, which workers reach by a socket of this
        machine. It gives way to whoever else has something to do: of a busy processor it has a seventieth of a
        worker's share
  pass  a worker takes questions at the port that devices use, and passes them to the desk and answers back, as bytes

A question costs a worker what a device's call does. At the desk all readers share what is known, and one that ends is
started again as a worker is.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import grpc
from google.protobuf.message import DecodeError, Message

from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.caller import CALLER, READ, Reader, named
from deniable_aggregator.ingest import Layout
from deniable_aggregator.ingest.ending import refuse
from deniable_aggregator.ingest.refusal import NOT_A_REQUEST
from deniable_aggregator.serving.asked import Asked
from deniable_aggregator.serving.server import AddService, Settings
from deniable_aggregator.store import Store
from deniable_aggregator.tracing import begin, end

__all__ = ["ASKER", "Desk", "asker_of", "passing"]

ASKER, COLLECTIONS = "deniable-asker", "deniable-collections"
"""The metadata by which a worker says whose question it passes, and about which collections that may be; without
the second, about all."""
_SERVICE = pb.DESCRIPTOR.services_by_name["EstimateService"]
_NICE = 19
_MOST_PASSED = 256
"""Questions that a worker has at the desk at once, watches included."""
_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_Bytes = Callable[[bytes, Any], AsyncIterator[bytes]]


class Desk:
    """Answers at a socket."""

    def __init__(self, settings: Settings, services: Sequence[AddService], collector: str = "") -> None:
        assert settings.desk
        assert settings.redis_url
        self._where = settings.desk
        self._services = services
        self._collector = collector
        self._store = Store(settings.redis_url, shards=settings.shards, durability=settings.durability)
        self._server = grpc.aio.server(interceptors=(*([Asked()] if collector else []), _Reading()))

    async def start(self) -> None:
        """Reach the store, then listen; a StoreError or OSError where one of them fails."""
        with contextlib.suppress(OSError):  # a sandbox may forbid it
            os.nice(_NICE)
        if self._collector:
            begin(self._collector, "desk")
        await self._store.open()
        for add in self._services:
            add(self._server, self._store)
        self._where.unlink(missing_ok=True)
        self._server.add_insecure_port(f"unix:{self._where}")
        await self._server.start()

    def reload(self, layouts: Iterable[Layout]) -> None:
        """Nothing: the catalog that questions are about has been replaced."""

    async def drain(self, grace: float | None = None) -> None:  # noqa: ARG002 - as a worker has it
        """End; questions can be asked again."""
        await self._server.stop(0)
        await self._store.close()
        await end()


class _Reading(grpc.aio.ServerInterceptor):
    """Knows what may be read by whose question is passed."""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler | None:
        """Go on, with the caller that the worker knows."""
        said = dict(handler_call_details.invocation_metadata or ()).get(COLLECTIONS)
        if said is not None:
            CALLER.set(Reader(frozenset(str(said).split(","))))
        return await continuation(handler_call_details)


def passing(desk: Path) -> AddService:
    """Has a server pass questions to a desk; the listeners of a process share the way."""
    way: list[_Way] = []

    def add(server: grpc.aio.Server, store: Store) -> str:  # noqa: ARG001 - that of the desk is asked
        if not way:
            way.append(_Way(desk))
        handlers: dict[str, Any] = {
            method.name: grpc.unary_stream_rpc_method_handler(
                way[0].to(f"/{_SERVICE.full_name}/{method.name}", getattr(pb, method.input_type.name))
            )
            for method in _SERVICE.methods
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE.full_name, handlers),))
        return str(_SERVICE.full_name)

    return add


def asker_of(context: grpc.aio.ServicerContext[Any, Any]) -> str:
    """Where a question comes from: an address without its port. A worker that passes one says for whom."""
    peer = str(context.peer())
    said = dict(context.invocation_metadata() or ()).get(ASKER)
    return str(said) if said and peer.startswith("unix:") else peer.rpartition(":")[0]


class _Way:
    """From a worker to the desk."""

    def __init__(self, desk: Path) -> None:
        self._channel = grpc.aio.insecure_channel(f"unix:{desk}", _OPTIONS)
        self._passed = 0

    def to(self, method: str, kind: type[Message]) -> _Bytes:
        """What answers a method. On the wire every answer is a stream: one message, or several."""
        call_of: Any = self._channel.unary_stream(method)

        async def handle(request: bytes, context: Any) -> AsyncIterator[bytes]:
            try:
                kind.FromString(request)
            except DecodeError:  # gRPC would log it at length at the desk, as often as somebody likes
                await refuse(context, NOT_A_REQUEST)
            if self._passed >= _MOST_PASSED:
                code = grpc.StatusCode.RESOURCE_EXHAUSTED
                await context.abort(code, f"{self._passed} questions wait already; ask again later")
            self._passed += 1
            call = call_of(request, timeout=context.time_remaining(), metadata=_passed(context))
            try:
                async for answer in call:
                    yield answer
            except grpc.aio.AioRpcError as error:
                await context.abort(error.code(), error.details() or "")
            finally:
                self._passed -= 1
                call.cancel()

        return handle


def _passed(context: grpc.aio.ServicerContext[Any, Any]) -> tuple[tuple[str, str], ...]:
    """What the desk has to know of whose question it is."""
    names = named(READ)
    limits = () if names is None else ((COLLECTIONS, ",".join(sorted(names))),)
    return ((ASKER, asker_of(context)), *limits)
