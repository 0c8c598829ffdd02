"""Collections that an aggregator reads again while it runs: all its workers serve the same, and no call fails."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import grpc
import pytest

from deniable_aggregator.serving.answering import answering
from deniable_aggregator.serving.server import Settings
from deniable_aggregator.serving.sources import Sources
from deniable_aggregator.serving.supervisor import Program, Supervisor
from support.aggregator_server import Client, connected
from support.aggregators import (
    CONNECTIONS,
    DIGEST,
    EXACT,
    OTHER,
    OTHER_DIGEST,
    WORKERS,
    Aggregator,
    answered,
    batch,
    becomes,
    connections,
    running,
)
from support.waiting import PATIENCE, until

OK, UNKNOWN = grpc.StatusCode.OK, grpc.StatusCode.FAILED_PRECONDITION


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A collection's file."""
    file = tmp_path / "metrics.toml"
    file.write_text(EXACT)
    return file


def test_collections_are_read_again_without_dropping_a_call(tmp_path: Path) -> None:
    """What comes into a watched directory is served, what leaves it is not, and no call of the others fails."""
    room = tmp_path / "collections"
    room.mkdir()
    (room / "first.toml").write_text(EXACT)
    second, said = room / "second.toml", tmp_path / "log"
    failures: list[grpc.StatusCode] = []
    ended = asyncio.Event()

    async def load(client: Client) -> None:
        while not ended.is_set():
            code = await answered(client, batch())
            if code is not OK:
                failures.append(code)

    async def reload() -> None:
        async with (
            running(room, "--data", tmp_path / "data", "--workers", str(WORKERS), log=said) as aggregator,
            connections(aggregator.port, CONNECTIONS) as clients,
        ):
            pids = aggregator.workers()
            loading = asyncio.gather(*(load(client) for client in clients[:8]))
            assert await answered(clients[0], batch(OTHER_DIGEST)) is UNKNOWN
            second.write_text(OTHER)
            await asyncio.gather(*(becomes(client, OTHER_DIGEST, OK) for client in clients))
            (room / "broken.toml").write_text("[collection]\nname = 5\n")
            await until(lambda: "what is served stays as it is" in said.read_text())
            assert await answered(clients[0], batch(OTHER_DIGEST)) is OK
            (room / "broken.toml").unlink()
            second.unlink()
            await asyncio.gather(*(becomes(client, OTHER_DIGEST, UNKNOWN) for client in clients))
            ended.set()
            await loading
            assert aggregator.workers() == pids

    asyncio.run(reload())
    assert failures == []


def test_a_worker_is_replaced_while_a_file_is_broken(tmp_path: Path, collection: Path) -> None:
    """One that is started again serves what the others do, not what a file said at first or says by then."""

    async def kill() -> None:
        async with running(collection, "--data", tmp_path / "data") as aggregator:
            async with connected(aggregator.port) as client:
                collection.write_text(OTHER)  # noqa: ASYNC240 - nothing else is going on
                aggregator.process.send_signal(signal.SIGHUP)
                await becomes(client, OTHER_DIGEST, OK)
            collection.write_text("[collection]\nname = 5\n")  # noqa: ASYNC240
            aggregator.process.send_signal(signal.SIGHUP)
            (before,) = aggregator.workers()
            os.kill(before, signal.SIGKILL)
            await until(lambda: aggregator.workers() not in ([], [before]))
            async with connected(aggregator.port) as client:
                await asyncio.wait_for(client.channel.channel_ready(), PATIENCE)
                assert await answered(client, batch(OTHER_DIGEST)) is OK
                collection.write_text(EXACT)  # noqa: ASYNC240
                aggregator.process.send_signal(signal.SIGHUP)
                await becomes(client, DIGEST, OK)

    asyncio.run(kill())


async def take_down(aggregator: Aggregator, pid: int) -> None:
    """Kill a worker, and whoever takes its place, until the next one is started only after half a second."""
    others = set(aggregator.workers()) - {pid}
    for _ in range(3):
        await until(lambda: len(aggregator.workers()) == len(others) + 1)
        (pid,) = set(aggregator.workers()) - others
        os.kill(pid, signal.SIGKILL)
        await until(lambda pid=pid: pid not in aggregator.workers())  # type: ignore[misc]


def test_a_reload_reaches_all_while_a_worker_is_down(tmp_path: Path, collection: Path) -> None:
    """What is read while a worker is started again is served by the others, and then by the new one."""

    async def kill() -> None:
        async with running(collection, "--data", tmp_path / "data", "--workers", str(WORKERS)) as aggregator:
            before = aggregator.workers()
            for pid, (text, digest) in zip(before, ((OTHER, OTHER_DIGEST), (EXACT, DIGEST)), strict=True):
                await take_down(aggregator, pid)
                collection.write_text(text)  # noqa: ASYNC240 - nothing else is going on
                aggregator.process.send_signal(signal.SIGHUP)
                await until(lambda: len(aggregator.workers()) == WORKERS)
                async with connections(aggregator.port, CONNECTIONS) as clients:
                    waiting = [client.channel.channel_ready() for client in clients]
                    await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE)
                    await asyncio.gather(*(becomes(client, digest, OK) for client in clients))

    asyncio.run(kill())


def test_a_reload_during_the_start_reaches_the_workers(tmp_path: Path, collection: Path) -> None:
    """Workers begin with what was read last, not with what was read first."""

    async def start() -> None:
        settings = Settings(listen="127.0.0.1:0", data_dir=tmp_path / "data")
        supervisor = Supervisor(Program(settings, Sources((collection,)), answering), 1)
        starting = asyncio.create_task(supervisor.start())
        await until(lambda: bool(supervisor.catalog.collections()))
        collection.write_text(OTHER)  # noqa: ASYNC240 - nothing else is going on
        assert supervisor.workers == []
        supervisor.reload()
        await starting
        async with connected(supervisor.port) as client:
            assert await answered(client, batch(OTHER_DIGEST)) is OK
        await supervisor.drain()

    asyncio.run(start())


def test_sighup_reads_files_again(tmp_path: Path, collection: Path) -> None:
    """A file that was given by name is read again on SIGHUP, and not before."""

    async def reload() -> None:
        async with (
            running(collection, "--data", tmp_path / "data") as aggregator,
            connected(aggregator.port) as client,
        ):
            collection.write_text(OTHER)  # noqa: ASYNC240 - nothing else is going on
            assert not Sources((collection,)).changed(), "nothing of it is looked at"
            assert await answered(client, batch()) is OK
            assert await answered(client, batch(OTHER_DIGEST)) is UNKNOWN
            aggregator.process.send_signal(signal.SIGHUP)
            await becomes(client, OTHER_DIGEST, OK)
            assert await answered(client, batch()) is UNKNOWN

    asyncio.run(reload())


def test_sighup_to_all_of_them_is_one_to_the_supervisor(tmp_path: Path, collection: Path) -> None:
    """Whoever sends it by name ("deniable") reaches workers, desk and nursery, too: what is served is read again, and
    none of them ends."""

    async def reload() -> None:
        async with (
            running(collection, "--data", tmp_path / "data") as aggregator,
            connected(aggregator.port) as client,
        ):
            assert await client.submit(batch()) is False
            children = aggregator.children()
            collection.write_text(OTHER)  # noqa: ASYNC240 - nothing else is going on
            for pid in (*(pid for pid in children if pid != aggregator.store()), aggregator.process.pid):
                os.kill(pid, signal.SIGHUP)
            await becomes(client, OTHER_DIGEST, OK)
            assert aggregator.children() == children

    asyncio.run(reload())
