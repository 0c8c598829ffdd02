"""A worker is relieved by a fresh one, whoever is killed meanwhile: nothing is lost, or counted twice."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from deniable_aggregator.ingest import Board
from deniable_aggregator.serving import staff
from deniable_aggregator.serving.answering import answering
from deniable_aggregator.serving.nursery import Child, Nursery
from deniable_aggregator.serving.relief import Taken, taken_by
from deniable_aggregator.serving.server import Settings
from deniable_aggregator.serving.sources import Sources
from deniable_aggregator.serving.staff import Member
from deniable_aggregator.serving.supervisor import Program, Supervisor
from deniable_aggregator.store import CounterKey
from support.aggregator_server import Client
from support.aggregators import (
    DIGEST,
    EXACT,
    OTHER,
    OTHER_DIGEST,
    acknowledged,
    connections,
    gone,
    starting_late,
    today,
)
from support.stored import stored_in
from support.waiting import until

CALLERS = 8


@asynccontextmanager
async def supervised(room: Path, worker_memory: int = 1 << 30) -> AsyncIterator[tuple[Supervisor, Member]]:
    """An aggregator of one worker, in this process but for those that it starts; drained afterwards."""
    file = room / "metrics.toml"
    file.write_text(EXACT)
    data = room / "data"
    told = Settings(listen="127.0.0.1:0", data_dir=data, board=data / "board", worker_memory=worker_memory)
    supervisor = Supervisor(Program(told, Sources((file,)), answering), 1)
    await supervisor.start()
    try:
        (worker,) = supervisor._workers
        yield supervisor, worker
    finally:
        await supervisor.drain()


async def stored(data: Path, digest: int = DIGEST) -> int:
    """How many batches a store without an aggregator has counted."""
    async with stored_in(data) as store:
        (counters,) = await store.read([CounterKey(digest, 0, today(), 1)])
    return 0 if counters is None else int(counters.sum())


@pytest.mark.parametrize("killed", ["nobody", "the one that leaves", "the one that has come", "both"])
def test_every_batch_is_counted_once_while_workers_are_relieved(tmp_path: Path, killed: str) -> None:
    """Batches come all the while; each is acknowledged in the end, and stored as often as it was made: once."""

    async def go() -> int:
        number, ending = 0, asyncio.Event()
        async with supervised(tmp_path) as (supervisor, worker), connections(supervisor.port, CALLERS) as clients:

            async def keep_sending(client: Client) -> None:
                nonlocal number
                while not ending.is_set():
                    await acknowledged(client)
                    number += 1

            def more_than(least: int) -> bool:
                return number > least

            def others_than(pids: list[int]) -> bool:
                return supervisor.workers not in ([], pids)

            sending = [asyncio.create_task(keep_sending(client)) for client in clients]
            for _ in range(3):
                before, had = number, supervisor.workers
                await until(partial(more_than, before + CALLERS), "batches are acknowledged")
                relieving = asyncio.create_task(worker.relieve())
                if killed != "nobody":
                    await until(partial(others_than, had), "another one is there")
                    pids = had if killed == "the one that leaves" else supervisor.workers
                    for pid in [*had, *supervisor.workers] if killed == "both" else pids:
                        with suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
                await relieving
                if killed == "nobody":
                    assert supervisor.workers != had
                    assert all(map(gone, had))
            before = number
            await until(lambda: number > before + CALLERS, "batches are acknowledged")
            ending.set()
            await asyncio.gather(*sending)
            if killed == "nobody":
                assert supervisor.totals().accepted == number
                assert supervisor.totals().waiting == 0
        return number

    assert asyncio.run(go()) == asyncio.run(stored(tmp_path / "data"))


def test_a_worker_with_more_memory_than_it_may_have_is_relieved_and_not_soon_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker has more than a megabyte: the first is relieved, the next one not within the time between two."""
    monkeypatch.setattr(staff, "LOOK_SECONDS", 0.01)
    looked: list[int] = []

    def noted(pid: int) -> Taken | None:
        looked.append(pid)
        return taken_by(pid)

    monkeypatch.setattr(staff, "taken_by", noted)

    async def go() -> None:
        async with supervised(tmp_path, worker_memory=1 << 20) as (supervisor, _):
            await until(lambda: looked and supervisor.workers != looked[:1] and gone(looked[0]), "it is relieved")
            (second,) = supervisor.workers
            await until(lambda: looked.count(second) > 100, "it is looked at the next one")
            assert supervisor.workers == [second]
            async with connections(supervisor.port, 1) as (client,):
                await acknowledged(client)

    asyncio.run(go())


def test_a_worker_stays_where_none_can_take_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process can be had: the one that was to be relieved takes calls, and serves what is reloaded."""

    async def none(_nursery: Nursery, _end: socket.socket) -> Child:
        raise OSError("no process to be had")

    async def go() -> None:
        async with supervised(tmp_path) as (supervisor, worker):
            (first,) = supervisor.workers
            with monkeypatch.context() as patched:
                patched.setattr(Nursery, "start", none)
                await worker.relieve()
            assert supervisor.workers == [first]
            (tmp_path / "metrics.toml").write_text(OTHER)
            supervisor.reload()
            async with connections(supervisor.port, 1) as (client,):
                await acknowledged(client, OTHER_DIGEST)
            await worker.relieve()
            assert supervisor.workers != [first]

    asyncio.run(go())


def test_a_reload_while_a_worker_is_relieved_reaches_the_one_that_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was to be told of the collections of before: it serves those that were read since."""

    async def go() -> None:
        async with supervised(tmp_path) as (supervisor, worker):
            starting, told = starting_late(monkeypatch)
            relieving = asyncio.create_task(worker.relieve())
            await starting.wait()
            (tmp_path / "metrics.toml").write_text(OTHER)
            supervisor.reload()
            told.set()
            await relieving
            async with connections(supervisor.port, 1) as (client,):
                await acknowledged(client, OTHER_DIGEST)

    asyncio.run(go())


def test_who_has_come_is_started_again_while_the_other_leaves(tmp_path: Path) -> None:
    """The one that leaves may take as long as it is given: nobody waits for it."""

    async def go() -> None:
        async with supervised(tmp_path) as (supervisor, worker):
            (leaves,) = supervisor.workers
            os.kill(leaves, signal.SIGSTOP)
            try:
                relieving = asyncio.create_task(worker.relieve())
                await until(lambda: supervisor.workers not in ([], [leaves]) and worker._spare == 0, "one has come")
                (has_come,) = supervisor.workers
                os.kill(has_come, signal.SIGKILL)
                await until(lambda: supervisor.workers not in ([], [leaves], [has_come]), "another one comes")
                assert not relieving.done()
            finally:
                os.kill(leaves, signal.SIGKILL)
            await relieving
            async with connections(supervisor.port, 1) as (client,):
                await acknowledged(client)

    asyncio.run(go())


def test_nothing_waits_where_an_earlier_worker_was_killed(tmp_path: Path) -> None:
    """A board on which somebody's batches wait for ever, in the slot of a worker that took another's place."""
    board = Board(tmp_path / "data" / "board")
    left = board.join(1)
    left.waiting = 7
    left.publish()

    async def go() -> None:
        async with supervised(tmp_path) as (supervisor, _):
            assert supervisor.totals().waiting == 0

    asyncio.run(go())
