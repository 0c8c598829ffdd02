"""Memory is bounded whatever arrives, and what can not be stored now is asked for later."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import grpc
import pytest

from deniable.v1.report_service_pb2 import StreamReportsResponse, SubmitReportsRequest
from deniable_aggregator.store import CounterKey, Store
from support.aggregator_server import DAY, Client, connected, request
from support.aggregators import DIGEST, EXACT, Aggregator, connections, running
from support.servers import Running, server
from support.waiting import until

DEEP = [pytest.mark.deep, pytest.mark.timeout(7200)]
MEGABYTE = 1 << 20


def memory(pid: int) -> int:
    """The bytes that a process has in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def opened(pid: int) -> int:
    """How many files a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def today() -> int:
    """The epoch that it is now."""
    return int(time.time() // DAY)


def batch() -> SubmitReportsRequest:
    """A batch."""
    return request((0, 1), epoch=today(), collection_digest=DIGEST)


class Batches:
    """Messages of a gateway, made quickly: batches that differ in nothing but their ids."""

    def __init__(self, together: int) -> None:
        self._together = together
        text = batch().SerializeToString()
        assert text[:2] == b"\x0a\x10"
        self._head = b"\x12" + bytes([len(text)]) + text[:2]
        self._tail = text[18:]

    def message(self) -> bytes:
        """A message with new batches."""
        ids = os.urandom(16 * self._together)
        head, tail = self._head, self._tail
        return b"".join([head + ids[at : at + 16] + tail for at in range(0, len(ids), 16)])


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A collection's file."""
    file = tmp_path / "metrics.toml"
    file.write_text(EXACT)
    return file


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Running]:
    """A store of one's own, which a test may stop and fill."""
    with server(tmp_path / "store") as at:
        yield at


@contextlib.asynccontextmanager
async def one_worker(collection: Path, store: Running) -> AsyncIterator[tuple[Aggregator, int]]:
    """An aggregator on a store, and its worker; what a forked one shares would come to light as memory of its own."""
    async with running(collection, "--redis", store.url, anew=True) as aggregator:
        (worker,) = aggregator.workers()
        yield aggregator, worker


async def counted(store: Running) -> int:
    """How many batches have been counted."""
    reading = Store(store.url)
    (counters,) = await reading.read([CounterKey(DIGEST, 0, today(), 1)])
    await reading.close()
    return 0 if counters is None else int(counters.sum())


async def pour(client: Client, messages: int, batches: Batches) -> list[StreamReportsResponse]:
    """The answers to messages that are sent as fast as they are taken."""
    call = client.stream()

    async def write() -> None:
        for _ in range(messages):
            await call.write(batches.message())
        await call.done_writing()

    writing = asyncio.create_task(write())
    answers = [StreamReportsResponse.FromString(message) async for message in call]
    await writing
    return answers


def test_a_store_that_hangs_fills_no_memory(collection: Path, store: Running) -> None:
    """With a store that does not answer, batches wait up to a limit, all others are refused with a time to wait."""
    streams, messages, together = 12, 12, 500

    async def flood() -> None:
        async with (
            one_worker(collection, store) as (aggregator, worker),
            connections(aggregator.port, streams) as clients,
        ):
            await pour(clients[0], 20, Batches(together))
            before, already = memory(worker), await counted(store)
            os.kill(store.pid, signal.SIGSTOP)
            pouring = [asyncio.create_task(pour(client, messages, Batches(together))) for client in clients]
            while not all(task.done() for task in pouring):
                assert memory(worker) < before + 150 * MEGABYTE
                await asyncio.sleep(0.1)
            answers = [answer for task in pouring for answer in await task]
            others = [other for answer in answers for other in answer.others]
            assert {other.reason for other in others} == {"BUSY", "STORE_UNAVAILABLE"}
            assert {other.code for other in others} == {8, 14}
            assert all(other.retry_after_ms for other in others)
            acknowledged = already + sum(answer.stored for answer in answers)
            assert len(answers) == streams * messages
            os.kill(store.pid, signal.SIGCONT)
            await pour(clients[0], 1, Batches(together))
            # What was on its way when the store stopped may have been counted, and was not acknowledged.
            assert acknowledged + together <= await counted(store) <= acknowledged + together + 10_000

    asyncio.run(flood())


def test_a_store_that_is_full_takes_batches_again_when_there_is_room(collection: Path, store: Running) -> None:
    """A full store is UNAVAILABLE with a time to wait; the same batch is counted once when there is room."""

    async def fill() -> None:
        async with one_worker(collection, store) as (aggregator, _), connected(aggregator.port) as client:
            one = batch()
            assert await client.submit(batch()) is False
            store.ask("CONFIG", "SET", "maxmemory", 1)
            told = await client.refused(one)
            assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")
            assert told.retry_after
            store.ask("CONFIG", "SET", "maxmemory", 0)
            assert await client.submit(one) is False
            assert await counted(store) == 2

    asyncio.run(fill())


def test_a_message_has_a_size(collection: Path, store: Running) -> None:
    """A message of more than a megabyte is not taken, and the aggregator goes on."""

    async def send() -> None:
        async with one_worker(collection, store) as (aggregator, _), connected(aggregator.port) as client:
            with pytest.raises(grpc.aio.AioRpcError) as error:
                await client.send(bytes(MEGABYTE + 1))
            assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert await client.submit(batch()) is False

    asyncio.run(send())


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")


def headers(stream: int) -> bytes:
    """The beginning of a call, in HTTP/2 without compression."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": "/deniable.v1.ReportService/SubmitReports",
        ":authority": "x",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    block = b"".join(b"\x00" + bytes([len(k)]) + k.encode() + bytes([len(v)]) + v.encode() for k, v in fields.items())
    return len(block).to_bytes(3, "big") + b"\x01\x04" + stream.to_bytes(4, "big") + block


def slow_call() -> bytes:
    """A call that announces a message that an aggregator would take, 100 kB long, and sends 10 kB of it."""
    data = b"\x00" + (100_000).to_bytes(4, "big") + bytes(10_000)
    return PREFACE + headers(1) + len(data).to_bytes(3, "big") + b"\x00\x00" + (1).to_bytes(4, "big") + data


@pytest.mark.parametrize(("sent", "kilobytes"), [(PREFACE, 100), (slow_call(), 200)], ids=["idle", "slow"])
def test_connections_that_do_nothing_cost_little(
    collection: Path, store: Running, sent: bytes, kilobytes: int
) -> None:
    """Hundreds of connections that are silent, or that never finish their call, cost some kilobytes each."""
    number = 400

    async def connect() -> None:
        async with one_worker(collection, store) as (aggregator, worker), connected(aggregator.port) as client:
            for _ in range(50):
                await client.submit(batch())
            before, files = memory(worker), opened(worker)
            sockets = []
            for _ in range(number):
                sockets.append(socket.create_connection(("127.0.0.1", aggregator.port)))
                sockets[-1].sendall(sent)
            await until(lambda: opened(worker) >= files + number)
            assert await client.submit(batch()) is False
            cost = (memory(worker) - before) / number
            for each in sockets:
                each.close()
            assert cost < kilobytes * 1024
            assert await client.submit(batch()) is False

    asyncio.run(connect())


@pytest.mark.parametrize("batches", [400_000, pytest.param(10_000_000, marks=DEEP)])
def test_memory_is_flat(collection: Path, store: Running, batches: int) -> None:
    """However many batches have come, the aggregator's processes are as large as before, and so are the counters."""
    streams, together = 4, 500
    warm = batches // 5

    async def forward() -> None:
        async with (
            one_worker(collection, store) as (aggregator, worker),
            connections(aggregator.port, streams) as clients,
        ):

            async def some(number: int) -> None:
                each = number // streams // together
                done = await asyncio.gather(*(pour(client, each, Batches(together)) for client in clients))
                assert sum(answer.stored for answers in done for answer in answers) == streams * each * together

            def sizes() -> list[int]:
                return [memory(worker), memory(aggregator.process.pid)]

            await some(warm)
            assert await counted(store) == warm
            counters = f"deniable:{{0}}:counts:{DIGEST:016x}.0:{today()}:1"
            before, small = sizes(), store.ask("MEMORY", "USAGE", counters)
            await some(batches - warm)
            assert await counted(store) == batches
            assert store.ask("MEMORY", "USAGE", counters) == small
            for now, then in zip(sizes(), before, strict=True):
                assert now <= 1.1 * then

    asyncio.run(forward())
