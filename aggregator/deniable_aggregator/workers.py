"""Several processes that share a port, and one that watches over them.

words:
  supervisor  owns the port, the store's process, the board and what runs beside the workers; starts every worker,
              and starts one again that dies; folds what workers add; takes no calls itself
  worker      a process that takes calls: one Server. The nursery forks it (`nursery.py`), since gRPC, which the
              supervisor may have begun with, does not survive a fork
  desk        a process beside them that answers questions (`desk.py`); it is started and told as a worker is
  link        the socket between the two. The supervisor says what to serve, the worker what became of it; when the
              supervisor is gone, however it went, the link is closed and the worker drains
  reload      to serve what the collection files say now: on SIGHUP, and when something changes in a directory that
              was given. Workers keep their connections; a file that does not load changes nothing. The supervisor
              reads the files, and tells workers what they say: one that is started again serves what the others do

A worker that dies takes the calls with it that it had not answered: devices repeat them. Nothing that was
acknowledged is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import pickle
import signal
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from deniable import CollectionError
from deniable_aggregator.catalog import Catalog
from deniable_aggregator.connections import raise_file_limit
from deniable_aggregator.desk import Desk, passing
from deniable_aggregator.ingest import Board, Calendar, IngestStats, Layout
from deniable_aggregator.nursery import Child, Nursery, call_this
from deniable_aggregator.processors import Placement, placing, processors_of, take_turns
from deniable_aggregator.server import AddService, Attachment, Server, Settings, ended, fastest_loop, layout_of
from deniable_aggregator.sources import Sources, Texts, collections_of
from deniable_aggregator.store import Durability, EmbeddedStore, Store, StoreError

__all__ = ["Orders", "Program", "Supervisor", "be", "serve"]

_LOG = logging.getLogger(__name__)
_LENGTH_BYTES = 4
_FIRST_PAUSE = 0.05
_LAST_PAUSE = 5.0
_STEADY_SECONDS = 30.0
"""A worker that has run for so long is started again without a longer pause."""
_LOOK_SECONDS = 1.0
"""How often directories are looked at."""
_LISTENERS = 8
"""Of each worker (measured with one worker: two take 1.17 times the calls of one, four 1.25 times, eight 1.07 times
those of four)."""
_COLLECT = (20_000, 20, 100)
"""When the collector looks for cycles. Calls leave none, however they end (tests/attacks/test_memory.py), but while
many are in flight it looks at all of them again and again (measured: 4% of the time)."""
_ORPHANED_SECONDS = 1.0
"""For draining when the supervisor is gone, and most likely the store with it."""
_LAST_SECONDS = 5.0
"""Beyond the grace period: what a worker has left to end by itself, before it is killed."""


Services = Callable[[Catalog], Sequence[AddService]]
"""What answers questions. It travels to the desk: it has to be a function of a module."""


@dataclass(frozen=True, slots=True)
class Program:
    """What an aggregator of several processes does."""

    settings: Settings
    sources: Sources
    services: Services


class Orders(NamedTuple):
    """What a worker is told first."""

    settings: Settings
    services: Services | None
    """What the desk answers; None for a worker, which need not load any of it."""
    processor: int | None
    """The processor that it keeps to; None: whichever is free."""
    texts: Texts


class _Link:
    """One end of a link: messages are objects that can be pickled."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> _Link:
        """A link over a connected socket."""
        return cls(*await asyncio.open_unix_connection(sock=end))

    def say(self, message: object) -> None:
        """Send a message; nothing happens when the other end is gone."""
        if not self._writer.is_closing():  # uvloop's transports raise when they are written to after that
            text = pickle.dumps(message)
            self._writer.write(len(text).to_bytes(_LENGTH_BYTES, "big") + text)

    async def hear(self) -> Any:
        """The next message; None when the other end is gone."""
        try:
            length = int.from_bytes(await self._reader.readexactly(_LENGTH_BYTES), "big")
            return pickle.loads(await self._reader.readexactly(length))  # noqa: S301 - from our own process
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def close(self) -> None:
        """Let the other end know that this one is gone."""
        self._writer.close()


class _Worker:
    """A worker as its supervisor sees it; or the desk."""

    def __init__(self, orders: Orders, nursery: Nursery) -> None:
        self._orders = orders
        self._nursery = nursery
        self._name = "the desk" if orders.services else f"worker {orders.settings.worker}"
        self._process: Child | None = None
        self._link: _Link | None = None
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
        self._link = await _Link.over(ours)
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
        self._workers: list[_Worker] = []
        self._desk: _Worker | None = None
        self._background: list[asyncio.Task[None]] = []
        self._texts: Texts = ()
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
        return tuple(map(layout_of, self.catalog.collections()))

    @property
    def workers(self) -> list[int]:
        """The workers' processes."""
        return [worker.pid for worker in self._workers if worker.pid]

    def prepare(self) -> None:
        """Have what workers are forked from, which is cheapest before this process has begun anything."""
        fastest_loop()  # loads what the loops of all of them need
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
        try:
            self._serve(self._program.sources.read())
            settings = await self._settle()
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
        seconds = self._settings.grace + _LAST_SECONDS
        await asyncio.gather(*(worker.stop(seconds) for worker in self._workers))
        if self._desk:  # last: calls of workers to it end with the calls that they are for
            await self._desk.stop(seconds)
        self._nursery.close()
        await self._leaving.aclose()

    def reload(self) -> None:
        """Serve what the collection files say now; a file that does not load changes nothing."""
        try:
            self._serve(self._program.sources.read())
        except (CollectionError, OSError) as error:
            _LOG.error("what is served stays as it is: %s", error)
            return
        for each in self._staff():
            each.reload(self._texts)
        _LOG.info("serving %s", ", ".join(collection.name for collection in self.catalog.collections()))

    def _serve(self, texts: Texts) -> None:
        self.catalog.replace(collections_of(texts))
        self._texts = texts

    async def _settle(self) -> Settings:
        """The settings of the workers, for whom the port, the store and the board are there."""
        settings, leaving = self._settings, self._leaving
        port = _reserved(settings.listen)
        leaving.callback(port.close)
        self.port = port.getsockname()[1]
        room = Path(leaving.enter_context(tempfile.TemporaryDirectory(prefix="deniable-")))
        board = settings.board or room / "board"
        self._board = Board(board)
        url, durability = settings.redis_url, settings.durability
        if settings.data_dir:
            durability = Durability()  # what it answers is synced
            embedded = EmbeddedStore(settings.data_dir)
            leaving.push_async_callback(embedded.stop)
            await embedded.start()
            url = embedded.url
        assert url is not None
        self._store = Store(url, shards=settings.shards, durability=durability)
        leaving.push_async_callback(self._store.close)
        await self._store.open()
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
            listeners=_LISTENERS,
            folds=False,
        )

    def _hire(self, settings: Settings) -> tuple[_Worker, list[_Worker]]:
        """The desk, and the workers."""
        services, texts = self._program.services, self._texts
        workers = [
            _Worker(Orders(replace(settings, worker=number), None, processor, texts), self._nursery)
            for number, processor in enumerate(processors_of(self._number))
        ]
        return _Worker(Orders(settings, services, None, texts), self._nursery), workers

    def _staff(self) -> list[_Worker]:
        """All of them."""
        return [*self._workers, *([self._desk] if self._desk else [])]

    async def _look(self) -> None:
        """Reload when a directory of collections changes, or a file that one of them names."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if self._program.sources.changed():
                self.reload()


def _reserved(listen: str) -> socket.socket:
    """A socket that keeps the port for the workers without taking calls itself; an OSError where it is taken.

    Ports that are shared are shared with anybody of this user who asks for it: so it is first taken alone.
    """
    host, _, port = listen.rpartition(":")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]") or None, int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            taken = socket.socket(family, kind, protocol)
            taken.setsockopt(socket.SOL_SOCKET, option, 1)
            if family == socket.AF_INET6:
                taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            try:
                taken.bind(address)
                address = (address[0], taken.getsockname()[1], *address[2:])
            except OSError:
                taken.close()
                raise
            if option == socket.SO_REUSEADDR:
                taken.listen(1)  # two that only bind do not notice each other
                taken.close()
    except (OSError, ValueError) as error:
        raise OSError(f"can not listen on {listen}: {error}") from error
    return taken


async def _until_told(events: dict[signal.Signals, Callable[[], None]]) -> None:
    """Wait for SIGTERM or SIGINT, and do what belongs to other signals."""
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end.set)
    for number, action in events.items():
        loop.add_signal_handler(number, action)
    await end.wait()


async def _supervise(supervisor: Supervisor, ready: Callable[[], None]) -> None:
    starting = asyncio.ensure_future(supervisor.start())
    ending = asyncio.ensure_future(_until_told({signal.SIGHUP: supervisor.reload}))
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
    _run(_supervise(supervisor, ready))


def _run(work: Awaitable[None]) -> None:
    async def all_of_it() -> None:
        await work

    with asyncio.Runner(loop_factory=fastest_loop()) as runner:
        runner.run(all_of_it())


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
        return Desk(settings, orders.services(catalog))
    return Server(settings, map(layout_of, catalog.collections()), [passing(settings.desk)])


async def _work(link: _Link) -> None:
    """Serve what the supervisor says, until it or a signal says otherwise."""
    orders: Orders | None = await link.hear()
    if orders is None:
        return  # the supervisor is gone already
    call_this("deniable-desk" if orders.services else "deniable-worker")
    raise_file_limit()
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
    told = asyncio.create_task(_until_told({}))
    while True:
        hearing = asyncio.create_task(link.hear())
        await asyncio.wait({told, hearing}, return_when=asyncio.FIRST_COMPLETED)
        if told.done() or hearing.result() is None:
            if looking:
                looking.cancel()
            await server.drain(None if told.done() else _ORPHANED_SECONDS)
            return
        catalog.replace(collections_of(hearing.result()))
        server.reload(map(layout_of, catalog.collections()))


async def _keep_place(placement: Placement) -> None:
    """Have this worker's threads run as is best beside whatever else runs."""
    loop = asyncio.get_running_loop()
    while True:
        began = loop.time()
        await asyncio.sleep(_LOOK_SECONDS)
        placement.look(loop.time() - began)


async def _begin(descriptor: int) -> None:
    link = await _Link.over(socket.socket(fileno=descriptor))
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
    _run(_begin(descriptor))
