"""A worker: a process that takes calls on a port that it shares; or the desk, which answers questions beside them.

words:
  orders    what it is told first: how to serve, and what
  reload    it is told what to serve from now on; connections stay
  orphaned  its supervisor is gone, however that went: the link is closed, and it drains

It is forked by the nursery (`nursery.py`), since gRPC, which a supervisor may have begun with, does not survive a
fork. A worker that dies takes the calls with it that it had not answered: devices repeat them. Nothing that was
acknowledged is lost.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.ingest import Layout
from deniable_aggregator.serving.connections import raise_file_limit
from deniable_aggregator.serving.desk import Desk, passing
from deniable_aggregator.serving.link import Link
from deniable_aggregator.serving.nursery import call_this
from deniable_aggregator.serving.processors import Placement, placing, take_turns
from deniable_aggregator.serving.running import run, until_told
from deniable_aggregator.serving.server import AddService, Server, Settings, layout_of
from deniable_aggregator.serving.sources import Texts, collections_of
from deniable_aggregator.store import StoreError

__all__ = ["Orders", "Services", "be"]

_LOOK_SECONDS = 1.0
"""How often it is looked at what else runs on its processor."""
_COLLECT = (20_000, 20, 100)
"""When the collector looks for cycles. Calls leave none, however they end (tests/attacks/test_memory.py), but while
many are in flight it looks at all of them again and again (measured: 4% of the time)."""
_ORPHANED_SECONDS = 1.0
"""For draining when the supervisor is gone, and most likely the store with it."""

Services = Callable[[Catalog], Sequence[AddService]]
"""What answers questions. It travels to the desk: it has to be a function of a module."""


class Orders(NamedTuple):
    """What a worker is told first."""

    settings: Settings
    services: Services | None
    """What the desk answers; None for a worker, which need not load any of it."""
    processor: int | None
    """The processor that it keeps to; None: whichever is free."""
    texts: Texts
    turns: bool = True
    """Whether its threads take turns."""
    collector: str = ""
    """Where the desk sends its spans; empty: nowhere."""


class _Serves(Protocol):
    """What a process does for its supervisor."""

    async def start(self) -> None:
        """Begin; a StoreError or OSError says what keeps it from that."""

    def reload(self, layouts: Iterable[Layout]) -> None:
        """Serve these collections, and no others."""

    async def drain(self, grace: float | None = None) -> None:
        """End, within so many seconds."""


def _made(orders: Orders, catalog: Catalog) -> _Serves:
    """What a process does that has been told so."""
    settings = orders.settings
    assert settings.desk
    if orders.services:
        return Desk(settings, orders.services(catalog), orders.collector)
    return Server(settings, map(layout_of, catalog.served()), [passing(settings.desk)])


async def _work(link: Link) -> None:
    """Serve what the supervisor says, until it or a signal says otherwise."""
    orders: Orders | None = await link.hear()
    if orders is None:
        return  # the supervisor is gone already
    call_this("deniable-desk" if orders.services else "deniable-worker")
    raise_file_limit()
    if orders.turns:
        take_turns(orders.processor)
    place = placing(orders.processor)
    looking = asyncio.create_task(_keep_place(Placement(place))) if place else None
    catalog = Catalog(collections_of(orders.texts))
    server = _made(orders, catalog)
    await server.start()
    # What has been loaded stays: the collector need not look at it again (4% of the time under load).
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT)
    link.say("ready")
    told = asyncio.create_task(until_told({}))
    while True:
        hearing = asyncio.create_task(link.hear())
        await asyncio.wait({told, hearing}, return_when=asyncio.FIRST_COMPLETED)
        if told.done() or hearing.result() is None:
            if looking:
                looking.cancel()
            await server.drain(None if told.done() else _ORPHANED_SECONDS)
            return
        catalog.replace(collections_of(hearing.result()))
        server.reload(map(layout_of, catalog.served()))


async def _keep_place(placement: Placement) -> None:
    """Have this worker's threads run as is best beside whatever else runs."""
    loop = asyncio.get_running_loop()
    while True:
        began = loop.time()
        await asyncio.sleep(_LOOK_SECONDS)
        placement.look(loop.time() - began)


async def _begin(descriptor: int) -> None:
    link = await Link.over(socket.socket(fileno=descriptor))
    try:
        await _work(link)
    except (OSError, StoreError) as error:
        link.say(error)
        sys.exit(1)
    finally:
        link.close()


def be(descriptor: int) -> None:
    """Be a process of a supervisor's, with its end of a link."""
    os.set_inheritable(descriptor, False)
    run(_begin(descriptor))
