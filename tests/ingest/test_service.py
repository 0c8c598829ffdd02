"""What devices are told: every row of the design's table, over real gRPC, on a real store."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path
from typing import Any

import grpc
import pytest

from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator.ingest import Calendar, FlushSettings
from deniable_aggregator.ingest.flush import Flush
from support.aggregator_proxy import proxied
from support.aggregator_server import (
    DAY,
    EPOCH,
    LAYOUT,
    NOW,
    Told,
    connected,
    counted,
    request,
    rows,
    serving,
    store_of,
)
from support.waiting import NEVER, until

MALFORMED = grpc.StatusCode.INVALID_ARGUMENT
GOOD_WIDE = b"\x03" + bytes(6)


def test_a_batch_is_counted_once(tmp_path: Path) -> None:
    """A batch is stored and acknowledged; repeated, it is acknowledged as a duplicate and not counted again."""

    async def submit() -> None:
        async with serving(tmp_path) as (server, client):
            batch = request((0, 3), (2, 0b111), (3, 60), wide=[(6, struct.pack("<3i", -5, 0, 5))])
            assert await client.submit(batch) is False
            for _ in range(3):
                assert await client.submit(batch) is True
            assert await counted(server, 0) == [0, 0, 0, 1, 0]
            assert await counted(server, 2) == [1, 1, 1, 1] + [0] * 45
            assert await counted(server, 3) == [1, 60, 3600, 0]
            assert await counted(server, 6) == [1, -5, 0, 5, 25, 0, 25, 0, 0, 0]
            assert await counted(server, 1) == []
            assert (server.stats.accepted, server.stats.duplicate, server.stats.reports) == (1, 3, 4)

    asyncio.run(submit())


REFUSED: list[tuple[str, Any, grpc.StatusCode, str, list[str]]] = [
    ("id too short", request((0, 1), batch_id=bytes(15)), MALFORMED, "MALFORMED_BATCH", ["batch_id"]),
    ("id too long", request((0, 1), batch_id=bytes(17)), MALFORMED, "MALFORMED_BATCH", ["batch_id"]),
    ("no id", request((0, 1), batch_id=b""), MALFORMED, "MALFORMED_BATCH", ["batch_id"]),
    ("no report", request(), MALFORMED, "MALFORMED_BATCH", ["rows"]),
    ("half a row", request(rows=rows((0, 1))[:-1]), MALFORMED, "MALFORMED_BATCH", ["rows"]),
    ("segment", request((0, 1), segment=3), MALFORMED, "MALFORMED_BATCH", ["segment"]),
    ("symbol", request((3, 1), (0, 5)), MALFORMED, "MALFORMED_BATCH", ["rows[1]"]),
    ("integer", request((3, 1 << 32)), MALFORMED, "MALFORMED_BATCH", ["rows[0]"]),
    ("bitmap", request((1, 1 << 40)), MALFORMED, "MALFORMED_BATCH", ["rows[0]"]),
    ("weight", request((2, 0b1111)), MALFORMED, "MALFORMED_BATCH", ["rows[0]"]),
    ("column", request((0, 1), (9, 0), (65_535, 0)), MALFORMED, "MALFORMED_BATCH", ["rows[1]", "rows[2]"]),
    ("metric twice", request((0, 1), (3, 1), (0, 1)), MALFORMED, "MALFORMED_BATCH", ["rows[2]"]),
    ("metric twice, two columns", request((7, 1), (8, 1)), MALFORMED, "MALFORMED_BATCH", ["rows[1]"]),
    ("more reports than metrics", request(*[(0, 1)] * 9), MALFORMED, "MALFORMED_BATCH", ["rows"]),
    ("narrow row for a wide column", request((4, 1)), MALFORMED, "MALFORMED_BATCH", ["rows[0]"]),
    ("wide row for a narrow column", request(wide=[(0, b"\1")]), MALFORMED, "MALFORMED_BATCH", ["wide_rows[0]"]),
    ("wide column", request(wide=[(9, b"\1")]), MALFORMED, "MALFORMED_BATCH", ["wide_rows[0]"]),
    ("wide length", request(wide=[(5, bytes(8))]), MALFORMED, "MALFORMED_BATCH", ["wide_rows[0]"]),
    ("wide weight", request(wide=[(5, bytes(7))]), MALFORMED, "MALFORMED_BATCH", ["wide_rows[0]"]),
    ("wide spare bits", request(wide=[(5, bytes(6) + b"\6")]), MALFORMED, "MALFORMED_BATCH", ["wide_rows[0]"]),
    ("wide twice", request(wide=[(5, GOOD_WIDE)] * 2), MALFORMED, "MALFORMED_BATCH", ["wide_rows[1]"]),
    (
        "vector",
        request((0, 1), wide=[(6, struct.pack("<3i", 0, 1001, 0))]),
        MALFORMED,
        "MALFORMED_BATCH",
        ["wide_rows[0]"],
    ),
    ("no message", b"\xff\xff\xff", MALFORMED, "MALFORMED_BATCH", ["request"]),
    ("late", request((0, 1), epoch=EPOCH - 8), grpc.StatusCode.OUT_OF_RANGE, "EPOCH_TOO_OLD", ["epoch"]),
    ("early", request((0, 1), epoch=EPOCH + 1), grpc.StatusCode.OUT_OF_RANGE, "EPOCH_TOO_NEW", ["epoch"]),
    (
        "foreign",
        request((0, 1), collection_digest=LAYOUT.digest + 1),
        grpc.StatusCode.FAILED_PRECONDITION,
        "UNKNOWN_COLLECTION",
        [],
    ),
]


def test_every_bad_batch_has_its_error(tmp_path: Path) -> None:
    """Each bad batch gets its code, reason and fields; the good one after it is counted, and nothing else."""

    async def submit() -> None:
        async with serving(tmp_path) as (server, client):
            for number, (what, batch, code, reason, fields) in enumerate(REFUSED, 1):
                told = await client.refused(batch)
                assert (told.code, told.reason, told.domain) == (code, reason, "deniable"), what
                assert told.fields == fields, what
                assert (told.retry_after is not None) == (reason == "UNKNOWN_COLLECTION"), what
                assert await client.submit(request((0, 2))) is False
                assert await counted(server, 0) == [0, 0, number, 0, 0], what
            for column in range(1, len(LAYOUT.columns)):
                assert await counted(server, column) == []
            assert server.stats.refused.total() == len(REFUSED)

    asyncio.run(submit())


def held(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Flushes are stored once this event is set: until then, batches gather behind the first one."""
    opened, store = asyncio.Event(), Flush.store

    async def wait(flush: Flush, *where: Any) -> None:
        await opened.wait()
        await store(flush, *where)

    monkeypatch.setattr(Flush, "store", wait)
    return opened


def test_bad_and_good_batches_arrive_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one flush, each malformed batch is refused by itself, and all the good ones beside them are counted."""
    malformed = [batch for _, batch, code, *_ in REFUSED if code is MALFORMED]
    good = [request((0, 2), (3, number)) for number in range(30)]  # as many calls as a connection may have

    async def submit() -> None:
        opened = held(monkeypatch)
        async with serving(tmp_path) as (server, client), connected(server.port) as other:
            first = asyncio.ensure_future(client.submit(request((0, 0))))
            await until(lambda: server.stats.waiting == 1)
            others = asyncio.gather(*map(client.refused, malformed)), asyncio.gather(*map(other.submit, good))
            await until(lambda: server.stats.waiting + server.stats.refused.total() == 1 + len(malformed) + len(good))
            opened.set()
            told, stored = await others[0], await others[1]
            assert [await first, *stored] == [False] * 31
            assert {one.reason for one in told} == {"MALFORMED_BATCH"}
            assert server.stats.flushes == 2
            assert await counted(server, 0) == [1, 0, 30, 0, 0]
            assert await counted(server, 3) == [30, sum(range(30)), sum(number**2 for number in range(30)), 0]

    asyncio.run(submit())


def test_the_accepted_epochs_are_told(tmp_path: Path) -> None:
    """A device whose epoch is refused learns which are accepted; the first and the last of them are."""

    async def submit() -> None:
        async with serving(tmp_path) as (server, client):
            for epoch in (0, EPOCH - 8, EPOCH + 1, (1 << 32) - 1):
                told = await client.refused(request((0, 1), epoch=epoch))
                assert told.metadata == {"first_epoch": str(EPOCH - 7), "last_epoch": str(EPOCH)}
            for epoch in (EPOCH - 7, EPOCH):
                assert await client.submit(request((0, 1), epoch=epoch)) is False
                assert await counted(server, 0, epoch=epoch) == [0, 1, 0, 0, 0]

    asyncio.run(submit())


def test_late_is_refused_even_when_its_id_is_forgotten(tmp_path: Path) -> None:
    """Once an epoch is no longer accepted, a repeated batch of it is refused, known or not; never counted."""
    now = [NOW]

    async def submit() -> None:
        async with serving(tmp_path, calendar=Calendar(clock=lambda: now[0])) as (server, client):
            batch = request((0, 1))
            assert await client.submit(batch) is False
            now[0] = (EPOCH + 8) * DAY - 1.0
            assert await client.submit(batch) is True
            now[0] += 1
            assert (await client.refused(batch)).reason == "EPOCH_TOO_OLD"
            assert await counted(server, 0) == [0, 1, 0, 0, 0]

    asyncio.run(submit())


def test_duplicates_in_one_flush(tmp_path: Path) -> None:
    """Copies of a batch that arrive at once are counted once: one is new, the others are duplicates."""

    async def submit() -> None:
        async with serving(tmp_path, flush=FlushSettings(interval=0.1)) as (server, client):
            await client.submit(request((3, 7)))
            batches = [request((0, number % 5)) for number in range(20)]
            answers = await asyncio.gather(*(client.submit(batch) for batch in batches for _ in range(5)))
            assert answers.count(False) == 20
            assert await counted(server, 0) == [4] * 5
            assert (server.stats.accepted, server.stats.duplicate) == (21, 80)

    asyncio.run(submit())


def test_a_copy_of_a_malformed_batch_stands_alone(tmp_path: Path) -> None:
    """A good batch with the id of a malformed one beside it is counted: the malformed one left no trace."""

    async def submit() -> None:
        async with serving(tmp_path, flush=FlushSettings(interval=0.1)) as (server, client):
            await client.submit(request((3, 7)))
            bad = request((0, 77))
            good = request((0, 1), batch_id=bad.batch_id)
            told, duplicate = await asyncio.gather(client.refused(bad), client.submit(good))
            assert told.reason == "MALFORMED_BATCH"
            assert duplicate is False
            assert await counted(server, 0) == [0, 1, 0, 0, 0]

    asyncio.run(submit())


def test_a_lost_reply_of_the_store(tmp_path: Path) -> None:
    """A flush whose reply is lost is UNAVAILABLE with RetryInfo; repeated, its batches are duplicates, once.

    It begins when all of them have come, however slowly: a second one could not be stored, and would be new.
    """

    async def submit() -> None:
        full = FlushSettings(interval=NEVER, most_batches=20)
        async with (
            serving(tmp_path / "store") as (behind, _),
            proxied(store_of(behind).url) as proxy,
            serving(tmp_path, redis_url=proxy.url, flush=full, folds=False) as (server, client),
        ):
            await client.submit(request((3, 7)))
            batches = [request((0, number % 5)) for number in range(20)]
            proxy.drop = 1
            for told in await asyncio.gather(*map(client.refused, batches)):
                assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")
                assert told.retry_after
            assert proxy.dropped == 1
            assert await asyncio.gather(*map(client.submit, batches)) == [True] * 20
            assert await counted(behind, 0) == [4] * 5
            assert server.stats.store_errors == {"StoreUnavailable": 1}

    asyncio.run(submit())


def test_two_aggregators_one_store(tmp_path: Path) -> None:
    """The same batches sent to two aggregators at once are counted once, and each is new exactly once."""

    async def submit() -> None:
        async with serving(tmp_path) as (first, one):
            url = store_of(first).url
            async with serving(tmp_path, redis_url=url) as (second, other), connected(second.port) as third:
                batches = [request((0, number % 5)) for number in range(200)]
                sent = [client.submit(batch) for batch in batches for client in (one, other, third)]
                answers = await asyncio.gather(*sent)
                assert answers.count(False) == 200
                assert await counted(first, 0) == [40] * 5
                assert first.stats.accepted + second.stats.accepted == 200

    asyncio.run(submit())


@pytest.mark.parametrize(
    ("room", "bound"), [(10, {"most_waiting": 10}), (7, {"most_waiting_bytes": 16 * 7 + 8})], ids=["batches", "bytes"]
)
def test_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, bound: dict[str, int]) -> None:
    """Beyond the batches or bytes that may wait, a batch is RESOURCE_EXHAUSTED with RetryInfo; later it is taken."""

    async def submit() -> None:
        opened = held(monkeypatch)
        async with serving(tmp_path, flush=FlushSettings(**bound)) as (server, client):
            batches = [request((0, 1), (1, 1)) for _ in range(room + 5)]
            sent = [asyncio.ensure_future(client.send(batch.SerializeToString())) for batch in batches]
            await until(lambda: server.stats.refused.total() == 5 and server.stats.waiting == room)
            opened.set()
            answers = await asyncio.gather(*sent, return_exceptions=True)
            refused = [answer for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
            assert {(Told.by(error).code, Told.by(error).reason) for error in refused} == {
                (grpc.StatusCode.RESOURCE_EXHAUSTED, "BUSY")
            }
            assert all(Told.by(error).retry_after for error in refused)
            assert server.stats.refused == {"BUSY": 5}
            again = [each for each, answer in zip(batches, answers, strict=True) if answer in refused]
            assert await asyncio.gather(*map(client.submit, again)) == [False] * 5
            assert server.stats.waiting == 0
            assert await counted(server, 0) == [0, room + 5, 0, 0, 0]

    asyncio.run(submit())


def test_a_cancelled_call_harms_nobody(tmp_path: Path) -> None:
    """Calls that are cancelled or time out while their flush waits leave the others of it, and the count, alone."""

    async def submit() -> None:
        async with serving(tmp_path, flush=FlushSettings(interval=0.4)) as (server, client):
            await client.submit(request((3, 7)))
            lost = [request((0, 0)) for _ in range(20)]
            kept = [request((0, 1)) for _ in range(20)]
            calls = [
                client.call(batch.SerializeToString(), timeout=0.1 if number % 2 else None)
                for number, batch in enumerate(lost)
            ]
            waiting = asyncio.gather(*map(client.submit, kept))
            await until(lambda: all(call.done() for call in calls[1::2]), "calls time out")
            for call in calls[::2]:
                call.cancel()
            assert await waiting == [False] * 20
            await asyncio.gather(*map(client.submit, lost))
            assert await counted(server, 0) == [20, 20, 0, 0, 0]

    asyncio.run(submit())


def test_a_message_too_large_is_refused(tmp_path: Path) -> None:
    """A message beyond a megabyte is refused by gRPC, and the connection lives on."""

    async def submit() -> None:
        async with serving(tmp_path) as (_, client):
            with pytest.raises(grpc.aio.AioRpcError) as error:
                await client.submit(request(rows=bytes(1 << 20)))
            assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert await client.submit(request((0, 1))) is False

    asyncio.run(submit())


def test_fields_of_the_future_are_ignored(tmp_path: Path) -> None:
    """A batch with a field that this version does not know is taken."""

    async def submit() -> None:
        async with serving(tmp_path) as (_, client):
            newer = request((0, 1)).SerializeToString() + b"\xfa\x01\x03new"
            assert SubmitReportsRequest.FromString(newer).rows == rows((0, 1))
            assert await client.send(newer) == b""

    asyncio.run(submit())
