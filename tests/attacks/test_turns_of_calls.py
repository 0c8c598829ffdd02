"""Whoever floods has the time of one caller, not of as many as he makes of himself."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.hostile_wire import Wire, framed

from deniable.v1.report_service_pb2 import StreamReportsRequest, SubmitReportsRequest
from deniable_aggregator.ingest import Admission, Calendar
from deniable_aggregator.ingest.service import ReportService
from deniable_aggregator.ingest.stats import IngestStats
from deniable_aggregator.serving import connections as connections_module
from deniable_aggregator.serving.calls import Calls
from deniable_aggregator.serving.conduct import Conduct
from deniable_aggregator.serving.connections import Guard
from deniable_aggregator.serving.server import MOST_AT_ONCE, OPTIONS
from support.aggregator_server import LAYOUT, NOW, request, serving
from support.waiting import PATIENCE, until

SUBMIT = "/deniable.v1.ReportService/SubmitReports"
STREAMS, MESSAGES, BATCHES = 20, 10, 100
CALLS = 200


class _Taker:
    """Whoever takes a stream's answers."""

    async def write(self, message: bytes) -> None:
        """Take one."""

    def peer(self) -> str:
        """Its connection."""
        return "ipv4:127.0.0.1:1"


@pytest.mark.parametrize(("batches", "in_turn"), [(BATCHES, BATCHES), (1, 11)])
def test_of_all_streams_so_much_is_taken_in_a_turn_of_the_loop(batches: int, in_turn: int) -> None:
    """Twenty streams of ten messages each, of a hundred empty batches or of one: calls of devices have their turn
    after one message of a hundred, and after eleven of one, which share a turn."""

    async def flood() -> None:
        turn, taken = 0, Counter[int]()

        def count() -> None:
            nonlocal turn
            turn += 1
            asyncio.get_running_loop().call_soon(count)

        class Door(Admission):
            def admit(self, request: SubmitReportsRequest) -> Any:
                taken[turn] += 1
                return super().admit(request)

        nobody: Any = None
        service = ReportService(Door([LAYOUT], Calendar(clock=lambda: NOW)), nobody, IngestStats())
        message = StreamReportsRequest(batches=[SubmitReportsRequest()] * batches).SerializeToString()

        async def messages() -> AsyncIterator[bytes]:
            for _ in range(MESSAGES):
                yield message

        taker: Any = _Taker()
        count()
        await asyncio.gather(*(service._stream_reports(messages(), taker) for _ in range(STREAMS)))
        assert taken.total() == STREAMS * MESSAGES * batches
        assert max(taken.values()) == in_turn

    asyncio.run(flood())


def test_a_connection_brings_no_more_calls_than_it_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred calls that are sent at once, by somebody who never agrees to anything, 32 are made calls of."""
    asked: list[object] = []
    read = Calls.read

    async def counted(self: Calls, context: Any) -> Any:
        asked.append(context)
        return await read(self, context)

    monkeypatch.setattr(Calls, "read", counted)

    async def flood() -> None:
        async with serving(tmp_path) as (server, client):
            wire = Wire(server.port).begin()
            for _ in range(100):
                wire.call(SUBMIT, framed(b"\xff\xff"))
            for number in range(10):  # they have come before these
                assert await client.submit(request((0, 1))) is False
                wire.hear()
                assert len(asked) <= MOST_AT_ONCE + number + 1
            await until(lambda: len(asked) == MOST_AT_ONCE + 10)
            wire.close()

    asyncio.run(flood())
    assert dict(OPTIONS)["grpc.max_concurrent_streams"] == MOST_AT_ONCE == 32


class _Silent:
    """A call whose message does not come, and which counts how often its connection is asked for."""

    asked = 0

    async def read(self) -> bytes:
        """Nothing."""
        await asyncio.Event().wait()
        return b""

    def peer(self) -> str:
        """Its connection, one of a hundred."""
        _Silent.asked += 1
        return f"ipv4:127.0.0.1:{id(self) % 100}"

    async def abort(self, code: object, details: str, **_: object) -> None:
        """Be refused."""


def test_to_refuse_one_of_many_does_not_ask_for_all_of_them() -> None:
    """Calls whose message does not come cost the same whether one waits or a hundred."""

    async def crowd() -> None:
        async def store(_message: bytes, _context: object) -> bytes:
            return b""

        calls = Calls(100, Conduct(lambda _: None))
        handle: Any = calls._asked(store, True)
        waiting = [asyncio.create_task(handle(None, _Silent())) for _ in range(CALLS)]
        await until(lambda: calls.unread == 100 and not calls._ending)
        assert _Silent.asked <= 3 * CALLS
        assert calls._crowds.total() == 100
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert not calls._crowds, "nothing is kept of connections that wait no longer"

    asyncio.run(crowd())


def test_when_memory_is_tight_connections_are_closed_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While gRPC ends a thousand connections it takes no new ones: others have their turn after each ten."""
    monkeypatch.setattr(connections_module, "_KEPT", 0)
    monkeypatch.setattr(connections_module, "_FRESH_SECONDS", 0.0)
    turn, closed = 0, Counter[int]()
    close = Guard._close

    def counted(self: Guard, connection: Any) -> bool:
        closed[turn] += 1
        return close(self, connection)

    monkeypatch.setattr(Guard, "_close", counted)

    async def crowd() -> None:
        async with serving(tmp_path) as (server, _):
            files = len(os.listdir("/proc/self/fd"))
            wires = [Wire(server.port).begin() for _ in range(120)]
            guard = Guard(server.port, 1 << 16, lambda: True)
            await until(lambda: len(os.listdir("/proc/self/fd")) >= files + 2 * len(wires), "all are accepted")

            def count() -> None:
                nonlocal turn
                turn += 1
                asyncio.get_running_loop().call_soon(count)

            count()
            assert await asyncio.wait_for(guard.look(), PATIENCE) == 120
            assert max(closed.values()) == 10
            for wire in wires:
                wire.close()

    asyncio.run(crowd())
