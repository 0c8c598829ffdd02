"""Connections that are closed one after the other do not fill the log: they are told once a minute, added up."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest
from benchmarks.hostile_wire import Wire

from deniable_aggregator.serving import connections as connections_module
from deniable_aggregator.serving.closings import Closings
from deniable_aggregator.serving.connections import Guard
from support.aggregator_server import serving
from support.waiting import until

KEPT = 5


def test_closings_are_told_at_once_and_then_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """Closed every tenth of a second for three minutes: four lines each way, which say all but the last minute's; and
    those are said as soon as a minute is over, though nothing is closed any more."""
    now = [0.0]
    closings = Closings(lambda: now[0])
    for look in range(1801):
        now[0] = look / 10
        closings.quiet(200, 4096, 8192)
        closings.empty(1)
        closings.tell()
    told = [record.getMessage() for record in caplog.records]
    assert told[::2] == [
        f"closed {number} quiet connections; 4096 of 8192 places were taken" for number in (200, *[120_000] * 3)
    ]
    assert told[1::2] == [f"closed {number} connections whose calls brought nothing" for number in (1, *[600] * 3)]
    caplog.clear()
    closings.quiet(10, 4000, 8192)
    for look in range(1, 1201):
        now[0] = 180 + look / 10
        closings.tell()
    assert [record.getMessage() for record in caplog.records] == [
        "closed 10 quiet connections; 4000 of 8192 places were taken"
    ]


def test_whoever_holds_connections_again_and_again_does_not_fill_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A guard that closes the quiet ones of four crowds says so once."""
    monkeypatch.setattr(connections_module, "_KEPT", KEPT)
    monkeypatch.setattr(connections_module, "_FRESH_SECONDS", 0.0)
    for name in ("_LOOK_SECONDS", "_BUSY_SECONDS", "_APART_SECONDS"):
        monkeypatch.setattr(connections_module, name, 0.001)

    async def crowds() -> None:
        async with serving(tmp_path) as (server, _):
            guard = Guard(server.port, 1 << 16, lambda: True)
            keeping = asyncio.create_task(guard.keep())
            for _ in range(4):
                wires = [Wire(server.port).begin() for _ in range(2 * KEPT)]

                def closed(wires: list[Wire] = wires) -> int:
                    for wire in wires:
                        wire.hear()
                    return sum(not wire.open for wire in wires)

                await until(lambda: closed() >= KEPT - 1, "some are closed")
                for wire in wires:
                    wire.close()
            keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeping

    asyncio.run(crowds())
    told = [record.getMessage() for record in caplog.records if "quiet" in record.getMessage()]
    assert len(told) == 1
