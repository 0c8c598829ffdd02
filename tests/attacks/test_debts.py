"""Bytes of which no message comes are somebody's debt; who keeps to the protocol can owe no more than is borne."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from benchmarks.hostile_wire import Wire, frame

from deniable.v1.report_service_pb2 import StreamReportsRequest
from deniable_aggregator.serving import connections as connections_module
from deniable_aggregator.serving.conduct import Conduct
from deniable_aggregator.serving.debts import _BORNE, _FORGIVEN, Debts
from support.aggregator_server import next_answer, request, serving
from support.waiting import until

NOTHING = frame(8, 0, 0, b"\0\0\0\1")
"""A window one byte larger: a frame to which nobody answers, and that no bound of gRPC's is for."""


def test_what_nothing_comes_of_is_owed_until_it_is_forgiven() -> None:
    """From look to look; what had come before the first one is unknown."""
    debts = Debts()
    assert not debts.look([("old", 1 << 30)], {}, 1.0)
    assert not debts.look([("old", 1 << 30), ("new", _BORNE)], {}, 1.0)
    assert debts.look([("old", 1 << 30), ("new", _BORNE + 2 * _FORGIVEN + 1)], {}, 1.0) == {"new"}
    assert not debts.look([("new", _BORNE + 2 * _FORGIVEN + 1)], {}, 1.0)


def test_messages_are_credited_whenever_they_come() -> None:
    """A stream of long messages, each read a look after its bytes have come."""
    debts, conduct = Debts(), Conduct(lambda _: None)
    length = 1 << 18
    debts.look([("gateway", 0)], conduct.take_credits(), 0.1)
    for number in range(1, 100):
        assert not debts.look([("gateway", number * length)], conduct.take_credits(), 0.1)
        conduct.handed("gateway", bytes(length))
    assert conduct.take_credits() == {"gateway": length + 8192}
    assert conduct.take_credits() == {}, "nothing is kept of connections that have gone"


def test_messages_that_were_asked_for_are_no_debt_while_they_come() -> None:
    """A proxy with 32 of the longest messages half on their way, however long the loop takes to hear of them."""
    debts = Debts()
    debts.look([("proxy", 0), ("flood", 0)], {}, 0.1)
    sent, asked = 32 << 16, {"proxy": 32 << 17, "flood": 0}
    assert debts.look([("proxy", sent), ("flood", sent)], {}, 0.1, asked.__getitem__) == {"flood"}


def test_a_connection_that_only_fills_the_line_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control frames, a megabyte of them, end their connection; a gateway and a device that send as much do not."""
    monkeypatch.setattr(connections_module, "_BUSY", -1.0)
    message = StreamReportsRequest(batches=[request((0, 1)) for _ in range(1000)]).SerializeToString()

    async def flood() -> None:
        async with serving(tmp_path) as (server, client):
            assert server._guard
            debts = server._guard._debts
            stream = client.stream()
            wire = Wire(server.port).begin().settle()
            await until(lambda: debts._received, "it is looked at them")
            sent = 0
            while sent < 4 * _BORNE:
                await stream.write(message)
                await next_answer(stream)
                sent += len(message)
            peers = set(debts._received or ())
            assert sum(map(server._calls.asked_of, peers)) == 1, "the gateway's next message"

            def gone() -> bool:
                wire.say(NOTHING * 10_000)
                wire.hear()
                return not wire.open

            await until(gone, "the connection is closed")
            await stream.write(message)
            assert len((await next_answer(stream)).others) == 1000
            assert await client.submit(request((0, 1))) is False
            stream.cancel()
            await until(lambda: not server._calls._streaming, "nothing is kept of calls that have ended")
            wire.close()

    asyncio.run(flood())
