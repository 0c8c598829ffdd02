"""A worker, or the desk, as its supervisor sees it: started, told what to serve, and started again when it dies.

words:
  member   one of them: its process, and our end of its link. While a worker is relieved (`relief.py`) it is two
           processes, of which one is leaving
  slot     where a worker's counts are on the board. Each has two, since two processes of it may run at a time
  steady   it has run for long enough that the next one is started without a longer pause
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from dataclasses import replace

from deniable_aggregator.ingest import Board
from deniable_aggregator.serving.link import Link
from deniable_aggregator.serving.nursery import Child, Nursery
from deniable_aggregator.serving.relief import APART_SECONDS, LOOK_SECONDS, Burden, taken_by
from deniable_aggregator.serving.sources import Texts
from deniable_aggregator.serving.worker import Orders
from deniable_aggregator.store import StoreError
from deniable_aggregator.tracing import span

__all__ = ["Member"]

_LOG = logging.getLogger(__name__)
_FIRST_PAUSE = 0.05
_LAST_PAUSE = 5.0
_STEADY_SECONDS = 30.0
"""A worker that has run for so long is started again without a longer pause."""
_LAST_SECONDS = 5.0
"""Beyond the grace period: what a process has left to end by itself, before it is killed."""


class Member:
    """One process that a supervisor has started."""

    def __init__(self, orders: Orders, nursery: Nursery, spare: int | None = None) -> None:
        self._orders = orders
        self._nursery = nursery
        self._spare = spare
        """The slot that it does not have now; None for one that is never relieved."""
        self._name = "the desk" if orders.services else f"worker {orders.settings.worker}"
        self._process: Child | None = None
        self._link: Link | None = None
        self._leaving: Child | None = None
        self._changing = asyncio.Lock()
        """Held while another process takes the place of one."""
        self._relieved = asyncio.Event()
        """Another process is to be watched, though the one before has not ended."""
        self._stopping = asyncio.Event()
        self._watches: list[asyncio.Task[None]] = []

    @property
    def pid(self) -> int | None:
        """Its process."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start it and wait until it takes calls; raises what keeps it from that."""
        await self._spawn(self._orders)
        self._watches = [asyncio.create_task(self._keep())]
        if self._spare is not None:
            self._watches.append(asyncio.create_task(self._keep_relieving(self._orders.settings.worker_memory)))

    def reload(self, texts: Texts) -> None:
        """Have it serve these collections, and whoever takes its place."""
        self._orders = self._orders._replace(texts=texts)
        if self._link:
            self._link.say(texts)

    async def relieve(self) -> None:
        """Have a fresh process take its place, and wait until the other has ended; if none starts, it stays."""
        async with self._changing:
            settings, old, link = self._orders.settings, self._process, self._link
            if self._spare is None or self._leaving or self._stopping.is_set() or old is None or link is None:
                return
            self._leaving = old
            try:
                with span("relieve", {"deniable.member": self._name}):
                    await self._spawn(self._orders._replace(settings=replace(settings, worker=self._spare)))
            except (OSError, StoreError) as error:
                self._process, self._link, self._leaving = old, link, None
                link.say(self._orders.texts)  # it has not heard of a reload meanwhile
                _LOG.warning("%s goes on: no other takes its place: %s", self._name, error)
                return
            self._orders = self._orders._replace(settings=replace(settings, worker=self._spare))
            self._spare = settings.worker
            self._relieved.set()
        self._tell(signal.SIGTERM, old)
        try:
            await asyncio.wait_for(old.wait(), settings.grace + _LAST_SECONDS)
        except TimeoutError:
            self._tell(signal.SIGKILL, old)
            await old.wait()
        link.close()
        self._leaving = None
        if settings.board:
            Board(settings.board).join(settings.worker)  # nothing waits there, however it has ended

    async def stop(self) -> None:
        """Have it drain, and wait; kill it when it takes longer than it may."""
        self._stopping.set()
        self._tell(signal.SIGTERM, self._process, self._leaving)
        try:
            async with asyncio.timeout(self._orders.settings.grace + _LAST_SECONDS):
                await self._ended()
        except TimeoutError:
            _LOG.warning("%s does not end; killing it", self._name)
            self._tell(signal.SIGKILL, self._process, self._leaving)
            await self._ended()

    async def _ended(self) -> None:
        if self._watches:
            await asyncio.shield(asyncio.gather(*self._watches))
        elif self._process:
            await self._process.wait()

    @staticmethod
    def _tell(number: signal.Signals, *processes: Child | None) -> None:
        for process in processes:
            if process and process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(number)

    async def _spawn(self, orders: Orders) -> None:
        """Start a process that is the member from now on, and wait until it takes calls."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = process = await self._nursery.start(theirs)
            except BaseException:
                ours.close()
                raise
        if self._stopping.is_set():  # it was told so while there was no process
            self._tell(signal.SIGTERM, process)
        self._link = link = await Link.over(ours)
        link.say(orders._replace(texts=self._orders.texts))
        answer = await link.hear()
        if answer != "ready":
            link.close()
            await process.wait()
            raise answer if isinstance(answer, Exception) else OSError("a worker ended before it took calls")

    async def _keep(self) -> None:
        """Start it again whenever it ends, after a pause that grows while it keeps ending."""
        pause = _FIRST_PAUSE
        loop = asyncio.get_running_loop()
        while True:
            process, link = self._process, self._link
            assert process
            assert link
            started = loop.time()
            watches = {asyncio.create_task(process.wait()), asyncio.create_task(self._relieved.wait())}
            await asyncio.wait(watches, return_when=asyncio.FIRST_COMPLETED)
            for watch in watches:
                watch.cancel()
            if self._relieved.is_set():
                self._relieved.clear()
                continue
            link.close()
            async with self._changing:
                if process is not self._process:
                    continue  # it was relieved
                if self._stopping.is_set():
                    return
                _LOG.warning("%s ended (%s); starting it again", self._name, process.returncode)
                pause = _FIRST_PAUSE if loop.time() - started > _STEADY_SECONDS else min(2 * pause, _LAST_PAUSE)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), pause)
                if self._stopping.is_set():
                    return
                try:
                    with span("start again", {"deniable.member": self._name}):
                        await self._spawn(self._orders)
                except (OSError, StoreError) as error:
                    if not self._stopping.is_set():
                        _LOG.warning("%s does not start: %s", self._name, error)

    async def _keep_relieving(self, most: int) -> None:
        """Have it relieved whenever it keeps memory, or has more of it than it may, until it is told to end."""
        pid, burden, again = self.pid, Burden(most), 0.0
        loop = asyncio.get_running_loop()
        looked = loop.time()
        while not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), LOOK_SECONDS)
            if pid != self.pid:
                pid, burden = self.pid, Burden(most)
            before, looked = looked, loop.time()
            if not pid or (taken := taken_by(pid)) is None:
                continue
            if burden.look(taken, looked - before) and looked >= again:
                _LOG.warning("%s keeps %d MB: a fresh one takes its place", self._name, taken.memory // 10**6)
                again = looked + APART_SECONDS
                await self.relieve()
