"""Connections are bounded, and whoever holds them keeps no device out."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import resource
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from benchmarks.hostile_wire import Wire, framed
from grpc_health.v1 import health_pb2, health_pb2_grpc

from deniable_aggregator.serving import connections as connections_module
from deniable_aggregator.serving import server as serving_module
from deniable_aggregator.serving.connections import _FRESH_SECONDS, _LATEST, Guard, _cut, _late
from support.aggregator_server import Client, connected, request, serving
from support.aggregators import DIGEST, EXACT, running
from support.waiting import PATIENCE, until

QUICK = (("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200))


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A collection's file."""
    file = tmp_path / "metrics.toml"
    file.write_text(EXACT)
    return file


AGAIN = 0.1
HELD = 0.1
"""Seconds that a connection was open at least which had a place."""


class Silent:
    """Connections that say nothing, and come again as soon as they are closed; ten times a second where there is no
    room for them."""

    def __init__(self, port: int, number: int) -> None:
        self._port = port
        self._selector = selectors.DefaultSelector()
        self.reopened = 0
        self._refused = 0
        for _ in range(number):
            self._open()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._hold)
        self._thread.start()

    def _open(self) -> None:
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex(("127.0.0.1", self._port))
        self._selector.register(connection, selectors.EVENT_READ, time.monotonic())

    def _hold(self) -> None:
        due = 0.0
        while not self._ending.is_set():
            if self._refused and time.monotonic() > due:
                due = time.monotonic() + AGAIN
                for _ in range(self._refused):
                    self._open()
                self._refused = 0
            for key, _ in self._selector.select(AGAIN / 2):
                own = key.fileobj
                assert isinstance(own, socket.socket)
                with contextlib.suppress(OSError):
                    if own.recv(4096):
                        continue
                self._selector.unregister(own)
                own.close()
                self.reopened += 1
                if time.monotonic() - key.data < HELD:
                    self._refused += 1
                else:
                    self._open()

    def end(self) -> None:
        """Let go of all of them."""
        self._ending.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            own = key.fileobj
            assert isinstance(own, socket.socket)
            own.close()
        self._selector.close()


@contextlib.contextmanager
def silent(port: int, number: int) -> Iterator[Silent]:
    """Silent connections to a port, for a while."""
    held = Silent(port, number)
    try:
        yield held
    finally:
        held.end()


async def acknowledged(client: Client) -> bool:
    """Whether a device's batch is, when it tries as a device does: again, if it did not get through."""
    while True:
        batch = request((0, 1), epoch=today(), collection_digest=DIGEST)
        with contextlib.suppress(grpc.aio.AioRpcError):
            return not await client.submit(batch)
        await asyncio.sleep(0.1)


def today() -> int:
    """The epoch that it is now."""
    return int(time.time() // 86400)


def test_silent_connections_keep_no_device_out(collection: Path, tmp_path: Path) -> None:
    """With 1,024 files, 1,100 silent connections that come again whenever they are closed: a device gets through."""

    async def attack() -> None:
        async with running(collection, "--data", tmp_path / "data", most=(1024, 1024)) as aggregator:
            async with connected(aggregator.port) as client:
                assert await acknowledged(client)
            with silent(aggregator.port, 1100) as held:
                await until(lambda: held.reopened > 200)
                async with asyncio.timeout(PATIENCE):  # a single device used to wait for a tenth of it, or longer
                    for _ in range(10):
                        async with connected(aggregator.port, *QUICK) as client:
                            assert await acknowledged(client)

    asyncio.run(attack())


def test_the_file_limit_is_raised(collection: Path, tmp_path: Path) -> None:
    """All processes may have as many files as the system lets them, whatever the shell's limit was."""

    async def look() -> None:
        async with running(collection, "--data", tmp_path / "data", most=(512, 3000)) as aggregator:
            for pid in (aggregator.process.pid, *aggregator.workers()):
                assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (3000, 3000)

    asyncio.run(look())


def test_what_a_cut_connection_has_sent_is_not_read() -> None:
    """Pings that wait to be read cost nothing any more: whoever reads hears of the end first."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()) as far,
    ):
        own, _ = listening.accept()
        with own, selectors.DefaultSelector() as selector:
            far.sendall(bytes(10_000))
            selector.register(own, selectors.EVENT_READ)
            assert selector.select(PATIENCE)
            with socket.socket(fileno=os.dup(own.fileno())) as second:
                _cut(second)
            assert selector.select(PATIENCE), "who waits is told"
            with pytest.raises(OSError, match=r"reset|not connected"):
                own.recv(1)
        with pytest.raises(ConnectionResetError):
            far.recv(1)


def test_a_process_that_is_kept_from_running_is_busy_by_what_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a tenth of a processor it looks at who owes what as it would with a whole one."""

    async def kept() -> None:
        async with serving(tmp_path) as (server, _):
            guard = Guard(server.port, 200)
            for used, busy in ((0.01, False), (0.05, True)):
                guard._looked, guard._used, guard._kept = 0.0, 0.0, 0.0
                monkeypatch.setattr(time, "monotonic", lambda: 1.0)
                monkeypatch.setattr(time, "process_time", lambda used=used: used)
                monkeypatch.setattr(connections_module, "waited", lambda: 0.9)
                try:
                    await guard.look()
                finally:
                    monkeypatch.undo()
                assert guard._busy == busy

    asyncio.run(kept())


def test_when_places_run_out_the_quietest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below half of the places nobody is closed; above it the quiet are, and those that have just spoken are not."""
    monkeypatch.setattr(serving_module, "places", lambda: 1 << 16)
    monkeypatch.setattr(connections_module, "_FRESH_AT_MOST", _FRESH_SECONDS)

    async def crowd() -> None:
        async with serving(tmp_path) as (server, client):
            assert await client.submit(request((0, 1))) is False
            guard = Guard(server.port, 200)
            assert await guard.look() == 0
            files = len(os.listdir("/proc/self/fd"))
            wires = [Wire(server.port).begin() for _ in range(150)]
            await until(lambda: len(os.listdir("/proc/self/fd")) >= files + 2 * len(wires), "all are accepted")

            def quiet() -> list[float]:
                found = map(guard._connection, map(int, os.listdir("/proc/self/fd")))
                return sorted(each.quiet for each in found if each)

            before = len(os.listdir("/proc/self/fd"))
            await until(lambda: quiet()[-len(wires)] > _FRESH_SECONDS, "all have been quiet for long enough")
            assert await client.submit(request((0, 1))) is False
            number = await guard.look()
            assert number == 150 + 1 - 75
            assert len(os.listdir("/proc/self/fd")) <= before

            def gone() -> int:
                for wire in wires:
                    wire.hear()
                return sum(not wire.open for wire in wires)

            await until(lambda: gone() == number)
            assert await client.submit(request((0, 1))) is False
            for wire in wires:
                wire.close()

    asyncio.run(crowd())


def test_a_process_that_hardly_runs_knows_that_it_is_late() -> None:
    """By what it was kept from since it looked last: what it does, and whom it takes for quiet, is told by that."""
    assert _late(0.5, 0.0) == 1.0
    assert _late(0.5, 0.25) == 2.0
    assert _late(0.5, 0.5) == _late(0.5, 9.0) == _LATEST
    assert _late(0.0, 0.0) == 1.0


def test_watchers_that_take_no_answer_hold_nothing_up(tmp_path: Path) -> None:
    """Those who watch health and read nothing keep neither it from changing nor the aggregator from ending."""

    async def watch() -> None:
        async with serving(tmp_path) as (server, client):
            deaf = Wire(server.port, window=0).begin()
            path = "/grpc.health.v1.Health/Watch"
            for _ in range(3):
                deaf.call(path, framed(b""))
            await until(lambda: server._calls._lasting[path] == 3)
            health = health_pb2_grpc.HealthStub(client.channel)
            call = health.Watch(health_pb2.HealthCheckRequest())
            assert (await call.read()).status == health_pb2.HealthCheckResponse.SERVING
            await asyncio.wait_for(server.drain(), PATIENCE)
            assert (await call.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
            deaf.close()

    asyncio.run(watch())


def test_connections_are_looked_at_again_where_a_look_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without a file left can not look, and goes on as soon as it can."""
    looks: list[str] = []

    def listdir(path: str) -> list[str]:
        looks.append(path)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async def keep() -> None:
        guarding = asyncio.create_task(Guard(1, 64).keep())
        await until(lambda: len(looks) > 1 or guarding.done())
        assert not guarding.done()
        guarding.cancel()

    monkeypatch.setattr(os, "listdir", listdir)
    asyncio.run(keep())
