"""An aggregator in this process, and a bare gRPC client that sends it whatever a test wants sent."""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]

from deniable import Collection
from deniable.payload import Bitmap, Integer, Integers, Symbol
from deniable.v1.report_service_pb2 import (
    OtherBatch,
    StreamReportsRequest,
    StreamReportsResponse,
    SubmitReportsRequest,
    SubmitReportsResponse,
    WideRow,
)
from deniable.wire.upload import ONCE
from deniable_aggregator.ingest import Calendar, Layout
from deniable_aggregator.serving.server import Server, Settings
from deniable_aggregator.store import CounterKey, EmbeddedStore
from support.collection_files import head, metric
from support.waiting import PATIENCE

__all__ = [
    "COLLECTION",
    "DAY",
    "EPOCH",
    "LAYOUT",
    "NOW",
    "Client",
    "Told",
    "connected",
    "counted",
    "next_answer",
    "request",
    "rows",
    "serving",
    "store_of",
]

DAY = 86400
EPOCH = 20_000
NOW = EPOCH * DAY + 43_200.0
"""Noon of the epoch in which the tests take place."""

LAYOUT = Layout(
    name="editor",
    digest=0xFEDC_BA98_7654_3210,
    epoch_seconds=DAY,
    segments=3,
    columns=(
        ("colour", Symbol(5)),
        ("flags", Bitmap(40)),
        ("subset", Bitmap(48, weight=3)),
        ("minutes", Integer(1 << 32)),
        ("wide", Bitmap(100)),
        ("wide_subset", Bitmap(49, weight=2)),
        ("vector", Integers(3, 1000)),
        ("level", Symbol(65_536)),
        ("level", Symbol(3)),
    ),
)
"""One column of every shape, and a metric with two columns."""


COLLECTION = Collection.loads(
    head("editor", 3.0, platform=["linux", "macos", "windows"], channel=["stable", "beta"])
    + metric("dark_mode", "boolean", "The dark theme is on")
    + metric("minutes", "number", "Minutes in the foreground", range=[0, 480], step=1)
)
"""A collection as it is shipped."""


def rows(*reports: tuple[int, int]) -> bytes:
    """Rows of columns and payloads."""
    return struct.pack(f"<{len(reports)}Q", *(column << 48 | payload for column, payload in reports))


def request(*reports: tuple[int, int], wide: Iterable[tuple[int, bytes]] = (), **fields: Any) -> SubmitReportsRequest:
    """A batch that is good unless the fields say otherwise."""
    good = {
        "batch_id": os.urandom(16),
        "collection_digest": LAYOUT.digest,
        "epoch": EPOCH,
        "segment": 1,
        "rows": rows(*reports),
        "wide_rows": [WideRow(column=column, payload=payload) for column, payload in wide],
    }
    return SubmitReportsRequest(**{**good, **fields})


@dataclass(frozen=True)
class Told:
    """What a device is told about a batch that was not stored."""

    code: grpc.StatusCode
    reason: str
    domain: str
    metadata: dict[str, str]
    fields: list[str]
    retry_after: float | None

    @classmethod
    def by(cls, error: grpc.aio.AioRpcError) -> Told:
        """What an error tells, with exactly one of each detail."""
        trailer = dict(error.trailing_metadata() or ())["grpc-status-details-bin"]
        status = Status.FromString(trailer)
        assert (status.code, status.message) == (error.code().value[0], error.details())
        details: dict[str, Any] = {}
        for packed in status.details:
            for kind in (ErrorInfo, BadRequest, RetryInfo):
                detail = kind()
                if packed.Unpack(detail):
                    assert kind.__name__ not in details
                    details[kind.__name__] = detail
        assert len(details) == len(status.details)
        info = details["ErrorInfo"]
        bad = details.get("BadRequest")
        retry = details.get("RetryInfo")
        return cls(
            error.code(),
            info.reason,
            info.domain,
            dict(info.metadata),
            [violation.field for violation in bad.field_violations] if bad else [],
            retry.retry_delay.ToTimedelta().total_seconds() if retry else None,
        )


class Client:
    """Sends batches as they are."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self.call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            "/deniable.v1.ReportService/SubmitReports"
        )
        self._stream: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(
            "/deniable.v1.ReportService/StreamReports"
        )

    async def send(self, message: bytes, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - gRPC's own
        """The answer to any bytes."""
        answer: bytes = await self.call(message, timeout=PATIENCE if timeout is None else timeout)
        return answer

    async def submit(self, batch: SubmitReportsRequest, timeout: float | None = None) -> bool:  # noqa: ASYNC109
        """Whether a batch that was stored had been stored before."""
        return SubmitReportsResponse.FromString(await self.send(batch.SerializeToString(), timeout)).duplicate

    async def refused(self, batch: SubmitReportsRequest | bytes) -> Told:
        """What is said about a batch that is not stored."""
        message = batch if isinstance(batch, bytes) else batch.SerializeToString()
        try:
            await self.send(message)
        except grpc.aio.AioRpcError as error:
            return Told.by(error)
        raise AssertionError("the batch was stored")

    def stream(self) -> grpc.aio.StreamStreamCall[bytes, bytes]:
        """A call of StreamReports."""
        return self._stream()

    async def forward(
        self,
        batches: Sequence[SubmitReportsRequest],
        together: int = 1,
        before: Callable[[int], Awaitable[None]] | None = None,
    ) -> list[OtherBatch]:
        """What becomes of batches that are forwarded, so many in a message; nothing stands for stored now. `before`
        is waited for before a message of some number is sent."""
        call = self.stream()
        messages = [batches[start : start + together] for start in range(0, len(batches), together)]

        async def write() -> None:
            for sequence, own in enumerate(messages):
                if before:
                    await before(sequence)
                await call.write(StreamReportsRequest(sequence=sequence, batches=own).SerializeToString())
            await call.done_writing()

        writing = asyncio.create_task(write())
        told: dict[int, list[OtherBatch]] = {}
        async for message in call:
            answer = StreamReportsResponse.FromString(message)
            assert answer.sequence not in told
            own = told[answer.sequence] = [OtherBatch() for _ in messages[answer.sequence]]
            assert answer.stored + len(answer.others) == len(own)
            for other in answer.others:
                own[other.place] = other
        await writing
        return [each for sequence in range(len(messages)) for each in told[sequence]]


async def next_answer(call: grpc.aio.StreamStreamCall[bytes, bytes]) -> StreamReportsResponse:
    """The next answer on a stream."""
    answer = await asyncio.wait_for(_read(call), PATIENCE)
    assert isinstance(answer, bytes), "the stream has ended"
    return StreamReportsResponse.FromString(answer)


async def _read(call: grpc.aio.StreamStreamCall[bytes, bytes]) -> object:
    return await call.read()


@asynccontextmanager
async def connected(port: int, *options: tuple[str, int]) -> AsyncIterator[Client]:
    """A client of the aggregator at a port, on a connection of its own."""
    always = [ONCE, ("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=[*always, *options]) as channel:
        yield Client(channel)


@asynccontextmanager
async def serving(data_dir: Path, *layouts: Layout, **settings: Any) -> AsyncIterator[tuple[Server, Client]]:
    """An aggregator on an embedded store at noon of the tests' epoch, and a client of it; drained afterwards."""
    defaults: dict[str, Any] = {"listen": "127.0.0.1:0", "calendar": Calendar(clock=lambda: NOW), "grace": 5.0}
    store: dict[str, Any] = {} if "redis_url" in settings else {"data_dir": data_dir}
    server = Server(Settings(**{**defaults, **store, **settings}), layouts or [LAYOUT])
    await server.start()
    try:
        async with connected(server.port) as client:
            yield server, client
    finally:
        await server.drain()


def store_of(server: Server) -> EmbeddedStore:
    """The embedded store of an aggregator."""
    assert server._embedded
    return server._embedded


async def counted(server: Server, column: int, epoch: int = EPOCH, segment: int = 1) -> list[int]:
    """The counters of a column; none where nothing has been counted."""
    (values,) = await server.store.read([CounterKey(LAYOUT.digest, column, epoch, segment)])
    return [] if values is None else [int(value) for value in values]
