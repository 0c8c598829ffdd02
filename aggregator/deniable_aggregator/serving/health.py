"""Whether a service is served: the health service of gRPC, of which no caller can hold up anything.

The servicer that comes with gRPC answers those who watch while it holds the lock that every change waits for:
somebody who watches and takes no answer stops all changes, and the drain of the server with them. Here a change waits
for nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NoReturn

import grpc
from grpc_health.v1.health_pb2 import (
    HealthCheckRequest,
    HealthCheckResponse,
    HealthListRequest,
    HealthListResponse,
)
from grpc_health.v1.health_pb2_grpc import HealthServicer

__all__ = ["Health"]

_Context = grpc.aio.ServicerContext[Any, Any]


class Health(HealthServicer):  # type: ignore[misc]
    """The health of some services, by name; nothing stands for the server."""

    def __init__(self) -> None:
        self._status: dict[str, int] = {"": HealthCheckResponse.SERVING}
        self._ended = False
        self._changed = asyncio.Event()

    def set(self, name: str, status: int) -> None:
        """From now on a service is well or not, unless the server is ending."""
        if not self._ended and self._status.get(name) != status:
            self._status[name] = status
            self._changed.set()
            self._changed = asyncio.Event()

    def end(self) -> None:
        """Nothing is well any more, for good."""
        for name in self._status:
            self.set(name, HealthCheckResponse.NOT_SERVING)
        self._ended = True

    async def Check(self, request: HealthCheckRequest, context: _Context) -> HealthCheckResponse:  # noqa: N802
        """How a service is now."""
        status = self._status.get(request.service)
        if status is None:
            await _not_found(context)
        return HealthCheckResponse(status=status)

    async def List(self, request: HealthListRequest, context: _Context) -> HealthListResponse:  # noqa: N802, ARG002
        """How all of them are now."""
        return HealthListResponse(
            statuses={name: HealthCheckResponse(status=status) for name, status in self._status.items()}
        )

    async def Watch(self, request: HealthCheckRequest, context: _Context) -> AsyncIterator[HealthCheckResponse]:  # noqa: N802, ARG002
        """How a service is, again whenever that has changed."""
        told = None
        while True:
            changed = self._changed
            status = self._status.get(request.service, HealthCheckResponse.SERVICE_UNKNOWN)
            if status != told:
                told = status
                yield HealthCheckResponse(status=status)
            else:
                await changed.wait()


async def _not_found(context: _Context) -> NoReturn:
    await context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
    raise AssertionError("abort raises")
