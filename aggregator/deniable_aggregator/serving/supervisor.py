"""The supervisor: watches over several processes that share a port, and takes no calls itself.

words:
  supervisor  owns the port, the store's process, the board and what runs beside the workers; starts every worker,
              and starts one again that dies; folds what workers add
  worker      a process that takes calls (`worker.py`); the nursery forks it (`nursery.py`)
  desk        a process beside them that answers questions (`desk.py`); it is started and told as a worker is
  reload      to serve what the collection files say now: on SIGHUP, and when something changes in a directory that
              was given. A file that does not load changes nothing. The supervisor reads the files, and tells workers
              what they say: one that is started again serves what the others do
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from deniable import CollectionError
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.analysis.versions import reloaded
from deniable_aggregator.ingest import Board, Calendar, IngestStats, Layout
from deniable_aggregator.serving.connections import raise_file_limit
from deniable_aggregator.serving.nursery import Nursery
from deniable_aggregator.serving.port import reserved
from deniable_aggregator.serving.processors import leave_none, processors_of
from deniable_aggregator.serving.running import run, until_told
from deniable_aggregator.serving.server import Attachment, Settings, ended, fastest_loop, layout_of
from deniable_aggregator.serving.sources import Reload, Sources, Texts, collections_of
from deniable_aggregator.serving.staff import Member
from deniable_aggregator.serving.worker import Orders, Services, be
from deniable_aggregator.store import Durability, EmbeddedStore, Store
from deniable_aggregator.tracing import begin, end, span

__all__ = ["Program", "Supervisor", "serve"]

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0
"""How often directories are looked at."""
_LISTENERS = 8
"""Of each worker (measured with one worker: two take 1.17 times the calls of one, four 1.25 times, eight 1.07 times
those of four)."""
_MOST_RELOADS = 10
"""So many are told of."""


@dataclass(frozen=True, slots=True)
class Program:
    """What an aggregator of several processes does."""

    settings: Settings
    sources: Sources
    services: Services
    collector: str = ""
    """Where spans are sent; empty: nowhere."""


class Supervisor:
    """An aggregator of several processes."""

    def __init__(self, program: Program, workers: int) -> None:
        if workers < 1:
            raise ValueError(f"there is at least one worker, not {workers}")
        self.catalog = Catalog([])
        """The collections that are served now."""
        self.port = 0
        """Where the workers listen, once they are started."""
        self._program = program
        self._settings = program.settings
        self._number = workers
        self._nursery = Nursery(be)
        self._attachments: list[Attachment] = []
        self._workers: list[Member] = []
        self._desk: Member | None = None
        self._background: list[asyncio.Task[None]] = []
        self._texts: Texts = ()
        self._reloads: deque[Reload] = deque(maxlen=_MOST_RELOADS)
        self._leaving = contextlib.AsyncExitStack()
        self._board: Board | None = None
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        """The counters, once it is started."""
        assert self._store is not None, "the aggregator has not been started"
        return self._store

    @property
    def calendar(self) -> Calendar:
        """Which epochs are accepted."""
        return self._settings.calendar

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The collections, as far as ingest is concerned."""
        return tuple(map(layout_of, self.catalog.served()))

    @property
    def reloads(self) -> tuple[Reload, ...]:
        """The latest reloads that have changed something, the newest first."""
        return tuple(self._reloads)

    @property
    def workers(self) -> list[int]:
        """The workers' processes."""
        return [worker.pid for worker in self._workers if worker.pid]

    def prepare(self) -> None:
        """Have what workers are forked from, which is cheapest before this process has begun anything; raises what
        keeps the collections from being read."""
        fastest_loop()  # loads what the loops of all of them need
        self._serve(self._program.sources.read())  # and so are the collections
        self._nursery.fork()

    def attach(self, attachment: Attachment) -> None:
        """Have something run beside the workers, in this process."""
        self._attachments.append(attachment)

    def totals(self) -> IngestStats:
        """What has happened at ingest, in all workers."""
        assert self._board is not None, "the aggregator has not been started"
        return self._board.total()

    async def start(self) -> None:
        """Own the port, reach the store, start the workers; raises what keeps any of them from it."""
        if self._program.collector:
            begin(self._program.collector, "supervisor")
        try:
            if not self._texts:
                self._serve(self._program.sources.read())
            settings = await self._set_up()
            self._desk, self._workers = self._hire(settings)
            await asyncio.gather(*(each.start() for each in self._staff()))
            for attachment in self._attachments:
                await self._leaving.enter_async_context(attachment(self))
        except BaseException:
            await self.drain()
            raise
        self._background = [
            asyncio.create_task(self.store.keep_folding()),
            asyncio.create_task(self._look()),
        ]

    async def drain(self) -> None:
        """End without losing anything, within the grace period."""
        for task in self._background:
            await ended(task)
        await asyncio.gather(*(worker.stop() for worker in self._workers))
        if self._desk:  # last: calls of workers to it end with the calls that they are for
            await self._desk.stop()
        self._nursery.close()
        await self._leaving.aclose()
        await end()

    def reload(self) -> None:
        """Serve what the collection files say now; a file that does not load changes nothing."""
        before = self.catalog.served()
        with span("reload") as own:
            try:
                self._serve(self._program.sources.read())
            except (CollectionError, OSError) as error:
                own.failed()
                _LOG.error("what is served stays as it is: %s", error)
                return
        for each in self._staff():
            each.reload(self._texts)
        changes = reloaded(before, self.catalog.served())
        if changes:
            self._reloads.appendleft(Reload(time.time(), tuple(changes)))
        for change in changes or ["nothing has changed"]:
            _LOG.info("read again: %s", change)

    def _serve(self, texts: Texts) -> None:
        self.catalog.replace(collections_of(texts))
        self._texts = texts

    async def _set_up(self) -> Settings:
        """The settings of the workers, for whom the port, the store and the board are there."""
        settings, leaving = self._settings, self._leaving
        settings.access.check()  # or a store would be begun by what can not serve it
        port = reserved(settings.listen)
        leaving.callback(port.close)
        self.port = port.getsockname()[1]
        room = Path(leaving.enter_context(tempfile.TemporaryDirectory(prefix="deniable-")))
        url, durability = settings.redis_url, settings.durability
        if settings.data_dir:
            durability = Durability()  # what it answers is synced
            embedded = EmbeddedStore(settings.data_dir)
            leaving.push_async_callback(embedded.stop)
            await embedded.start()
            url = embedded.url
        board = settings.board or room / "board"
        self._board = Board(board)  # only now: the directory is known to be ours
        for slot in range(2 * self._number):
            self._board.join(slot)  # nothing waits there, however an earlier worker has ended
        assert url is not None
        self._store = Store(url, shards=settings.shards, durability=durability)
        leaving.push_async_callback(self._store.close)
        await self._store.open(simulated=settings.simulated)
        listen = f"{settings.listen.rpartition(':')[0]}:{self.port}"
        return replace(
            settings,
            listen=listen,
            data_dir=None,
            redis_url=url,
            durability=durability,
            board=board,
            desk=room / "desk",
            reuse_port=True,
            workers=self._number,
            listeners=_LISTENERS,
            folds=False,
        )

    def _hire(self, settings: Settings) -> tuple[Member, list[Member]]:
        """The desk, and the workers."""
        services, texts = self._program.services, self._texts
        workers = [
            Member(
                Orders(replace(settings, worker=number), None, processor, texts, leave_none(self._number)),
                self._nursery,
                spare=number + self._number,
            )
            for number, processor in enumerate(processors_of(self._number))
        ]
        desk = Orders(settings, services, None, texts, collector=self._program.collector)
        return Member(desk, self._nursery), workers

    def _staff(self) -> list[Member]:
        """All of them."""
        return [*self._workers, *([self._desk] if self._desk else [])]

    async def _look(self) -> None:
        """Reload when a directory of collections changes, or a file that one of them names."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if self._program.sources.changed():
                self.reload()


async def _supervise(supervisor: Supervisor, ready: Callable[[], None]) -> None:
    starting = asyncio.ensure_future(supervisor.start())
    ending = asyncio.ensure_future(until_told({signal.SIGHUP: supervisor.reload}))
    await asyncio.wait({starting, ending}, return_when=asyncio.FIRST_COMPLETED)
    await starting
    if not ending.done():
        ready()
    await ending
    _LOG.info("draining")
    await supervisor.drain()


def serve(supervisor: Supervisor, ready: Callable[[], None], *, alone: bool = True) -> None:
    """Serve until SIGTERM or SIGINT, then drain; `ready` is called when devices can come.

    Nothing else has begun in a process that is alone with this: it can be forked.
    """
    raise_file_limit()
    if alone:
        supervisor.prepare()
    run(_supervise(supervisor, ready))
