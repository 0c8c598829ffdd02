"""Batches that are sent as they are, over many connections at the same time; what becomes of each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import grpc

from deniable.wire.upload import METHOD, ONCE
from support.waiting import PATIENCE

__all__ = ["submit"]

_CONNECTIONS = 12


def submit(
    endpoint: str,
    requests: Sequence[bytes],
    *,
    connections: int = _CONNECTIONS,
    secrets: grpc.ChannelCredentials | None = None,
) -> list[grpc.StatusCode]:
    """Send them over so many connections, of which all workers get some; by TLS with secrets."""

    async def run() -> list[grpc.StatusCode]:
        own = [ONCE, ("grpc.use_local_subchannel_pool", 1)]
        channels = [
            grpc.aio.secure_channel(endpoint, secrets, own) if secrets else grpc.aio.insecure_channel(endpoint, own)
            for _ in range(connections)
        ]
        calls: list[grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]] = [
            channel.unary_unary(METHOD) for channel in channels
        ]

        async def one(place: int, request: bytes) -> grpc.StatusCode:
            try:
                await calls[place % connections](request, timeout=PATIENCE, wait_for_ready=True)
            except grpc.aio.AioRpcError as error:
                return error.code()
            return grpc.StatusCode.OK

        told = await asyncio.gather(*(one(place, request) for place, request in enumerate(requests)))
        for channel in channels:
            await channel.close()
        return list(told)

    return asyncio.run(run())
