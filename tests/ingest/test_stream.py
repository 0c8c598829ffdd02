"""StreamReports: the guarantees of SubmitReports, batch by batch."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import grpc
import pytest

from deniable.v1.report_service_pb2 import StreamReportsRequest, SubmitReportsRequest
from deniable_aggregator.ingest import FlushSettings
from support.aggregator_server import (
    EPOCH,
    LAYOUT,
    Told,
    connected,
    counted,
    next_answer,
    request,
    serving,
    store_of,
)
from support.waiting import NEVER, until


def message(sequence: int, *batches: SubmitReportsRequest) -> bytes:
    """Batches as a gateway forwards them."""
    return StreamReportsRequest(sequence=sequence, batches=batches).SerializeToString()


@pytest.mark.parametrize(("together", "number"), [(1, 1000), (7, 5000), (1000, 5000)])
def test_every_batch_is_answered_by_itself(tmp_path: Path, together: int, number: int) -> None:
    """Good, bad and repeated batches, in whatever messages: each has its answer, and the good are counted once.
    (Of short messages there are a thousand at the most: one costs as much as all of its batches.)"""

    async def forward() -> None:
        async with serving(tmp_path, shards=3) as (server, client):
            batches = [request((0, 3)) for _ in range(number)]
            batches[10] = request((0, 9))
            batches[20] = request((0, 3), epoch=EPOCH - 8)
            batches[30] = request((0, 3), collection_digest=LAYOUT.digest + 1)
            batches[40] = request((0, 3), batch_id=b"")
            batches[-1] = batches[50]
            answers = await client.forward(batches, together)
            told = {
                place: (answer.code, answer.reason, bool(answer.message), answer.retry_after_ms > 0)
                for place, answer in enumerate(answers)
                if answer.code
            }
            assert told == {
                10: (3, "MALFORMED_BATCH", True, False),
                20: (11, "EPOCH_TOO_OLD", True, False),
                30: (9, "UNKNOWN_COLLECTION", True, True),
                40: (3, "MALFORMED_BATCH", True, False),
            }
            duplicates = [place for place, answer in enumerate(answers) if answer.duplicate]
            assert len(duplicates) == 1
            assert duplicates[0] in {50, number - 1}
            assert await counted(server, 0) == [0, 0, 0, number - 5, 0]

    asyncio.run(forward())


def test_answers_come_while_the_stream_goes_on(tmp_path: Path) -> None:
    """A gateway that keeps its stream open gets each answer as soon as the batch is stored."""

    async def forward() -> None:
        async with serving(tmp_path) as (server, client):
            call = client.stream()
            for sequence in range(5):
                await call.write(message(sequence, request((0, 1))))
                answer = await next_answer(call)
                assert (answer.sequence, answer.stored) == (sequence, 1)
                assert await counted(server, 0) == [0, sequence + 1, 0, 0, 0]
            await call.done_writing()
            assert await call.code() is grpc.StatusCode.OK

    asyncio.run(forward())


def test_a_gateway_that_does_not_read_is_not_read(tmp_path: Path) -> None:
    """Unanswered batches of one stream are bounded: the rest stays with a gateway that takes no answers."""

    async def forward() -> None:
        small_window = (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1024))
        async with serving(tmp_path) as (server, _), connected(server.port, *small_window) as client:
            call = client.stream()

            async def write() -> None:
                for sequence in range(100_000):
                    await call.write(message(sequence, request((0, 1))))

            writing = asyncio.create_task(write())
            await until(lambda: server.stats.accepted >= 4000)
            seen = -1
            while seen != server.stats.accepted:
                seen = server.stats.accepted
                await asyncio.sleep(1.0)
            assert seen < 20_000
            assert not writing.done()
            writing.cancel()
            call.cancel()

    asyncio.run(forward())


def test_a_gateway_that_vanishes_loses_nothing_it_was_told(tmp_path: Path) -> None:
    """A stream that is cut leaves what was read stored, and the aggregator well; repeated, all is there once."""

    async def forward() -> None:
        async with serving(tmp_path) as (server, client):
            batches = [request((0, 1)) for _ in range(500)]
            call = client.stream()
            for sequence, batch in enumerate(batches[:300]):
                await call.write(message(sequence, batch))
            first = await next_answer(call)
            call.cancel()
            again = await client.forward(batches)
            assert again[first.sequence].duplicate
            assert all(answer.code == 0 for answer in again)
            assert await counted(server, 0) == [0, 500, 0, 0, 0]

    asyncio.run(forward())


def test_what_is_no_message_ends_the_stream(tmp_path: Path) -> None:
    """Bytes that are no message end the stream as malformed, after the batches before them are answered."""

    async def forward() -> None:
        async with serving(tmp_path) as (server, client):
            call = client.stream()
            await call.write(message(7, request((0, 1))))
            await call.write(b"\xff\xff")
            answer = await next_answer(call)
            assert (answer.sequence, answer.stored) == (7, 1)
            with pytest.raises(grpc.aio.AioRpcError) as error:
                await call.read()
            assert Told.by(error.value).reason == "MALFORMED_BATCH"
            assert await counted(server, 0) == [0, 1, 0, 0, 0]

    asyncio.run(forward())


@pytest.mark.parametrize("batches", [0, 1001])
def test_a_message_has_a_number_of_batches(tmp_path: Path, batches: int) -> None:
    """A message without a batch, or with more than a thousand, ends the stream, and none of it is stored."""

    async def forward() -> None:
        async with serving(tmp_path) as (server, client):
            call = client.stream()
            await call.write(message(7, *[request((0, 1))] * batches))
            with pytest.raises(grpc.aio.AioRpcError) as error:
                await call.read()
            assert Told.by(error.value).fields == ["batches"]
            assert await counted(server, 0) == []

    asyncio.run(forward())


def test_draining_ends_a_stream_without_loss(tmp_path: Path) -> None:
    """An open stream is answered for what was taken, then ended as UNAVAILABLE: what is answered is stored."""

    async def forward() -> None:
        answered: dict[int, int] = {}
        async with serving(tmp_path, flush=FlushSettings(interval=NEVER)) as (server, client):
            call = client.stream()

            async def read() -> Told:
                try:
                    while True:
                        answer = await next_answer(call)
                        answered[answer.sequence] = answer.stored
                except grpc.aio.AioRpcError as error:
                    return Told.by(error)

            reading = asyncio.create_task(read())
            await call.write(message(0, request((0, 1))))
            await until(lambda: answered)
            for sequence in range(1, 50):
                await call.write(message(sequence, request((0, 1))))
            await until(lambda: server.stats.waiting == 49)
            await server.drain()
            told = await reading
            assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
            assert told.retry_after
        assert sum(answered.values()) == 50
        async with serving(tmp_path) as (server, _):
            assert await counted(server, 0) == [0, 50, 0, 0, 0]

    asyncio.run(forward())


def test_a_store_that_dies_under_a_stream(tmp_path: Path) -> None:
    """While the store is away, forwarded batches are UNAVAILABLE; sent again, every one is counted once."""

    async def forward() -> None:
        async with serving(tmp_path) as (server, client):
            batches, store, back = [request((0, 1)) for _ in range(3000)], store_of(server), asyncio.Event()
            spawn = store._spawn

            async def spawned() -> asyncio.subprocess.Process:
                await back.wait()
                return await spawn()

            async def killed(number: int) -> None:
                if number == 200:
                    await until(lambda: server.stats.accepted >= 200)
                    assert store.pid
                    os.kill(store.pid, signal.SIGKILL)

            store._spawn = spawned  # type: ignore[method-assign]
            answers = await client.forward(batches, before=killed)
            assert [answer.code for answer in answers] == [0] * 200 + [14] * 2800
            back.set()
            missing = [batch for batch, answer in zip(batches, answers, strict=True) if answer.code]
            while missing:
                answers = await client.forward(missing)
                missing = [batch for batch, answer in zip(missing, answers, strict=True) if answer.code]
                await asyncio.sleep(0.05)
            assert await counted(server, 0) == [0, 3000, 0, 0, 0]

    asyncio.run(forward())
