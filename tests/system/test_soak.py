"""Floods, and kills of workers and store, at once: every honest batch is counted once, and devices come through."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path

import grpc
import pytest
from benchmarks.hostile_shapes import SHAPES
from benchmarks.hostile_wire import Wire

from deniable_aggregator.store import CounterKey
from support.aggregator_server import Client
from support.aggregators import DIGEST, EXACT, WORKERS, Aggregator, batch, connections, running, today
from support.stored import stored_in
from support.waiting import until

DEVICES = 8
ROUNDS, MANY_ROUNDS = 6, 1000
"""A round takes a second or two."""
LARGEST = 1 << 12
HELD = 300
"""Connections of the attacker's."""
FAULTS = ("a worker", "the store", "all workers", "nothing")


async def _acknowledged(client: Client) -> None:
    one = batch()
    while True:
        with suppress(grpc.aio.AioRpcError):
            await client.submit(one)
            return
        await asyncio.sleep(0.02)


async def _flood(port: int, rng: random.Random, ending: asyncio.Event) -> int:
    """Bursts of every shape, one after the other, until it is told to end; how many."""
    held: list[Wire] = []
    bursts = 0
    while not ending.is_set():
        shape = rng.choice(list(SHAPES.values()))
        with suppress(OSError):  # nobody listens for a moment
            held += await asyncio.to_thread(shape, port, rng.randrange(1, LARGEST), rng)
        bursts += 1
        while len(held) > HELD:
            held.pop(0).close()
        await asyncio.sleep(0.01)
    for wire in held:
        wire.close()
    return bursts


def _strike(aggregator: Aggregator, fault: str) -> None:
    pids = {"a worker": aggregator.workers()[:1], "all workers": aggregator.workers()}.get(fault, [])
    for pid in [aggregator.store()] if fault == "the store" else pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def _stored(data: Path) -> int:
    async with stored_in(data) as store:
        (counters,) = await store.read([CounterKey(DIGEST, 0, today(), 1)])
    return 0 if counters is None else int(counters.sum())


async def _soaked(room: Path, rounds: int) -> int:
    """So many rounds, each with a fault; how many batches were acknowledged."""
    file, rng = room / "metrics.toml", random.Random(7)
    file.write_text(EXACT)
    done, ending, over = 0, asyncio.Event(), asyncio.Event()
    arguments = (file, "--data", room / "data", "--workers", str(WORKERS))
    async with running(*arguments) as aggregator, connections(aggregator.port, DEVICES) as clients:

        async def report(client: Client) -> None:
            nonlocal done
            while not ending.is_set():
                await _acknowledged(client)
                done += 1

        def more_than(least: int) -> bool:
            return done > least

        devices = [asyncio.create_task(report(client)) for client in clients]
        flooding = asyncio.create_task(_flood(aggregator.port, rng, over))
        for number in range(rounds):
            _strike(aggregator, FAULTS[number % len(FAULTS)])
            await until(partial(more_than, done + 5 * DEVICES), "devices come through after a fault")
            await until(lambda: len(aggregator.workers()) == WORKERS, "all workers are there again")
        over.set()
        assert await flooding > 0
        ending.set()
        await asyncio.gather(*devices)
        assert await aggregator.end() == 0
    return done


@pytest.mark.parametrize(
    "rounds", [ROUNDS, pytest.param(MANY_ROUNDS, marks=[pytest.mark.deep, pytest.mark.timeout(7200)])]
)
def test_batches_are_counted_once_while_everything_happens(tmp_path: Path, rounds: int) -> None:
    """Devices report all the while, somebody floods, and what serves them is killed again and again."""
    assert asyncio.run(_soaked(tmp_path, rounds)) == asyncio.run(_stored(tmp_path / "data"))
