"""No message, and no number of calls, takes memory that it was not given; and nothing of a refused call remains."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from deniable.payload import Bitmap, Integers, Symbol
from deniable.v1 import estimate_service_pb2, estimate_service_pb2_grpc
from deniable.v1.report_service_pb2 import StreamReportsRequest, SubmitReportsRequest, WideRow
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.ingest import Admission, Calendar, Layout
from deniable_aggregator.ingest.bounds import bound_of
from deniable_aggregator.serving import conduct
from deniable_aggregator.serving import server as serving_module
from deniable_aggregator.serving.answering import answering
from deniable_aggregator.serving.calls import Calls
from deniable_aggregator.serving.conduct import Conduct
from deniable_aggregator.serving.server import Server, Settings
from support.aggregator_server import (
    COLLECTION,
    DAY,
    EPOCH,
    LAYOUT,
    NOW,
    Client,
    Told,
    connected,
    next_answer,
    request,
    serving,
)
from support.waiting import PATIENCE, until

EMPTY_WIDE_ROWS = b"\x32\x00" * 30_000
KNOWN = b"\x11" + LAYOUT.digest.to_bytes(8, "little")
SERVERS_OWN = {"AbortError", "_ServicerContext", "RPCState"}
"""What grpc.aio's server keeps of a call, as Python sees it."""
ROUND = 40


def kept() -> int:
    """How many objects there are that belong to calls of a server."""
    return sum(Counter(type(each).__name__ for each in gc.get_objects())[name] for name in SERVERS_OWN)


@contextmanager
def no_collector() -> Iterator[None]:
    """Without Python's collector, what is left of a call stays visible."""
    gc.collect()
    gc.freeze()  # what was there before is not looked through again and again
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


async def _sent(client: Client, message: bytes) -> None:
    with pytest.raises(grpc.aio.AioRpcError):
        await client.send(message)


async def _forwarded(client: Client, message: bytes) -> None:
    call = client.stream()
    await call.write(message)
    with pytest.raises(grpc.aio.AioRpcError):
        await call.read()


async def _checked(client: Client, message: bytes) -> None:
    with pytest.raises(grpc.aio.AioRpcError):
        await health_pb2_grpc.HealthStub(client.channel).Check(health_pb2.HealthCheckRequest(service="x" * 10_000))


async def _asked(client: Client, message: bytes) -> None:
    stub: Any = estimate_service_pb2_grpc.EstimateServiceStub(client.channel)
    with pytest.raises(grpc.aio.AioRpcError):
        await stub.ListEstimates(estimate_service_pb2.ListEstimatesRequest(collection="x" * 1000))


REFUSED: dict[str, tuple[Callable[[Client, bytes], Awaitable[None]], bytes]] = {
    "empty wide rows": (_sent, EMPTY_WIDE_ROWS),
    "empty wide rows of a known collection": (_sent, KNOWN + EMPTY_WIDE_ROWS),
    "no message": (_sent, b"\xff\xff"),
    "an old epoch": (_sent, request((0, 1), epoch=1).SerializeToString()),
    "a bad row": (_sent, request((0, 9)).SerializeToString()),
    "no message of a stream": (_forwarded, b"\xff\xff"),
    "empty batches": (_forwarded, b"\x12\x00" * 30_000),
    "the health of nothing": (_checked, b""),
    "estimates of nothing": (_asked, b""),
}


def test_nothing_of_a_refused_call_outlives_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a call is refused, as much is left as after the first time, though nobody collects cycles.

    On a quick machine so many refused calls are a flood, whose connection would be closed."""
    monkeypatch.setattr(conduct, "_MANY", len(REFUSED) * (ROUND + 1))

    async def refuse() -> None:
        settings = Settings(listen="127.0.0.1:0", data_dir=tmp_path, calendar=Calendar(clock=lambda: NOW))
        server = Server(settings, [LAYOUT], answering(Catalog([COLLECTION])))
        await server.start()
        left = {}
        try:
            for name, (send, message) in REFUSED.items():
                async with connected(server.port) as client:
                    await send(client, message)
                    with no_collector():
                        before = left[name] = kept()
                        for _ in range(ROUND):
                            await send(client, message)
                        await until(lambda before=before: kept() < before + ROUND // 2)  # type: ignore[misc]
                        left.pop(name)
        finally:
            await server.drain()
            assert not left, "of these something is left"

    asyncio.run(refuse())


LAYOUTS = [
    LAYOUT,
    Layout("one", 1, DAY, 1, (("a", Symbol(2)),)),
    Layout("wide", 2, DAY, 1, tuple((f"m{number}", Bitmap(1024)) for number in range(300))),
    Layout("vectors", 3, DAY, 7, (("v", Integers(4096, 9)), ("w", Integers(4096, 9)), ("w", Bitmap(64)))),
    Layout("many", 4, DAY, 1, tuple((f"m{number}", Symbol(5)) for number in range(4000))),
]


def largest(layout: Layout) -> SubmitReportsRequest:
    """The largest batch of a collection: every metric is answered, by the column that says most."""
    rows, wide = b"", dict[str, WideRow]()
    for number, (metric, shape) in enumerate(layout.columns):
        if isinstance(shape, Bitmap) and shape.wide:
            wide.setdefault(metric, WideRow(column=number, payload=bytes(-(-shape.size // 8))))
        elif isinstance(shape, Integers):
            wide[metric] = WideRow(column=number, payload=bytes(4 * shape.size))
        elif (number, metric) == next((n, m) for n, (m, _) in enumerate(layout.columns) if m == metric):
            rows += (number << 48).to_bytes(8, "little")
    return SubmitReportsRequest(
        batch_id=bytes(16),
        collection_digest=layout.digest,
        epoch=EPOCH,
        segment=layout.segments - 1,
        rows=rows,
        wide_rows=list(wide.values()),
    )


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_the_bound_holds_every_batch_and_little_more(layout: Layout) -> None:
    """The largest batch of a collection is within its bound; what is longer or has more fields is not."""
    bound = bound_of([layout])
    message = largest(layout).SerializeToString()
    assert bound.holds(message)
    assert len(message) <= bound.size <= len(message) + 24
    assert not bound.holds(message + bytes(25))
    if bound.size > 1 << 13:
        assert not bound.holds(b"\x32\x00" * (bound.size // 2))
        assert not bound.holds(message[: bound.size // 2] + b"\x32\x00" * (bound.size // 8))
    for less in LAYOUTS:
        assert bound_of([less, layout]).holds(message)


def test_a_device_whose_collection_is_not_served_keeps_its_large_batch() -> None:
    """What is too long for all collections here is malformed if it answers one, else it may be good elsewhere."""
    door = Admission([LAYOUTS[1]], Calendar(clock=lambda: NOW))
    for layout in LAYOUTS[2:]:
        message = largest(layout).SerializeToString()
        assert not door.bound.holds(message)
        assert door.too_large(message).reason == "UNKNOWN_COLLECTION"
    for message in (
        b"\x32\x00" * 5000,
        b"\x11",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x11" + bytes(5),
    ):
        assert door.too_large(message).reason == "MALFORMED_BATCH"
    one = b"\x11" + (1).to_bytes(8, "little")
    assert door.too_large(one + b"\x32\x00" * 5000).reason == "MALFORMED_BATCH"


def test_wide_rows_are_counted_before_they_are_looked_at() -> None:
    """More wide rows than there are metrics are refused without an object for each of them."""
    door = Admission([LAYOUT], Calendar(clock=lambda: NOW))
    batch = request(wide=[(4, b"")] * 50_000)
    tracemalloc.start()
    try:
        refusal: Any = door.admit(batch)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert refusal.reason == "MALFORMED_BATCH"
    assert peak < 50_000


def test_a_call_that_ends_without_a_message_is_answered(tmp_path: Path) -> None:
    """A caller that has nothing to say is told so; its call does not stay."""

    async def ask() -> None:
        async with serving(tmp_path) as (_, client):
            for method in ("/deniable.v1.ReportService/SubmitReports", "/grpc.health.v1.Health/Check"):
                call: Any = client.channel.stream_unary(method)(timeout=PATIENCE / 4)
                await call.done_writing()
                with pytest.raises(grpc.aio.AioRpcError) as error:
                    await call
                assert Told.by(error.value).fields == ["request"]

    asyncio.run(ask())


def unfinished(client: Client, number: int) -> list[Any]:
    """Calls whose message never comes."""
    start: Any = client.channel.stream_unary("/deniable.v1.ReportService/SubmitReports")
    return [start() for _ in range(number)]


async def told(call: Any) -> Told:
    """What a call that is refused is told."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return Told.by(error)
    raise AssertionError("the call was answered")


def test_of_calls_that_withhold_their_message_the_oldest_go(tmp_path: Path) -> None:
    """Messages that have not come are bounded in number; a device is served though as many are withheld as may be."""

    async def withhold() -> None:
        async with serving(tmp_path) as (server, client), AsyncExitStack() as connections:
            calls = server._calls
            most = calls._most_unread
            assert most * server._message_bytes <= serving_module._UNREAD_BYTES
            waiting: list[Any] = []
            while len(waiting) < most:  # more of one connection, and it would be closed
                other = await connections.enter_async_context(connected(server.port))
                waiting.extend(unfinished(other, min(4 if waiting else 1, most - len(waiting))))
                await until(lambda: calls.unread == len(waiting))
            assert await client.submit(request((0, 1))) is False
            first = await asyncio.wait_for(told(waiting[0]), PATIENCE)
            assert (first.code, first.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_CALLS")
            assert first.retry_after
            calls.look(asyncio.get_running_loop().time())
            last = await asyncio.wait_for(told(waiting[-1]), PATIENCE)
            assert (last.code, last.reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "TOO_SLOW")
            await until(lambda: calls.unread == 0)
            assert await client.submit(request((0, 1))) is False

    asyncio.run(withhold())


def test_of_streams_the_quietest_goes(tmp_path: Path) -> None:
    """One stream more than there is room for ends the one that has been quiet for longest, after its answers."""

    async def crowd() -> None:
        async with serving(tmp_path) as (server, client), AsyncExitStack() as connections:
            message = StreamReportsRequest(sequence=1, batches=[request((0, 1))]).SerializeToString()
            others = [await connections.enter_async_context(connected(server.port)) for _ in range(4)]
            streams = [each.stream() for each in others for _ in range(32)]
            for stream in streams:
                await stream.write(message)
                assert (await next_answer(stream)).sequence == 1
            await streams[0].write(message)  # so that it is not the quietest
            await next_answer(streams[0])
            another = client.stream()
            await another.write(message)
            assert (await next_answer(another)).sequence == 1
            with pytest.raises(grpc.aio.AioRpcError) as error:
                await asyncio.wait_for(streams[1].read(), PATIENCE)
            assert Told.by(error.value).reason == "TOO_MANY_CALLS"
            await streams[0].write(message)
            assert (await next_answer(streams[0])).sequence == 1

    asyncio.run(crowd())


def test_watchers_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many watch at a time; one more is told when to come again, and has its place when another has left. Those
    who came first are no flood here, though they came at once."""
    monkeypatch.setattr(conduct, "_MANY", 1000)

    async def watch() -> None:
        async with serving(tmp_path) as (server, client), AsyncExitStack() as connections:
            others = [await connections.enter_async_context(connected(server.port)) for _ in range(4)]
            health = [health_pb2_grpc.HealthStub(each.channel) for each in others]
            elsewhere = health_pb2_grpc.HealthStub(client.channel)

            async def first(call: Any) -> Any:
                return await asyncio.wait_for(call.read(), PATIENCE)

            watchers = [each.Watch(health_pb2.HealthCheckRequest()) for each in health for _ in range(25)]
            for watcher in watchers:
                assert (await first(watcher)).status == health_pb2.HealthCheckResponse.SERVING
            with pytest.raises(grpc.aio.AioRpcError) as error:
                await first(elsewhere.Watch(health_pb2.HealthCheckRequest()))
            assert Told.by(error.value).reason == "TOO_MANY_CALLS"
            watchers[0].cancel()
            await until(lambda: server._calls._lasting["/grpc.health.v1.Health/Watch"] < 100)
            assert await first(health[0].Watch(health_pb2.HealthCheckRequest()))

    asyncio.run(watch())


class _Late:
    """A call whose message comes in the turn of the loop in which another one has it refused."""

    def __init__(self) -> None:
        self.message: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.told: list[grpc.StatusCode] = []

    async def read(self) -> bytes:
        """The message."""
        return await self.message

    def peer(self) -> str:
        """Its connection."""
        return "ipv4:127.0.0.1:1"

    async def abort(self, code: grpc.StatusCode, details: str, **_: object) -> None:
        """Be refused."""
        self.told.append(code)
        raise grpc.aio.AbortError(code, details)


def test_a_message_that_comes_while_its_call_is_refused_is_not_stored() -> None:
    """The device was told that it is not, and will send it again under another id."""

    async def race() -> None:
        stored = []

        async def store(message: bytes, _context: object) -> bytes:
            stored.append(message)
            return b""

        handle: Any = Calls(1, Conduct(lambda _: None))._asked(store, True)
        first, second = _Late(), _Late()
        waiting = asyncio.create_task(handle(None, first))
        await asyncio.sleep(0)
        taking = asyncio.create_task(handle(None, second))
        first.message.set_result(b"first")
        await until(lambda: first.told)
        second.message.set_result(b"second")
        await taking
        await asyncio.gather(waiting, return_exceptions=True)
        assert first.told == [grpc.StatusCode.RESOURCE_EXHAUSTED]
        assert stored == [b"second"]

    asyncio.run(race())
