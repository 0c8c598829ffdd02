"""A worker, or the desk, as its supervisor sees it: started, told what to serve, and started again when it dies.

words:
  member   one of them: its process, and our end of its link
  steady   it has run for long enough that the next one is started without a longer pause
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket

from deniable_aggregator.serving.link import Link
from deniable_aggregator.serving.nursery import Child, Nursery
from deniable_aggregator.serving.sources import Texts
from deniable_aggregator.serving.worker import Orders
from deniable_aggregator.store import StoreError

__all__ = ["Member"]

_LOG = logging.getLogger(__name__)
_FIRST_PAUSE = 0.05
_LAST_PAUSE = 5.0
_STEADY_SECONDS = 30.0
"""A worker that has run for so long is started again without a longer pause."""


class Member:
    """One process that a supervisor has started."""

    def __init__(self, orders: Orders, nursery: Nursery) -> None:
        self._orders = orders
        self._nursery = nursery
        self._name = "the desk" if orders.services else f"worker {orders.settings.worker}"
        self._process: Child | None = None
        self._link: Link | None = None
        self._stopping = asyncio.Event()
        self._watch: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """Its process."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start it and wait until it takes calls; raises what keeps it from that."""
        await self._spawn()
        self._watch = asyncio.create_task(self._keep())

    def reload(self, texts: Texts) -> None:
        """Have it serve these collections, and whoever takes its place."""
        self._orders = self._orders._replace(texts=texts)
        if self._link:
            self._link.say(texts)

    async def stop(self, seconds: float) -> None:
        """Have it drain, and wait; kill it when it takes longer than so many seconds."""
        self._stopping.set()
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(seconds):
                await self._ended()
        except TimeoutError:
            _LOG.warning("%s does not end; killing it", self._name)
            self._signal(signal.SIGKILL)
            await self._ended()

    async def _ended(self) -> None:
        if self._watch:
            await asyncio.shield(self._watch)
        elif self._process:
            await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self._process and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _spawn(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await self._nursery.start(theirs)
        if self._stopping.is_set():  # it was told so while there was no process
            self._signal(signal.SIGTERM)
        self._link = await Link.over(ours)
        self._link.say(self._orders)
        answer = await self._link.hear()
        if answer != "ready":
            self._link.close()
            await self._process.wait()
            raise answer if isinstance(answer, Exception) else OSError("a worker ended before it took calls")

    async def _keep(self) -> None:
        """Start it again whenever it ends, after a pause that grows while it keeps ending."""
        pause = _FIRST_PAUSE
        loop = asyncio.get_running_loop()
        while True:
            assert self._process
            assert self._link
            started = loop.time()
            await self._process.wait()
            self._link.close()
            if self._stopping.is_set():
                return
            _LOG.warning("%s ended (%s); starting it again", self._name, self._process.returncode)
            pause = _FIRST_PAUSE if loop.time() - started > _STEADY_SECONDS else min(2 * pause, _LAST_PAUSE)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
            if self._stopping.is_set():
                return
            try:
                await self._spawn()
            except (OSError, StoreError) as error:
                if not self._stopping.is_set():
                    _LOG.warning("%s does not start: %s", self._name, error)
