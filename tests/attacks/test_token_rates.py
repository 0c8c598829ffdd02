"""Whoever holds a token with a rate and wants more: by many connections, calls at once, streams, nonsense."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import grpc

from deniable.v1.report_service_pb2 import StreamReportsRequest, SubmitReportsRequest
from deniable_aggregator.serving.access import Access
from support.aggregator_server import Client, Told, connected, next_answer, request, serving

BURST, WORKERS = 40, 2
CONNECTIONS = 5


def metadata(token: str) -> tuple[tuple[str, str], ...]:
    """What a call shows."""
    return (("authorization", f"Bearer {token}"),)


async def outcome(client: Client, message: bytes, token: str) -> tuple[str, float | None]:
    """What a batch comes to, and how long it is asked to wait."""
    try:
        await client.call(message, metadata=metadata(token))
    except grpc.aio.AioRpcError as error:
        told = Told.by(error)
        return f"{told.code.name} {told.reason}", told.retry_after
    return "stored", None


async def streamed(client: Client, batches: list[SubmitReportsRequest], token: str) -> list[tuple[str, int]]:
    """The same of batches of a stream."""
    calls: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = client.channel.stream_stream(
        "/deniable.v1.ReportService/StreamReports"
    )
    call = calls(metadata=metadata(token))
    await call.write(StreamReportsRequest(sequence=1, batches=batches).SerializeToString())
    answer = await next_answer(call)
    await call.done_writing()
    others = [(other.reason, other.retry_after_ms) for other in answer.others]
    return [("stored", 0)] * answer.stored + others


def test_no_number_of_connections_calls_or_streams_brings_more(tmp_path: Path) -> None:
    """In one of two workers half of the burst, however it is asked for: by calls at once over several connections, of
    which some are no batches at all, and by streams. Whoever has another token is let in meanwhile, and what is
    counted of the refusals names nobody."""
    file = tmp_path / "tokens"
    hashes = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("greedy", "modest")}
    file.write_text(f"report rate=1/h burst={BURST} {hashes['greedy']} them\nreport {hashes['modest']}\n")

    async def attack() -> None:
        async with (
            serving(tmp_path / "data", access=Access(tokens=file), workers=WORKERS) as (server, _),
            AsyncExitStack() as leaving,
        ):
            clients = [await leaving.enter_async_context(connected(server.port)) for _ in range(CONNECTIONS)]
            messages = [[b"\xff", *(request((0, 1)).SerializeToString() for _ in range(9))] for _ in clients]
            told = await asyncio.gather(
                *(
                    outcome(client, each, "greedy")
                    for client, own in zip(clients, messages, strict=True)
                    for each in own
                )
            )
            came, part = Counter(word for word, _ in told), BURST // WORKERS
            refused, nonsense = came["RESOURCE_EXHAUSTED OVER_RATE"], came["INVALID_ARGUMENT MALFORMED_BATCH"]
            assert nonsense == CONNECTIONS, "it is told so above the rate as well: its connection is marked for it"
            assert refused + came["stored"] + nonsense == len(told)
            assert part - nonsense <= came["stored"] <= part, "nonsense is counted, too"
            assert {wait for word, wait in told if "OVER_RATE" in word} == {2.0 * 3600}, "everybody is told the same"
            for client in clients:
                answers = await streamed(client, [request((0, 1)) for _ in range(5)], "greedy")
                assert answers == [("OVER_RATE", 2 * 3_600_000)] * 5
                assert await outcome(client, request((0, 1)).SerializeToString(), "modest") == ("stored", None)
            assert server.stats.refused["OVER_RATE"] == refused + 5 * len(clients)
            assert server.stats.refused["MALFORMED_BATCH"] == nonsense
            assert set(server.stats.refused) <= {"OVER_RATE", "MALFORMED_BATCH"}
            assert server.stats.accepted == came["stored"] + len(clients)

    asyncio.run(attack())


def test_a_stream_brings_no_more_than_calls(tmp_path: Path) -> None:
    """Of a message with more batches than there is room for, the first are stored; and a call after it is refused."""
    file = tmp_path / "tokens"
    file.write_text(f"report rate=1/h burst=3 {hashlib.sha256(b'greedy').hexdigest()}\n")

    async def attack() -> None:
        async with serving(tmp_path / "data", access=Access(tokens=file)) as (server, client):
            batches = [request((0, 1)) for _ in range(6)]
            assert [word for word, _ in await streamed(client, batches, "greedy")] == ["stored"] * 3 + [
                "OVER_RATE"
            ] * 3
            word, _ = await outcome(client, batches[3].SerializeToString(), "greedy")
            assert word == "RESOURCE_EXHAUSTED OVER_RATE"
            assert (server.stats.accepted, server.stats.refused) == (3, {"OVER_RATE": 4})

    asyncio.run(attack())
