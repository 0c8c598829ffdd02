"""Connections whose calls bring nothing are closed while such calls are too many; those of devices are not."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from benchmarks.hostile_wire import Wire, data, framed, headers
from grpc_health.v1 import health_pb2, health_pb2_grpc

from deniable_aggregator.ingest import Calendar
from deniable_aggregator.ingest import service as service_module
from deniable_aggregator.serving import connections as connections_module
from deniable_aggregator.serving import server as serving_module
from deniable_aggregator.serving.conduct import Conduct
from deniable_aggregator.serving.connections import Guard
from deniable_aggregator.serving.desk import passing
from deniable_aggregator.serving.server import Server, Settings
from support.aggregator_server import LAYOUT, NOW, connected, request, serving
from support.waiting import PATIENCE, until

SUBMIT = "/deniable.v1.ReportService/SubmitReports"
STREAM = "/deniable.v1.ReportService/StreamReports"
CHECK = "/grpc.health.v1.Health/Check"
ASK = "/deniable.v1.EstimateService/ListEstimates"
MANY = 1000


class Clock:
    """A time that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """What time it is."""
        return self.now


def never() -> float:
    """For how long a process was kept from running that always ran."""
    return 0.0


def test_many_who_bring_nothing_once_are_not_closed() -> None:
    """Devices whose batches are refused, by the thousand: each has one call."""
    closed: list[str] = []
    conduct = Conduct(closed.append, Clock(), never)
    for number in range(MANY):
        conduct.mark(f"ipv4:10.0.0.1:{number}")
    assert not closed


def test_few_calls_that_bring_nothing_close_nobody() -> None:
    """A proxy with devices whose collection has ended, however long it goes on."""
    closed: list[str] = []
    clock = Clock()
    conduct = Conduct(closed.append, clock, never)
    for number in range(MANY):
        clock.now = number / 100
        conduct.mark("ipv4:10.0.0.1:1")
    assert not closed


def test_whoever_brings_nothing_again_and_again_is_closed_once() -> None:
    """While calls that bring nothing are many, those that make several are closed, each of them once."""
    closed: list[str] = []
    conduct = Conduct(closed.append, Clock(), never)
    for number in range(MANY):
        conduct.mark(f"ipv4:10.0.0.1:{number}")
        conduct.mark(f"ipv4:10.0.0.2:{number % 2}")
    assert sorted(closed) == ["ipv4:10.0.0.2:0", "ipv4:10.0.0.2:1"]


def test_one_offence_is_enough_while_many_bring_nothing() -> None:
    """What no device does closes a connection at once, but not a proxy's that brings batches besides; nobody's while
    such calls are few."""
    closed: list[str] = []
    conduct = Conduct(closed.append, Clock(), never)
    conduct.mark("early", offence=True)
    for number in range(MANY):
        conduct.mark(f"ipv4:10.0.0.1:{number}")
    assert not closed
    conduct.merit("proxy")
    for peer in ("flood", "proxy"):
        conduct.mark(peer, offence=True)
    assert closed == ["flood"]
    assert conduct.closed("flood")
    assert not conduct.closed("proxy")
    for _ in range(3):
        conduct.mark("proxy", offence=True)
    assert closed == ["flood", "proxy"]


def test_calls_of_a_connection_that_is_closed_are_let_go_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it takes until it is: none of them is asked for its message, or answered."""

    async def flood() -> None:
        async with serving(tmp_path) as (server, client):
            _stopped(server)
            conduct, closed = server._calls._conduct, set[str]()
            monkeypatch.setattr(conduct, "_close", closed.add)
            wire = Wire(server.port).begin().settle()

            def condemned() -> bool:
                _malformed(wire)
                return bool(closed)

            await until(condemned)
            await until(lambda: server._calls.unread == 0)
            assert await client.submit(request((0, 1))) is False
            marks = conduct._all
            for _ in range(10):
                _malformed(wire)
                wire.call(STREAM, framed(b""), end=False)
            assert await client.submit(request((0, 1))) is False
            assert (conduct._all, server._calls.unread) == (marks, 0)
            assert server._reports
            assert not server._reports._streams
            wire.close()

    asyncio.run(flood())


def test_a_process_that_hardly_runs_closes_what_floods_it() -> None:
    """With a tenth of a processor a process takes 300 calls a second, and none of them may bring anything: a window
    lasts as long as it runs or has nothing to do. While it has nothing to do, as few a second close nobody."""
    for share, closes in ((0.1, True), (1.0, False)):
        closed: list[str] = []
        clock = Clock()
        conduct = Conduct(closed.append, clock, lambda clock=clock, share=share: clock.now * (1 - share))  # type: ignore[misc]
        for number in range(MANY):
            clock.now = number / 300
            conduct.mark("ipv4:10.0.0.1:1")
        assert bool(closed) == closes
        assert len(closed) <= 2, "once a window"


def test_a_proxy_is_not_closed_for_one_who_floods_through_it() -> None:
    """Five hundred calls a second that bring nothing, among a thousand of devices over the same connection."""
    closed: list[str] = []
    clock = Clock()
    conduct = Conduct(closed.append, clock, never)
    for number in range(1500):
        clock.now = number / 1500
        (conduct.mark if number % 3 == 0 else conduct.merit)("ipv4:10.0.0.1:1")
    assert not closed
    for _ in range(MANY):
        conduct.mark("ipv4:10.0.0.1:1")
    assert closed == ["ipv4:10.0.0.1:1"], "where hardly anything else comes it is"


def test_merits_are_forgotten_as_marks_are() -> None:
    """Nothing is kept of connections that have gone, nor does anybody save up."""
    closed: list[str] = []
    clock = Clock()
    conduct = Conduct(closed.append, clock, never)
    for number in range(MANY):
        clock.now = number / 100
        conduct.merit(f"ipv4:10.0.0.1:{number}")
        assert len(conduct._merits) <= 30
        conduct.merit("ipv4:10.0.0.2:1")
    clock.now += 1
    for _ in range(MANY):
        conduct.mark("ipv4:10.0.0.2:1")
    assert closed == ["ipv4:10.0.0.2:1"]


def test_a_flood_through_a_proxy_costs_no_batch(tmp_path: Path) -> None:
    """On one connection, as many batches as calls that bring nothing: every batch is stored, and the proxy stays."""

    async def forward() -> None:
        async with serving(tmp_path) as (server, client):
            _stopped(server)
            for _ in range(MANY // 50):
                good = [client.submit(request((0, 1))) for _ in range(25)]
                bad = [client.refused(b"\xff\xff") for _ in range(25)]
                assert not any(await asyncio.gather(*good))
                await asyncio.gather(*bad)
            conduct = server._calls._conduct
            assert (conduct._all, list(conduct._merits.values()), conduct._closed) == (MANY // 2, [MANY // 2], set())

    asyncio.run(forward())


def _stopped(server: Server) -> None:
    """Have no spell end: a slow machine would see fewer marks in one."""
    server._calls._conduct._clock = Clock()


def _empty(wire: Wire) -> None:
    wire.call(SUBMIT)


def _malformed(wire: Wire) -> None:
    wire.call(SUBMIT, framed(b"\xff\xff"))


def _checks(wire: Wire) -> None:
    wire.call(CHECK, framed(b""))


@pytest.mark.parametrize("call", [_empty, _malformed, _checks])
def test_a_flood_is_closed_and_a_device_is_not(tmp_path: Path, call: Callable[[Wire], None]) -> None:
    """A connection with call after call that brings nothing is closed; a device beside it is acknowledged."""

    async def flood() -> None:
        async with serving(tmp_path) as (server, client):
            _stopped(server)
            assert await client.submit(request((0, 1))) is False
            wire = Wire(server.port).begin().settle()

            def gone() -> bool:
                if server._calls.unread < 50:
                    for _ in range(20):
                        call(wire)
                wire.hear()
                return not wire.open

            await until(gone, "the connection is closed")
            assert await client.submit(request((0, 1))) is False
            await until(lambda: server._calls.unread == 0)
            wire.close()

    asyncio.run(flood())


def test_questions_that_are_passed_to_the_desk_leave_marks(tmp_path: Path) -> None:
    """A worker's questions are streams to it, whatever they are to who asks: a flood of them is closed like any."""

    async def flood() -> None:
        settings = Settings(listen="127.0.0.1:0", calendar=Calendar(clock=lambda: NOW), data_dir=tmp_path / "data")
        server = Server(settings, [LAYOUT], [passing(tmp_path / "no desk")])
        await server.start()
        _stopped(server)
        try:
            async with connected(server.port) as client:
                assert await client.submit(request((0, 1))) is False
                wire = Wire(server.port).begin().settle()

                def gone() -> bool:
                    for _ in range(20):
                        wire.call(ASK, framed(b""))
                    wire.hear()
                    return not wire.open

                await until(gone, "the connection is closed")
                assert await client.submit(request((0, 1))) is False
                wire.close()
        finally:
            await server.drain()

    asyncio.run(flood())


def test_batches_leave_no_mark(tmp_path: Path) -> None:
    """A proxy that sends a thousand batches over one connection is no flood, nor a thousand of a collection that is
    not served here, or not yet; nor is one whose store is away."""

    async def forward() -> None:
        async with serving(tmp_path) as (server, client):
            _stopped(server)
            marks = server._calls._conduct._marks
            for _ in range(MANY // 50):
                assert not any(await asyncio.gather(*(client.submit(request((0, 1))) for _ in range(50))))
            assert not marks
            for _ in range(MANY // 50):
                others = [request((0, 1), collection_digest=1) for _ in range(50)]
                told = await asyncio.gather(*map(client.refused, others))
                assert {each.reason for each in told} == {"UNKNOWN_COLLECTION"}
            assert not marks
            assert server._reports
            await server._reports.drain()
            for _ in range(10):
                assert (await client.refused(request((0, 1)))).code is grpc.StatusCode.UNAVAILABLE
            assert not marks
            await health_pb2_grpc.HealthStub(client.channel).Check(health_pb2.HealthCheckRequest())
            assert sum(marks.values()) == 1

    asyncio.run(forward())


def test_a_connection_that_withholds_message_after_message_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one of its calls after the other: all of what it has sent goes at once, and a device gets through."""
    monkeypatch.setattr(serving_module, "_UNREAD_BYTES", 0)

    async def withhold() -> None:
        async with serving(tmp_path) as (server, client):
            wire = Wire(server.port).begin()
            for _ in range(serving_module._LEAST_UNREAD):
                wire.call(SUBMIT, framed(bytes(10), announced=11), end=False)
            await until(lambda: server._calls.unread == serving_module._LEAST_UNREAD)
            assert await client.submit(request((0, 1))) is False

            def gone() -> bool:
                wire.hear()
                return not wire.open

            await until(gone, "the connection is closed")
            await until(lambda: server._calls.unread == 0)
            wire.close()

    asyncio.run(withhold())


def test_streams_that_take_no_answers_do_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more ends the quietest, then the next quietest, and so on; whether or not they take what was answered."""
    monkeypatch.setattr(service_module, "_MOST_STREAMS", 4)
    monkeypatch.setattr(service_module, "_LAST_ANSWERS_SECONDS", 0.01)

    def streams() -> int:
        return sum(type(each) is service_module._Stream for each in gc.get_objects())

    async def deaf() -> None:
        async with serving(tmp_path) as (server, client):
            wires = [Wire(server.port, window=0).begin() for _ in range(12)]
            began = server._calls._lasting

            async def begun(least: int) -> None:
                await until(lambda: began[STREAM] >= least)

            for number, wire in enumerate(wires):
                stream = wire.next()
                wire.say(headers(stream, STREAM) + data(stream, 3 * framed(b"\x12\x00" * 1000)))
                await begun(min(number + 1, 4))
            assert await client.submit(request((0, 1))) is False  # calls have their turn as they come: all have begun
            await until(lambda: began[STREAM] == 4, "four are left")
            await until(lambda: streams() == 4, "nothing of the others is left")
            for wire in wires:
                wire.close()

    asyncio.run(deaf())


def test_when_memory_is_tight_few_quiet_connections_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that wait for this process are not quiet, and while memory is not tight nobody is."""
    monkeypatch.setattr(connections_module, "_KEPT", 5)
    monkeypatch.setattr(connections_module, "_FRESH_SECONDS", 0.05)

    async def crowd() -> None:
        async with serving(tmp_path) as (server, client):
            assert await client.submit(request((0, 1))) is False
            wires = [Wire(server.port).begin() for _ in range(20)]
            tight, waiting = [False], set[str]()
            guard = Guard(server.port, 1 << 16, lambda: tight[0], lambda: waiting)
            for wire in wires[:8]:
                own = wire._socket.getsockname()
                waiting.add(f"ipv4:{own[0]}:{own[1]}")
            assert await guard.look() == 0
            tight[0] = True

            def closed() -> int:
                for wire in wires:
                    wire.hear()
                return sum(not wire.open for wire in wires)

            number = 0
            async with asyncio.timeout(PATIENCE):
                while number < 21 - 8 - 5:
                    number += await guard.look()
                    await asyncio.sleep(0.02)
            await until(lambda: closed() >= number - 1)  # a device's may be among them: it has been quiet for as long
            assert all(wire.open for wire in wires[:8])
            async with connected(server.port) as another:
                assert await another.submit(request((0, 1))) is False
            for wire in wires:
                wire.close()

    asyncio.run(crowd())


def test_a_connection_is_known_by_the_name_that_grpc_has_for_it() -> None:
    """Of both families, and of one within the other."""
    for family, host, name in (
        (socket.AF_INET, "127.0.0.1", "ipv4:127.0.0.1:{}"),
        (socket.AF_INET6, "::1", "ipv6:%5B::1%5D:{}"),
        (socket.AF_INET6, "::ffff:127.0.0.1", "ipv4:127.0.0.1:{}"),
    ):
        with socket.socket(family) as listening, socket.socket(family) as calling:
            listening.bind((host, 0))
            listening.listen()
            calling.connect(listening.getsockname())
            taken, _ = listening.accept()
            with taken:
                assert connections_module._peer(taken.fileno()) == name.format(calling.getsockname()[1])
    assert connections_module._peer(0) is None
