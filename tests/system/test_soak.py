"""Floods, and kills of workers and store, at once: every honest batch is counted once, and devices come through."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from benchmarks.hostile_shapes import SHAPES
from benchmarks.hostile_wire import Wire
from benchmarks.soak import allowed, back, page, soaked
from benchmarks.soak_faults import FAULTS, FULL_DISK
from benchmarks.soak_watch import hurried

from deniable_aggregator.store import CounterKey
from support.aggregator_server import Client
from support.aggregators import DIGEST, EXACT, WORKERS, Aggregator, acknowledged, connections, running, today
from support.programs import program
from support.stored import stored_in
from support.waiting import until

DEVICES = 8
ROUNDS, MANY_ROUNDS = 4, 1000
"""A round takes a second or two."""
LARGEST = 1 << 12
HELD = 300
"""Connections of the attacker's."""
STRUCK = ("a worker", "the store", "all workers", "nothing")
SECONDS, MINUTES = 8.0, 30.0
GROWN = 1.25
"""What is in memory may be so many times as much after the second time of every fault as after the first."""


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
                await acknowledged(client)
                done += 1

        def more_than(least: int) -> bool:
            return done > least

        devices = [asyncio.create_task(report(client)) for client in clients]
        flooding = asyncio.create_task(_flood(aggregator.port, rng, over))
        for number in range(rounds):
            _strike(aggregator, STRUCK[number % len(STRUCK)])
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


def test_every_fault_in_miniature_loses_and_doubles_nothing() -> None:
    """Kills, a slow store, a full disk, clocks that jump, a crowd, slow senders, garbage, and all of it at once."""
    program("prometheus")
    found = asyncio.run(soaked(SECONDS / 60, crowd=50))
    happened = {bout.fault.name for bout in found.bouts}
    assert happened == {fault.name for fault in FAULTS if found.full or fault.name != FULL_DISK}
    assert found.exact, page(found)
    assert found.acknowledged > found.devices.repeated > 0
    assert min(found.devices.tries, found.scene.came) > 0
    assert not found.tracebacks


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_half_an_hour_of_faults_loses_nothing_grows_nothing_and_calls_the_right_alerts() -> None:
    """Each fault twice: its alerts fire while it lasts, no others do, and its second time leaves no more memory."""
    program("prometheus")
    found = asyncio.run(soaked(MINUTES))
    assert found.exact, page(found)
    assert not found.tracebacks
    assert {bout.fault.name: sorted(bout.alerts) for bout in found.bouts if not bout.fits()} == {}
    assert found.after.keys() == found.before.keys()
    grown = {name: (found.before[name], found.after[name]) for name in found.after}
    most = {name: max(GROWN * each[0], allowed(name, each[0], found.since)) for name, each in grown.items()}
    assert {name: each for name, each in grown.items() if each[1] > most[name]} == {}


def test_the_store_may_grow_by_the_ids_that_it_remembers_and_nothing_else_may() -> None:
    """By what was measured of an id, and little more: twice as much is a leak."""
    for name in ("valkey-server", "deniable-worker"):
        assert 12 <= allowed(name, 10, 0) <= 13
    assert allowed("deniable-worker", 10, 50_000) == allowed("deniable-worker", 10, 0)
    assert 50_000 * 54 < 1e6 * (allowed("valkey-server", 10, 50_000) - allowed("valkey-server", 10, 0)) < 50_000 * 108


def test_p99_is_back_where_three_seconds_in_a_row_are_as_they_should_be() -> None:
    """One quick second between slow ones is none."""
    assert back([9.0, 1.0, 9.0, 1.0, 1.0, 1.0], 2.0) == 3
    assert back([1.0, 1.0, 1.0], 1.0) == 0
    assert back([1.0, 1.0, 3.0, 1.0, 1.0], 2.0) is None


def test_hurried_rules_wait_a_sixtieth_as_long() -> None:
    """Spans of the rules, and nothing else of them."""
    rule = "expr: rate(a[5m]) > 2 * rate(a[7d] offset 1d)\n for: 1h\n  summary: for 6h"
    assert hurried(rule) == "expr: rate(a[5s]) > 2 * rate(a[10080s] offset 1440s)\n for: 60s\n  summary: for 6h"
