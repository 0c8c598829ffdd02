"""Chaos: devices whose clocks jump, killed at random, against an aggregator that dies and returns.

Every device has a name of its own and answers with it, at an epsilon that makes a lie rarer than once in 10^10
answers: so each counter of the aggregator is about one device and one epoch, and must be 0 or 1. Many devices live in
a process; they die with it, in the middle of whatever they do.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable import Charge, Collection, Entry, StateError
from deniable.device import ledger, transcript
from deniable.device.state import health, reading
from deniable_aggregator.store import CounterKey
from support.aggregators import running
from support.stored import stored_in
from support.waiting import until

LIVES = 100
"""How often devices live between two kills, at most."""
AGGREGATOR = 6
"""Of so many kills one is the aggregator's."""
NEAR = 300.0 - 32.0
"""What a device has spent that is near its limit, in the short version."""
HOUR = 3600
EPOCH_BUDGET = 32.0
COLLECTION = f"""
[collection]
name = "chaos"
epoch = "1h"
owner = "telemetry@example.org"
[budget]
epoch = {EPOCH_BUDGET}
lifetime = LIFETIME
[metrics.who]
kind = "category"
description = "The device's name"
mechanism = "randomized_response"
epsilon = 30
values = NAMES
[metrics.dark]
kind = "boolean"
description = "Whether it is dark"
epsilon = 1
[metrics.same]
kind = "boolean"
description = "Whether it is still dark"
epsilon = 1
memoize = true
remembered_answers = 2
"""

HOME = """
import logging, random, sys, time
import deniable
logging.disable()
collection, endpoint, home = deniable.Collection.load(sys.argv[1]), sys.argv[2], sys.argv[3]
first, number = int(sys.argv[4]), int(sys.argv[5])
lives = open(sys.argv[6], "ab", buffering=0)
class Device:
    def __init__(self, name):
        self.name, self.offset = name, 0.0
        settings = deniable.Settings(
            write_behind=0.05, leeway=0.0, deadline=2.0, transcript_days=1e6,
            clock=lambda: time.time() + self.offset,
        )
        self.client = deniable.Client(
            collection, endpoint=endpoint, state=f"{home}/{name}.db", consent=deniable.Consent.GRANTED,
            settings=settings, strict=True,
        )
    def live(self):
        if random.random() < 0.4:  # an aggregator takes the last eight hours, and one ahead
            far = random.random() < 0.1
            self.offset = random.uniform(-30 * 86400, 30 * 86400) if far else random.uniform(-9 * 3600, 2 * 3600)
        self.client.record("who", self.name)
        self.client.record("dark", True)
        self.client.record("same", random.random() < 0.5)
        if random.random() < 0.5:
            self.client.flush(0.0)
devices = [Device(f"d{first + place}") for place in range(number)]
while True:
    for device in devices:
        device.live()
        lives.write(b".")
        time.sleep(0.001)
"""


def lives_of(file: Path) -> Path:
    """The file to which every device adds a byte each time it has lived: what a device does has no end, while what it
    may answer does."""
    return file.with_suffix(".lives")


class Home:
    """A process with some of the devices."""

    def __init__(self, file: Path, endpoint: str, first: int, number: int) -> None:
        given = (file, endpoint, file.parent, first, number, lives_of(file))
        self._command = [sys.executable, "-c", HOME, *map(str, given)]
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, stdin=subprocess.DEVNULL)

    def die(self) -> None:
        """Kill it."""
        assert self._process.poll() is None, "it ended by itself"
        self._process.kill()
        self._process.wait()

    def live_again(self) -> None:
        """Start it again, with the same state files."""
        self._process = self._start()


@contextlib.contextmanager
def homes(file: Path, endpoint: str, devices: int, number: int) -> Iterator[list[Home]]:
    """All devices; killed in the end."""
    each = devices // number
    own = [Home(file, endpoint, place * each, each) for place in range(number)]
    try:
        yield own
    finally:
        for home in own:
            home.die()


async def chaos(file: Path, kills: int, devices: int, number: int, lifetime: float) -> None:
    """Kill a home or the aggregator, each when devices have lived some more; whoever died comes back."""
    lives = lives_of(file)
    lives.touch()

    async def more(times: int) -> None:
        before = lives.stat().st_size
        await until(lambda: lives.stat().st_size >= before + times, "devices live on")

    async with contextlib.AsyncExitStack() as stack:

        async def serve(listen: str) -> str:
            serving = running(file, "--data", file.parent / "data", listen=listen)
            aggregator = await stack.enter_async_context(serving)
            return aggregator.endpoint

        endpoint = await serve("127.0.0.1:0")
        with homes(file, endpoint, devices, number) as own:
            for kill in range(kills):
                await more(random.randrange(LIVES))
                if kill % AGGREGATOR == AGGREGATOR // 2:
                    await stack.aclose()  # kills it, and waits until its store has gone too
                    await more(random.randrange(LIVES))  # while nobody is there
                    await serve(endpoint)
                else:
                    home = random.choice(own)
                    home.die()
                    home.live_again()
            await until(
                lambda: come_far(file.parent, devices, lifetime), "devices have been heard, and one is at its limit"
            )


def come_far(room: Path, devices: int, lifetime: float) -> bool:
    """Whether more batches were acknowledged than there are devices, and a device is near what it may ever spend.

    In the short version it has asked for more as well: it was refused, or has gone beyond its limit.
    """
    stored, most, asked = 0, 0.0, lifetime - EPOCH_BUDGET > NEAR
    for device in range(devices):
        try:
            path = room / f"d{device}.db"
            stored += sum(fate == "stored" for fate in fates(transcript.read(path)).values())
            spent = sum(charge.epsilon for charge in ledger.read(path))
            with reading(path) as connection:
                refused = health(connection).get("refused by the ledger", 0)
        except StateError:
            continue  # it is being written
        most = max(most, spent)
        asked |= spent > NEAR and (refused > 0 or spent > lifetime)
    return stored > devices and most > NEAR and asked


async def counted(data: Path, collection: Collection, epochs: set[int]) -> Counter[tuple[int, int]]:
    """How often each device was counted in each epoch."""
    column = collection.metrics["who"].columns[0].number
    async with stored_in(data) as store:
        keys = [CounterKey(collection.digest, column, epoch, 0) for epoch in sorted(epochs)]
        read = await store.read(keys)
    return Counter({
        (device, epoch): int(times)
        for epoch, counters in zip(sorted(epochs), read, strict=True)
        if counters is not None
        for device, times in enumerate(counters)
    })  # fmt: skip


def check_ledger(charges: list[Charge], lifetime: float) -> None:
    """It is within every limit, and nothing was answered twice."""
    assert sum(charge.epsilon for charge in charges) <= lifetime
    answered = Counter((charge.metric, charge.start) for charge in charges)
    assert set(answered.values()) <= {1}
    for start in {charge.start for charge in charges}:
        assert sum(charge.epsilon for charge in charges if charge.start == start) <= EPOCH_BUDGET


def fates(entries: list[Entry]) -> dict[int, str]:
    """What became of a device's name in each epoch."""
    own = [(entry.start // HOUR, entry.fate) for entry in entries if entry.metric == "who"]
    assert len(dict(own)) == len(own), "reported twice for one epoch"
    return dict(own)


@pytest.mark.parametrize(
    ("kills", "devices", "number", "lifetime"),
    [(12, 24, 4, 300.0), pytest.param(1000, 200, 8, 1500.0, marks=[pytest.mark.deep, pytest.mark.timeout(3600)])],
    ids=["short", "long"],
)
def test_whatever_dies_every_ledger_holds_and_nothing_is_lost_or_doubled(
    tmp_path: Path, kills: int, devices: int, number: int, lifetime: float
) -> None:
    """No ledger beyond its limits, no metric twice for an epoch, nothing sent that was not charged, and of what was
    acknowledged everything is counted once."""
    file = tmp_path / "chaos.toml"
    names = str([f"d{device}" for device in range(devices)])
    file.write_text(COLLECTION.replace("LIFETIME", str(lifetime)).replace("NAMES", names))
    asyncio.run(chaos(file, kills, devices, number, lifetime))
    collection = Collection.load(file)
    ledgers = [ledger.read(tmp_path / f"d{device}.db") for device in range(devices)]
    sent = [fates(transcript.read(tmp_path / f"d{device}.db")) for device in range(devices)]
    epochs = {charge.start // HOUR for charges in ledgers for charge in charges}
    counts = asyncio.run(counted(tmp_path / "data", collection, epochs))
    acknowledged = 0
    possible = {"stored": {1}, "sent": {0, 1}, "refused": {0, 1}, "given up": {0, 1}, None: {0}}
    for device in range(devices):
        check_ledger(ledgers[device], lifetime)
        charged = {charge.start // HOUR for charge in ledgers[device] if charge.metric == "who"}
        assert sent[device].keys() <= charged
        for epoch in epochs:
            times, fate = counts[device, epoch], sent[device].get(epoch)
            acknowledged += fate == "stored"
            assert times in possible[fate], (device, epoch)
    assert sum(counts.values()) >= acknowledged > devices
    assert max(sum(charge.epsilon for charge in charges) for charges in ledgers) > NEAR, "no limit was near"
