"""Calls with tokens: nothing of one that has ended remains, however it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc
import pytest

from attacks.test_memory import ROUND, kept, no_collector
from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.ingest import Calendar
from deniable_aggregator.serving import conduct
from deniable_aggregator.serving.access import Access
from deniable_aggregator.serving.answering import answering
from deniable_aggregator.serving.server import Server, Settings
from support.aggregator_server import COLLECTION, LAYOUT, NOW, Client, connected, request
from support.waiting import until
from web.test_entry import lines

STREAM, WATCH = "/deniable.v1.ReportService/StreamReports", "/deniable.v1.EstimateService/WatchEstimates"
SUBMIT = "/deniable.v1.ReportService/SubmitReports"


async def _first(client: Client, method: str, message: bytes, token: str) -> grpc.aio.StreamStreamCall[bytes, bytes]:
    """A call that has been answered."""
    calls: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = client.channel.stream_stream(method)
    call = calls(metadata=(("authorization", f"Bearer {token}"),))
    await call.write(message)
    assert isinstance(await call.read(), bytes)
    return call


async def _ended(client: Client, method: str, message: bytes, token: str) -> None:
    """A call that is refused."""
    with pytest.raises(grpc.aio.AioRpcError):
        await _first(client, method, message, token)


async def _left(client: Client, method: str, message: bytes, token: str) -> None:
    """A call whose caller leaves after the first answer."""
    (await _first(client, method, message, token)).cancel()


WATCHED = pb.WatchEstimatesRequest(collection=COLLECTION.name).SerializeToString()
CALLS: dict[str, tuple[Callable[[Client, str, bytes, str], Awaitable[None]], str, bytes, str]] = {
    "no token": (_ended, SUBMIT, request((0, 1)).SerializeToString(), ""),
    "another scope": (_ended, SUBMIT, request((0, 1)).SerializeToString(), "reads all"),
    "no message of a stream": (_ended, STREAM, b"\xff\xff", "reports"),
    "a watch of another collection": (_ended, WATCH, WATCHED.replace(b"editor", b"nobody"), "reads editor"),
    "no watch": (_ended, WATCH, b"\xff\xff", "reads all"),
    "a watch that is left": (_left, WATCH, WATCHED, "reads editor"),
}


def test_nothing_of_a_call_with_a_token_outlives_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a task beside it asks whether its token is good still."""
    monkeypatch.setattr(conduct, "_MANY", len(CALLS) * (ROUND + 1))
    tokens = tmp_path / "tokens"
    tokens.write_text(lines())

    async def call() -> None:
        settings = Settings(
            listen="127.0.0.1:0",
            data_dir=tmp_path / "data",
            calendar=Calendar(clock=lambda: NOW),
            access=Access(tokens=tokens),
        )
        server = Server(settings, [LAYOUT], answering(Catalog([COLLECTION])))
        await server.start()
        left = {}
        try:
            for name, (send, method, message, token) in CALLS.items():
                async with connected(server.port) as client:
                    await send(client, method, message, token)
                    with no_collector():
                        before = left[name] = kept()
                        for _ in range(ROUND):
                            await send(client, method, message, token)
                        await until(lambda before=before: kept() < before + ROUND // 2)  # type: ignore[misc]
                        left.pop(name)
        finally:
            await server.drain()
            assert not left, "of these something is left"

    asyncio.run(call())
