"""Several workers on one port, and the process that watches over them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import grpc
import pytest

from deniable_aggregator.ingest import Board
from deniable_aggregator.serving.answering import answering
from deniable_aggregator.serving.server import Settings
from deniable_aggregator.serving.sources import Sources
from deniable_aggregator.serving.supervisor import Program, Supervisor
from deniable_aggregator.store import CounterKey
from support.aggregator_server import Client, connected
from support.aggregators import (
    CONNECTIONS,
    DIGEST,
    EXACT,
    NURSE,
    WORKERS,
    answered,
    batch,
    connections,
    gone,
    running,
    starting_late,
    today,
)
from support.commands import EDITOR, deniable
from support.stored import stored_in
from support.waiting import PATIENCE, until

T = TypeVar("T")


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A collection's file."""
    file = tmp_path / "metrics.toml"
    file.write_text(EXACT)
    return file


async def stored(data: Path) -> int:
    """How many batches a store without an aggregator has counted."""
    async with stored_in(data) as store:
        (counters,) = await store.read([CounterKey(DIGEST, 0, today(), 1)])
    return 0 if counters is None else int(counters.sum())


def test_workers_share_a_port_and_a_store(tmp_path: Path, collection: Path) -> None:
    """Every worker takes calls, a batch known to one is known to all, and their counts add up."""

    async def submit() -> None:
        data = tmp_path / "data"
        async with running(collection, "--data", data, "--workers", str(WORKERS)) as aggregator:
            assert len(aggregator.workers()) == WORKERS
            async with connections(aggregator.port, CONNECTIONS) as clients:
                one = batch()
                assert sorted(await asyncio.gather(*(client.submit(one) for client in clients))) == (
                    [False] + [True] * (CONNECTIONS - 1)
                )
                for client in clients:
                    assert await client.submit(batch()) is False
            board = Board(data / "board")
            total = board.total()
            assert (total.accepted, total.duplicate) == (CONNECTIONS + 1, CONNECTIONS - 1)
            parts = [board.join(number).accepted for number in range(WORKERS)]
            assert sum(parts) == total.accepted
            assert min(parts) > 0
            assert await aggregator.end() == 0
        assert await stored(data) == CONNECTIONS + 1

    asyncio.run(submit())


def of_worker(pid: int, told: Callable[[int], T]) -> list[T]:
    """What Linux says of those threads of a worker that take part in its calls."""
    found = [told(pid)]
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # one that has just ended
            if (task / "comm").read_text().strip() == "event_engine":
                found.append(told(int(task.name)))
    return found


async def of_workers(told: Callable[[int], T], collection: Path, data: Path, workers: int = WORKERS) -> list[set[T]]:
    """The same of each worker, after some calls."""
    async with running(collection, "--data", data, "--workers", str(workers)) as aggregator:
        async with connections(aggregator.port, CONNECTIONS) as clients:
            await asyncio.gather(*(client.submit(batch()) for client in clients))
        found = [of_worker(pid, told) for pid in aggregator.workers()]
        assert sum(map(len, found)) > 2 * workers
        return list(map(set, found))


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="other systems have no such policy")
@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < WORKERS, reason="too few processors"
)
def test_threads_of_workers_do_not_interrupt_each_other_and_keep_to_a_processor(
    tmp_path: Path, collection: Path
) -> None:
    """On Linux, a worker's threads are scheduled as a batch's, unless the aggregator had another policy. With as many
    workers as processors, the threads of each share one; with one more, they use what there is. One that leaves a
    processor to others is scheduled as they are: it need not wait for them."""

    def started(policy: int, workers: int) -> list[set[tuple[int, tuple[int, ...]]]]:
        os.sched_setscheduler(0, policy, os.sched_param(0))
        os.sched_setaffinity(0, processors)
        data = tmp_path / str(workers)
        return asyncio.run(of_workers(how, collection, data, workers))

    def how(thread: int) -> tuple[int, tuple[int, ...]]:
        return os.sched_getscheduler(thread), tuple(sorted(os.sched_getaffinity(thread)))

    processors = set(sorted(os.sched_getaffinity(0))[-WORKERS:])
    with ThreadPoolExecutor(1) as thread:  # both are a thread's, and not everybody may leave an idle policy
        kept = thread.submit(started, os.SCHED_OTHER, WORKERS).result()
        assert sorted(map(sorted, kept)) == [[(os.SCHED_BATCH, (each,))] for each in sorted(processors)]
        free = thread.submit(started, os.SCHED_IDLE, WORKERS + 1).result()
        assert free == [{(os.SCHED_IDLE, tuple(sorted(processors)))}] * (WORKERS + 1)
        alone = thread.submit(started, os.SCHED_OTHER, 1).result()
        assert alone == [{(os.SCHED_OTHER, tuple(sorted(processors)))}]


def test_a_worker_that_dies_is_replaced(tmp_path: Path, collection: Path) -> None:
    """Each worker killed is soon another one; meanwhile the others serve, and its counts are not forgotten."""

    async def kill() -> None:
        async with running(collection, "--data", tmp_path / "data", "--workers", str(WORKERS)) as aggregator:
            async with connections(aggregator.port, CONNECTIONS) as clients:
                await asyncio.gather(*(client.submit(batch()) for client in clients))
            before = set(aggregator.workers())
            for pid in before:
                os.kill(pid, signal.SIGKILL)
                await until(lambda: len(set(aggregator.workers())) == WORKERS)
                await until(lambda pid=pid: pid not in aggregator.workers())  # type: ignore[misc]
            await until(lambda: len(aggregator.workers()) == WORKERS)
            assert not before & set(aggregator.workers())
            async with connections(aggregator.port, CONNECTIONS) as clients:
                waiting = [client.channel.channel_ready() for client in clients]
                await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE)
                await asyncio.gather(*(client.submit(batch()) for client in clients))
            assert Board(tmp_path / "data" / "board").total().accepted == 2 * CONNECTIONS

    asyncio.run(kill())


def test_the_nursery_that_dies_is_replaced(tmp_path: Path, collection: Path) -> None:
    """Without the process that forks workers nobody would be told of their end: all begin again, with another one."""

    async def kill() -> None:
        async with running(collection, "--data", tmp_path / "data", "--workers", str(WORKERS)) as aggregator:
            one = batch()
            async with connected(aggregator.port) as client:
                assert await client.submit(one) is False
            before = aggregator.children()
            (nurse,) = (pid for pid, name in before.items() if name == NURSE)
            os.kill(nurse, signal.SIGKILL)
            await until(lambda: set(before) & set(aggregator.children()) == {aggregator.store()})
            await until(lambda: sorted(aggregator.children().values()) == sorted(before.values()))
            async with connected(aggregator.port) as client:
                await asyncio.wait_for(client.channel.channel_ready(), PATIENCE)
                assert await client.submit(one) is True
            killed = aggregator.workers()
            for pid in killed:
                os.kill(pid, signal.SIGKILL)  # the new one starts them again, too
            await until(lambda: len(set(aggregator.workers()) - set(killed)) == WORKERS)
            last = list(aggregator.children())
            assert await aggregator.end() == 0
            assert all(map(gone, last))

    asyncio.run(kill())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_all_workers(tmp_path: Path, collection: Path, number: signal.Signals) -> None:
    """Under load, SIGTERM ends everything with exit code 0 and in order: what was acknowledged is stored, no less."""

    async def drain() -> None:
        data = tmp_path / "data"
        acknowledged = 0
        async with running(collection, "--data", data, "--workers", str(WORKERS)) as aggregator:

            async def load(client: Client) -> None:
                nonlocal acknowledged
                while True:
                    code = await answered(client, batch())
                    if code is not grpc.StatusCode.OK:
                        assert code in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
                        return
                    acknowledged += 1

            async with connections(aggregator.port, CONNECTIONS) as clients:
                loading = asyncio.gather(*(load(client) for client in clients for _ in range(5)))
                await until(lambda: acknowledged > 500)
                children = list(aggregator.children())
                assert len(children) == WORKERS + 3  # the store, the desk and the nursery
                aggregator.process.send_signal(number)
                assert await asyncio.wait_for(aggregator.process.wait(), PATIENCE) == 0
                assert all(map(gone, children))
                await loading
        assert not (data / "valkey.sock").exists()
        # A call whose answer was on its way when its connection was closed may be stored and not acknowledged.
        assert acknowledged <= await stored(data) <= acknowledged + 5 * CONNECTIONS

    asyncio.run(drain())


def test_a_signal_may_come_while_a_worker_is_replaced(
    tmp_path: Path, collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that is being started ends too, and the aggregator with it."""

    async def drain() -> None:
        settings = Settings(listen="127.0.0.1:0", data_dir=tmp_path / "data", grace=30.0)
        supervisor = Supervisor(Program(settings, Sources((collection,)), answering), 1)
        await supervisor.start()
        starting, told = starting_late(monkeypatch)
        (first,) = supervisor.workers
        os.kill(first, signal.SIGKILL)
        await starting.wait()
        draining = asyncio.create_task(supervisor.drain())
        await until(lambda: all(task.done() for task in supervisor._background))
        told.set()
        await asyncio.wait_for(draining, PATIENCE)
        assert supervisor.workers != [first]
        assert all(map(gone, supervisor.workers))

    asyncio.run(drain())


def test_nothing_outlives_the_supervisor(tmp_path: Path, collection: Path) -> None:
    """The supervisor killed with SIGKILL takes workers and store along, and another one can take over at once."""

    async def kill() -> None:
        arguments = (collection, "--data", tmp_path / "data", "--workers", str(WORKERS))
        async with running(*arguments) as aggregator:
            children = list(aggregator.children())
            aggregator.kill()
            await until(lambda: all(map(gone, children)))
        async with running(*arguments, listen=aggregator.endpoint) as again, connected(again.port) as client:
            assert again.port == aggregator.port
            assert await client.submit(batch()) is False

    asyncio.run(kill())


def test_a_port_belongs_to_one_aggregator(tmp_path: Path, collection: Path) -> None:
    """A second aggregator on the port of another does not start, though workers could share it."""

    async def start() -> None:
        async with running(collection, "--data", tmp_path / "first") as aggregator:
            second = await asyncio.to_thread(
                deniable, "serve", collection, "--data", tmp_path / "second", "--listen", aggregator.endpoint,
                "--http", "off",
            )  # fmt: skip
            assert second.returncode == 2
            assert aggregator.endpoint in second.stderr
            assert second.stderr.count("\n") == 1

    asyncio.run(start())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere.toml",), "nowhere.toml"),
        ((EDITOR, "--insecure", "--listen", "192.0.2.1:8470"), "can not listen on 192.0.2.1:8470"),
        ((EDITOR, "--redis", "unix:///nowhere.sock"), "nowhere.sock"),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(
    tmp_path: Path, arguments: tuple[str | Path, ...], words: str
) -> None:
    """Without a collection, a port or a store, the command ends with exit code 2 and says what is missing."""
    data = () if "--redis" in arguments else ("--data", tmp_path / "data")
    free = () if "--listen" in arguments else ("--listen", "127.0.0.1:0")
    shown = deniable("serve", *arguments, *data, *free, "--http", "off")
    assert shown.returncode == 2
    assert words in shown.stderr
    assert shown.stderr.count("\n") == 1
