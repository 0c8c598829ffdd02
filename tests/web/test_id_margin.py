"""How long ids outlive the acceptance of their batches, where the aggregator's clock is set back."""

from __future__ import annotations

import asyncio
from pathlib import Path

from deniable_aggregator.ingest import Calendar
from deniable_aggregator.serving.server import Server
from deniable_aggregator.web.health import Health
from support.aggregator_server import DAY, EPOCH, NOW, request, serving


def test_a_clock_that_is_set_back_has_ids_forgotten_before_their_epoch_is(tmp_path: Path) -> None:
    """An epoch is accepted as much longer as the clock has gone back, and what it was told to remember is not: two
    days, of which one was left. A batch of that epoch has all of its ids remembered for as long again."""
    now = [NOW]

    async def margin(server: Server) -> float:
        (fleet,) = (await Health(server).state()).fleets
        assert fleet.margin is not None
        return fleet.margin

    async def look() -> None:
        async with serving(tmp_path, calendar=Calendar(clock=lambda: now[0])) as (server, client):
            await client.submit(request((0, 1), epoch=EPOCH - 2))
            assert DAY - 600 < await margin(server) <= DAY
            now[0] = NOW - 2 * DAY
            assert -DAY - 600 < await margin(server) <= -DAY
            await client.submit(request((0, 1), epoch=EPOCH - 2))
            assert DAY - 600 < await margin(server) <= DAY

    asyncio.run(look())
