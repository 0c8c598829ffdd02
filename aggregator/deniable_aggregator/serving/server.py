"""One process of the aggregator: the store, ingest, and gRPC around them.

words:
  drain  to end without loss: say so in the health service, take nothing new, store and acknowledge what was
         taken, and only then let go of the store
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import grpc
from grpc_health.v1 import health
from grpc_health.v1.health_pb2 import HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server
from grpc_reflection.v1alpha import reflection

from deniable.collection import Collection
from deniable_aggregator.ingest import (
    NAME,
    Admission,
    Batcher,
    Board,
    Calendar,
    FlushSettings,
    IngestStats,
    Layout,
    ReportService,
)
from deniable_aggregator.ingest.bounds import most_bytes
from deniable_aggregator.serving.access import Access
from deniable_aggregator.serving.calls import Calls
from deniable_aggregator.serving.conduct import Conduct
from deniable_aggregator.serving.connections import Guard, places
from deniable_aggregator.serving.giving_back import Memory
from deniable_aggregator.serving.health import Health
from deniable_aggregator.serving.naming import Naming
from deniable_aggregator.serving.sources import Reload
from deniable_aggregator.store import Durability, EmbeddedStore, Promise, Store, StoreError

__all__ = ["AddService", "Aggregator", "Attachment", "Server", "Settings", "ended", "fastest_loop", "layout_of"]

_LOG = logging.getLogger(__name__)

AddService = Callable[[grpc.aio.Server, Store], str]
"""Adds a servicer that reads the store to a server that has not started, and names the service in full."""

Attachment = Callable[["Aggregator"], contextlib.AbstractAsyncContextManager[None]]
"""What runs beside a server on its loop, from when it listens to when it drains: the web site, for one."""

_SYNCED = Durability(Promise.FSYNC)
_STORE_CHECK_SECONDS = 0.5
_CANCEL_SECONDS = 0.1
_MOST_CALLS = 32_000
"""Of a process, at a time: as many as may wait to be stored, and half as many whose answers nobody takes."""
_MOST_PENDING = 2000
"""Calls that the loop has not even looked at are for gRPC to keep, with whatever has come of their messages. The
batcher bounds what waits to be stored, and says so in words; here calls are cut, and some of the last tenth."""
_UNREAD_BYTES = 8 << 20
"""Messages that have not come wholly are given so much memory together."""
_LEAST_UNREAD = 16
_LAST_WORD_SECONDS = 1.0
"""When everything is stored, calls have this long to take their answers; those that watch something are cut."""

MOST_AT_ONCE = 32
"""Calls of a connection at a time: a device has one, a gateway a stream, and a proxy opens more connections."""

OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.max_metadata_size", 8192),
    ("grpc.absolute_max_metadata_size", 16384),
    # What gRPC takes of a message that nobody has asked for; a probe of the line would make it megabytes. A piece
    # that is read stays whole for as long as any message that begins in it.
    ("grpc.http2.lookahead_bytes", 4096),
    ("grpc.http2.bdp_probe", 0),
    ("grpc.experimental.tcp_max_read_chunk_size", 8192),
    # What is beyond so many calls of a connection is refused before anything is made of it, and until a client has
    # agreed to that, what is beyond so many altogether: whoever floods brings no more along with each connection.
    # gRPC's clients wait until they are told; one that takes a hundred for granted makes those that are refused
    # again. Calls that have just ended do not count. After four new ones others have a turn. One that is refused is
    # not kept for a second to annoy whoever made it.
    ("grpc.max_concurrent_streams", MOST_AT_ONCE),
    ("grpc.http2.max_deallocating_streams", 100),
    ("grpc.http2.max_requests_per_read", 4),
    ("grpc.http.tarpit", 0),
    # Devices come and go. One that says nothing at first is gone after ten seconds, one that vanished is noticed
    # after two minutes, one that is silent is asked to connect again; one that pings more than twice a minute is not
    # a device.
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.keepalive_time_ms", 100_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.max_connection_idle_ms", 120_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 30_000),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What an aggregator is told when it is started."""

    listen: str = "[::]:8470"
    """Where devices reach it; port 0 is any that is free."""
    data_dir: Path | None = None
    """Where the embedded store keeps its file; None with a store of one's own."""
    redis_url: str | None = None
    """A Redis or Valkey server of one's own; None with the embedded store."""
    durability: Durability = _SYNCED
    """What a batch has to have survived in a server of one's own before it is acknowledged. The embedded store syncs
    everything before it answers."""
    shards: int = 1
    """How many parts the counters are spread over; a store keeps to the number it was begun with."""
    calendar: Calendar = field(default_factory=Calendar)
    """Which epochs are accepted, and for how long counters are kept."""
    flush: FlushSettings = field(default_factory=FlushSettings)
    """When waiting batches are stored, and how many may wait."""
    grace: float = 20.0
    """Seconds for draining."""
    reuse_port: bool = False
    """Other processes may listen on the same port, and share its calls."""
    listeners: int = 1
    """How many gRPC servers of this process share the port. Each of them accepts one call after another and waits in
    between, so that one alone leaves a fifth of the time of its loop unused."""
    access: Access = field(default_factory=Access)
    """Who is let in."""
    board: Path | None = None
    """The file in which processes that share a port add up what has happened; None: each has its own counts."""
    worker: int = 0
    """This process's number on the board."""
    workers: int = 1
    """How many processes take calls beside each other: each lets through its part of what a token may bring."""
    desk: Path | None = None
    """The socket of the process that answers questions; None: this process answers them."""
    worker_memory: int = 512 << 20
    """Bytes that a worker may have before a fresh one takes its place (`relief.py`)."""
    simulated: bool = False
    """Its store is for simulated devices."""
    folds: bool = True
    """This process folds what is added into the counters; otherwise another one does."""

    def __post_init__(self) -> None:
        if (self.data_dir is None) == (self.redis_url is None):
            raise ValueError("an aggregator has either a data directory or the address of a store")
        if self.grace < 0:
            raise ValueError(f"a grace period is not negative: {self.grace}")
        if self.listeners < 1 or (self.listeners > 1 and not self.reuse_port):
            raise ValueError("there is at least one listener, and several have to share the port")


def layout_of(collection: Collection) -> Layout:
    """A collection, as far as ingest is concerned."""
    columns = tuple((column.metric, column.shape) for column in collection.columns)
    spans = collection.epoch_seconds, collection.segment_count
    return Layout(collection.name, collection.digest, *spans, columns, collection.ends)


class Aggregator(Protocol):
    """What those who run beside an aggregator see of it."""

    @property
    def store(self) -> Store:
        """The counters."""

    @property
    def calendar(self) -> Calendar:
        """Which epochs are accepted."""

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The collections, as far as ingest is concerned."""

    @property
    def reloads(self) -> tuple[Reload, ...]:
        """The latest reloads that have changed something, the newest first."""

    def totals(self) -> IngestStats:
        """What has happened at ingest, in all processes."""


class Server:
    """An aggregator of one process, or one of several that share a port."""

    def __init__(
        self,
        settings: Settings,
        layouts: Iterable[Layout],
        services: Sequence[AddService] = (),
        attachments: Sequence[Attachment] = (),
    ) -> None:
        self._board = Board(settings.board) if settings.board else None
        self.stats = self._board.join(settings.worker) if self._board else IngestStats()
        """What has happened at ingest, in this process."""
        self.port = 0
        """Where it listens, once it is started."""
        self._settings = settings
        self._layouts = tuple(layouts)
        self._services = services
        self._attachments = attachments
        self._attached = contextlib.AsyncExitStack()
        self._embedded = EmbeddedStore(settings.data_dir) if settings.data_dir else None
        self._health = Health()
        self._background: list[asyncio.Task[None]] = []
        self._memory = Memory()
        self._naming = Naming(warns=settings.worker == 0)
        self._guard: Guard | None = None
        self._calls = Calls(1, Conduct(self._expel))
        self._message_bytes = 0
        self._grpc: list[grpc.aio.Server] = []
        self._door: Admission | None = None
        self._reports: ReportService | None = None
        self._store: Store | None = None
        self._names: tuple[str, ...] = ()

    @property
    def calendar(self) -> Calendar:
        """Which epochs are accepted."""
        return self._settings.calendar

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The collections, as far as ingest is concerned."""
        return self._layouts

    @property
    def reloads(self) -> tuple[Reload, ...]:
        """None: who tells it what to serve knows of them."""
        return ()

    def totals(self) -> IngestStats:
        """What has happened at ingest, in all processes of the board."""
        return self._board.total() if self._board else self.stats

    @property
    def store(self) -> Store:
        """The counters, once it is started."""
        assert self._store is not None, "the aggregator has not been started"
        return self._store

    async def start(self) -> None:
        """Reach the store, then listen; a StoreError or OSError where one of them fails."""
        try:
            await self._open_store()
            await self._listen()
            for attachment in self._attachments:
                await self._attached.enter_async_context(attachment(self))
        except BaseException:
            await self._attached.aclose()
            await self._stop(0)
            await self._close_store()
            raise
        assert self._guard
        watches = (self._watch_store(), self._calls.keep(), self._guard.keep(), self._memory.keep_giving_back())
        self._background = [asyncio.create_task(watch) for watch in watches]
        if self._settings.folds:
            self._background.append(asyncio.create_task(self.store.keep_folding()))

    def reload(self, layouts: Iterable[Layout]) -> None:
        """Take batches of these collections, and of no others."""
        assert self._door, "the aggregator has not been started"
        self._layouts = tuple(layouts)
        self._door.replace(self._layouts)
        if most_bytes(self._door.bound) > self._message_bytes:
            _LOG.error(
                "a batch may have %d bytes now, and this process takes messages of %d: start it again",
                self._door.bound.size,
                self._message_bytes,
            )

    async def drain(self, grace: float | None = None) -> None:
        """End without losing anything, within the grace period; or within so many seconds, if that is less."""
        grace = self._settings.grace if grace is None else min(grace, self._settings.grace)
        assert self._grpc, "the aggregator has not been started"
        assert self._reports
        for task in self._background:
            await ended(task)
        self._health.end()
        await self._attached.aclose()
        ending = asyncio.create_task(self._stop(grace))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._reports.drain(), grace)
        await self._stop(min(_LAST_WORD_SECONDS, grace))
        await ending
        await self._close_store()

    async def _open_store(self) -> None:
        if self._embedded:
            await self._embedded.start()
        url = self._embedded.url if self._embedded else self._settings.redis_url
        assert url is not None
        durability = Durability() if self._embedded else self._settings.durability
        self._store = Store(url, shards=self._settings.shards, durability=durability)
        await self._store.open(simulated=self._settings.simulated)
        await self._naming.tell(self._store, self._layouts)

    async def _close_store(self) -> None:
        if self._store:
            await self._store.close()
        if self._embedded:
            await self._embedded.stop()

    async def _listen(self) -> None:
        settings = self._settings
        batcher = Batcher(self.store, settings.calendar, settings.flush, self.stats)
        self._door = Admission(self._layouts, settings.calendar)
        self._reports = ReportService(self._door, batcher, self.stats)
        self._message_bytes = most_bytes(self._door.bound)
        conduct = Conduct(self._expel)
        self._calls = Calls(max(_UNREAD_BYTES // self._message_bytes, _LEAST_UNREAD), conduct)
        guards = settings.access.guards(settings.workers)
        self._grpc = [self._listener(guards) for _ in range(settings.listeners)]
        for name in self._names:
            self._health.set(name, HealthCheckResponse.SERVING)
        self._guard = Guard(
            self.port,
            places(),
            lambda: self._memory.grown,
            self._calls.storing,
            conduct.take_credits,
            lambda peer: self._calls.asked_of(peer) * self._message_bytes,
        )
        for listener in self._grpc:
            await listener.start()

    def _listener(self, guards: Sequence[grpc.aio.ServerInterceptor]) -> grpc.aio.Server:
        """One of the gRPC servers; the first one finds the port."""
        settings = self._settings
        assert self._reports
        options = (
            *OPTIONS,
            ("grpc.so_reuseport", int(settings.reuse_port)),
            ("grpc.max_receive_message_length", self._message_bytes),
            ("grpc.max_allowed_incoming_connections", places() // settings.listeners),
            ("grpc.server.max_pending_requests", 9 * _MOST_PENDING // settings.listeners // 10),
            ("grpc.server.max_pending_requests_hard_limit", _MOST_PENDING // settings.listeners),
        )
        listener = grpc.aio.server(
            interceptors=guards, options=options, maximum_concurrent_rpcs=_MOST_CALLS // settings.listeners
        )
        listener.add_registered_method_handlers = _not_registered  # type: ignore[method-assign]
        through = self._calls.through(listener.add_generic_rpc_handlers)
        listener.add_generic_rpc_handlers = through  # type: ignore[method-assign,assignment]
        self._reports.add_to(listener)
        names = [NAME, *(add(listener, self.store) for add in self._services)]
        add_HealthServicer_to_server(self._health, listener)
        reflection.enable_server_reflection([*names, health.SERVICE_NAME, reflection.SERVICE_NAME], listener)
        where = f"{settings.listen.rpartition(':')[0]}:{self.port}" if self.port else settings.listen
        self.port = settings.access.listen(listener, where)
        self._names = ("", *names)
        return listener

    def _expel(self, peer: str) -> None:
        if self._guard:
            self._guard.expel(peer)

    async def _stop(self, grace: float) -> None:
        await asyncio.gather(*(listener.stop(grace) for listener in self._grpc))

    async def _watch_store(self) -> None:
        """Keep the health service true while the store comes and goes."""
        while True:
            try:
                await self.store.ping()
                status = HealthCheckResponse.SERVING
            except StoreError:
                status = HealthCheckResponse.NOT_SERVING
            for name in self._names:
                self._health.set(name, status)
            await self._naming.tell(self.store, self._layouts)
            await asyncio.sleep(_STORE_CHECK_SECONDS)


def _not_registered(service_name: str, method_handlers: Mapping[str, grpc.RpcMethodHandler[Any, Any]]) -> None:
    """What is generated registers its methods beside having them looked up by name.

    Each of them then gets a queue in gRPC, and grpc.aio waits for all queues anew at every call (measured with the
    four methods of health and reflection alone: 4% of a call's processor time). By name, all share one.
    """


async def ended(task: asyncio.Task[None]) -> None:
    """Cancel a task until it has ended: redis-py sometimes swallows a cancellation."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=_CANCEL_SECONDS)


def fastest_loop() -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes event loops: uvloop where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
