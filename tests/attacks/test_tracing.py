"""What an OpenTelemetry collector gets to know of devices: nothing. It is somebody else's, as a rule.

An attacker who has everything that is sent to a collector looks for a device that called alone: when, from where,
with which token, with what. Devices, people and strangers call with all of it, and say which trace they are part of.
"""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Any

import grpc
import pytest

from deniable.v1.report_service_pb2 import StreamReportsRequest, SubmitReportsRequest
from deniable_aggregator import Reader
from deniable_aggregator.telling.remote import RemoteError
from support.aggregators import EXACT, Aggregator, batch, running
from support.collector import Collector, collecting
from support.waiting import PATIENCE

SUBMIT, STREAM = (f"/deniable.v1.ReportService/{name}" for name in ("SubmitReports", "StreamReports"))
AGENT = "an-agent-that-nobody-else-has"


def trace() -> tuple[str, str]:
    """A trace that a caller would be part of: its number, and the header that says so."""
    number = secrets.token_hex(16)
    return number, f"00-{number}-{secrets.token_hex(8)}-01"


async def call(port: int, method: str, message: bytes, *metadata: tuple[str, str]) -> None:
    """Make a call, whatever becomes of it."""
    options = (("grpc.primary_user_agent", AGENT), ("grpc.use_local_subchannel_pool", 1))
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options) as channel:
        stream: Any = channel.stream_stream(method)
        try:
            async for _ in stream(iter([message]), metadata=metadata, timeout=PATIENCE):
                break
        except grpc.aio.AioRpcError:
            pass


def serving(room: Path, collector: Collector) -> Any:
    """An aggregator that tells a collector."""
    (room / "metrics.toml").write_text(EXACT)
    return running(room / "metrics.toml", "--data", room / "data", "--otlp", collector.endpoint)


async def folded(aggregator: Aggregator) -> None:
    """Return when what has come is folded: who reads does it first."""
    with Reader(aggregator.endpoint) as reader:
        await asyncio.to_thread(reader.counters, "level")


def test_a_device_that_calls_alone_leaves_no_span(tmp_path: Path) -> None:
    """Whether its batch is stored, stored before, refused, or no batch at all; by call or by stream."""

    async def calls() -> None:
        async with serving(tmp_path, collector) as aggregator:
            own = batch()
            other = batch(digest=1)
            stream = StreamReportsRequest(sequence=1, batches=[batch()]).SerializeToString()
            for method, message in (
                (SUBMIT, own.SerializeToString()), (SUBMIT, own.SerializeToString()),
                (SUBMIT, other.SerializeToString()), (SUBMIT, b"\xff" * 40), (STREAM, stream),
            ):  # fmt: skip
                await call(aggregator.port, method, message, ("traceparent", trace()[1]))
            await folded(aggregator)
            assert await aggregator.end() == 0

    with collecting() as collector:
        asyncio.run(calls())
    assert [each.name for each in collector.spans()] == ["ListCounters"], "the reader's question, and nothing else"
    (sent,) = collector.sendings()
    assert sent["deniable_batches_accepted"].sum.data_points[0].as_double == 2, "it was told, once, how many came"


def test_nothing_that_callers_bring_along_reaches_a_collector(tmp_path: Path) -> None:
    """No token, payload, id, address, user agent, trace or typed word, of devices, readers and strangers."""
    needles = [AGENT]
    ids: list[bytes] = []

    async def calls() -> None:
        async with serving(tmp_path, collector) as aggregator:
            for number in range(20):
                token, (known, header) = f"dnb_{secrets.token_hex(32)}", trace()
                own: SubmitReportsRequest = batch()
                said = (("authorization", f"Bearer {token}"), ("traceparent", header), ("tracestate", f"x={token}"),
                        ("baggage", f"device={token}"), ("deniable-asker", token))  # fmt: skip
                question = f"/deniable.v1.EstimateService/{'GetEstimate' if number % 2 else token}"
                await call(aggregator.port, SUBMIT, own.SerializeToString(), *said)
                await call(aggregator.port, question, b"\x0a\x44" + token.encode(), *said)
                needles.extend([token, known, own.batch_id.hex(), str(own.batch_id)[2:-1]])
                ids.extend([bytes.fromhex(known), own.batch_id])
            with Reader(aggregator.endpoint) as reader:
                for name in (needles[1], needles[5]):
                    with pytest.raises(RemoteError):
                        await asyncio.to_thread(reader.estimates, name)
                    with pytest.raises(RemoteError):
                        await asyncio.to_thread(reader.estimates, "level", collection=name)
            assert await aggregator.end() == 0

    with collecting() as collector:
        asyncio.run(calls())
    assert len(collector.named("GetEstimate")) == 14
    everything = collector.everything()
    for needle in [*needles, "127.0.0.1", "ipv4", "[::1]"]:
        assert needle.encode() not in everything.replace(collector.endpoint.encode(), b""), needle
    assert not [each for each in ids if each in everything], "a trace or an id, as bytes"
    assert all("traceparent" not in headers for headers in collector.headers)
