"""A soak: everything goes wrong in turns for half an hour, and then at once, while honest devices report.

python -m benchmarks.soak --minutes 3    a short one

words:
  bout   a fault, and the calm after it, which is twice as long
  back   when p99 of three seconds in a row is again within what it is held to: three times what it was in the calm
         before the first fault
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.soak_devices import Devices
from benchmarks.soak_faults import FAULTS, FULL_DISK, Aggregator, Fault, Scene, disk
from benchmarks.soak_server import COLLECTION, DATA
from benchmarks.soak_watch import HURRY, firing, memory, watching
from deniable_aggregator.store import CounterKey, EmbeddedStore, EpochKey, Store

__all__ = ["Bout", "Result", "allowed", "back", "measure", "soaked"]

_MINUTES = 30.0
_PACE = 60.0
_BOUT_SECONDS = 66.0
_LASTS_SECONDS = 20.0
"""A fault that lasts less calls no alert that it has to."""
_TIMES = 3.0
_BACK_SECONDS = 10.0
_IN_A_ROW = 3
_WORKERS = 2
_GROWTH = 1.1
_ID_BYTES = 64
"""Of the store's memory for a batch: its id, for as long as it may be sent again (measured: 54, of 107,000)."""
_TEXT = """\
# A soak

{minutes:g} minutes of an aggregator with {workers} workers on an embedded store that syncs every change, {where}:
honest devices send {pace:g} batches a second all the while, over 16 connections, each again under its id until it is
acknowledged, and 3% of them once more after that, as if the answer had been lost. Each fault lasts {lasts:.0f} s, and
the calm after it twice as long. A Prometheus looks on by the rules of `deploy/`, in which {hurry} seconds are one:
an alert that waits for a minute waits for a second, and is held to account where
faults last 20 s. {holds} of {goals} goals hold.

{exact}

p99 was {calm:.0f} ms in the calm before the first fault, and *back* is when three seconds in a row are within
{times:g} times that.

| fault | p99 while it lasts, s | back after, s | goal | alerts | goal |
|---|---|---|---|---|---|
{rows}

| processes | before, MB | after, MB | goal |
|---|---|---|---|
{memory}

Before is after {settled}, after is a calm after the last. The load of the machine was {load_before:.1f} when it
began and {load_after:.1f} when it ended, with what it was asked to do here, and other work.
"""


@dataclass
class Bout:
    """What became of a fault."""

    fault: Fault
    began: int
    """The moment in which it began, and that in which it was over."""
    ended: int = 0
    during: float = 0.0
    """p99 in seconds."""
    back: int | None = None
    """Seconds after its end; None where p99 did not come back in the calm after it."""
    alerts: set[str] = field(default_factory=set)

    def fits(self) -> bool:
        """Whether the alerts fired that have to, and no others than may."""
        return self.fault.alerts <= self.alerts <= self.fault.alerts | self.fault.may


@dataclass
class Result:
    """What came of a soak."""

    minutes: float
    bouts: list[Bout]
    calm: float
    """p99 before the first fault, in seconds."""
    acknowledged: int
    stored: int
    """Batches, by the devices and by the store."""
    wrong: int
    """Counters that are not what the devices' acknowledgements add up to, of so many."""
    counters: int
    early_stored: int
    tracebacks: int
    """In what the aggregator has written."""
    devices: Devices
    scene: Scene
    before: dict[str, float]
    after: dict[str, float]
    since: int
    """Batches that were acknowledged after memory was looked at before."""
    full: bool
    """There was a disk that could be full."""
    load: tuple[float, float]
    lasts: float

    @property
    def exact(self) -> bool:
        """Every honest batch is counted once, and no other."""
        return self.acknowledged == self.stored and not self.wrong and not self.early_stored


def back(p99: Sequence[float], most: float) -> int | None:
    """After how many seconds so many in a row are within what p99 is held to."""
    for second in range(len(p99) - _IN_A_ROW + 1):
        if max(p99[second : second + _IN_A_ROW]) <= most:
            return second
    return None


async def _watch(address: str, bouts: list[Bout]) -> None:
    """Note for each bout what fires in it; in the calm before the first one Prometheus only begins to look."""
    while True:
        with contextlib.suppress(OSError):
            found = await asyncio.to_thread(firing, address)
            if bouts:
                bouts[-1].alerts |= found
        await asyncio.sleep(1.0)


async def _held(room: Path, devices: Devices) -> tuple[int, int, int]:
    """Of a store whose aggregator has ended: its batches, how many counters are wrong, and of how many."""
    embedded = EmbeddedStore(room / DATA)
    await embedded.start()
    store = Store(embedded.url)
    await store.open()
    epochs = range(min(devices.sums.batches) - 4, max(devices.sums.batches) + 5)
    batches = sum(await store.batches([EpochKey(COLLECTION.digest, epoch) for epoch in epochs]))
    keys = [
        CounterKey(COLLECTION.digest, column.number, epoch, segment)
        for column in COLLECTION.columns
        for epoch in epochs
        for segment in range(COLLECTION.segment_count)
    ]
    found: Counter[tuple[int, int, int, int]] = Counter()
    for key, counters in zip(keys, await store.read(keys), strict=True):
        for symbol, times in enumerate(() if counters is None else counters):
            found[key.column, key.epoch, key.segment, symbol] = int(times)
    await store.close()
    await embedded.stop()
    every = found.keys() | devices.sums.counters.keys()
    return batches, sum(found[each] != devices.sums.counters[each] for each in every), len(every)


def _bouts(minutes: float, faults: Sequence[Fault]) -> Iterator[tuple[Fault, float]]:
    """Each fault, and how long its bout takes: a bout is calm, and each fault has as many as fit."""
    rounds = max(1, int((60 * minutes / _BOUT_SECONDS - 1) // len(faults)))
    for _ in range(rounds):
        for fault in faults:
            yield fault, 60 * minutes / (rounds * len(faults) + 1)


async def _through(
    scene: Scene, plan: list[tuple[Fault, float]], bouts: list[Bout]
) -> tuple[dict[str, float], int, int]:
    """All bouts; what memory was before, the batches that had been acknowledged by then, and the moment in which the
    first fault began."""
    devices = scene.devices
    await asyncio.sleep(plan[0][1])
    before, first = memory(scene.aggregator.pid), devices.moment
    known = devices.sums.batches.total()
    for number, (fault, seconds) in enumerate(plan):
        sys.stderr.write(f"{number + 1} of {len(plan)}: {fault.name}\n")
        bout = Bout(fault, devices.moment)
        bouts.append(bout)
        await fault.act(scene, seconds / 3)
        bout.ended = devices.moment
        await asyncio.sleep(2 * seconds / 3)
        if number + 1 == len({each.name for each, _ in plan}) < len(plan):
            before = memory(scene.aggregator.pid)  # every process has been anew, and every fault was once
            known = devices.sums.batches.total()
    return before, known, first


async def soaked(minutes: float, pace: float = _PACE, crowd: int = 2000, faults: Sequence[Fault] = FAULTS) -> Result:
    """Soak for so long."""
    load = os.getloadavg()[0]
    with contextlib.ExitStack() as stack:
        room = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        full = stack.enter_context(disk(room))
        faults = [fault for fault in faults if full or fault.name != FULL_DISK]
        aggregator = Aggregator(room, _WORKERS)
        aggregator.start()
        devices = Devices(aggregator.port, pace)
        scene, bouts = Scene(aggregator, devices, crowd), list[Bout]()
        try:
            plan = list(_bouts(minutes, faults))
            watched = stack.enter_context(watching(room / "watch", aggregator.page))
            async with devices.reporting():
                looking = asyncio.create_task(_watch(watched, bouts))
                before, known, first = await _through(scene, plan, bouts)
                after, since = memory(aggregator.pid), devices.sums.batches.total() - known
                looking.cancel()
        finally:
            aggregator.end()
        _judge(bouts, devices, first)
        stored, wrong, counters = await _held(room, devices)
        tracebacks = (room / "log").read_text().count("Traceback")
        calm = devices.p99(range(2, first))
        return Result(
            minutes, bouts, calm, sum(devices.sums.batches.values()), stored, wrong, counters, devices.early_stored,
            tracebacks, devices, scene, before, after, since, full, (load, os.getloadavg()[0]), plan[0][1] / 3,
        )  # fmt: skip


def _judge(bouts: list[Bout], devices: Devices, first: int) -> None:
    """What the batches' times say of each bout."""
    most = _TIMES * devices.p99(range(2, first))
    for bout, until in zip(bouts, [*(each.began for each in bouts[1:]), devices.moment], strict=True):
        bout.during = devices.p99(range(bout.began, bout.ended + 1))
        bout.back = back([devices.p99(range(each, each + 1)) for each in range(bout.ended, until)], most)


def _row(fault: Fault, own: list[Bout], lasts: bool) -> tuple[str, list[bool]]:
    """A line of the table, and which goals hold."""
    times = [bout.back for bout in own]
    holds = [all(each is not None and each <= _BACK_SECONDS for each in times)]
    after = ", ".join("not in the calm after it" if each is None else str(each) for each in times)
    alerts = ", ".join(sorted({name for bout in own for name in bout.alerts})) or "none"
    must, may = ", ".join(sorted(fault.alerts)) or "none", ", ".join(sorted(fault.may))
    goal = f"{must}{f'; {may} may' if may else ''}" if lasts else ""
    if lasts:
        holds.append(all(bout.fits() for bout in own))
        goal += "" if holds[1] else " (missed)"
    during = ", ".join(f"{bout.during:.2f}" for bout in own)
    limit = f"≤ {_BACK_SECONDS:g}{'' if holds[0] else ' (missed)'}"
    return f"| {fault.name} | {during} | {after} | {limit} | {alerts} | {goal} |", holds


def allowed(name: str, before: float, batches: int) -> float:
    """Megabytes that a process may have after so many batches more: of the store, with their ids."""
    return _GROWTH * before + 1 + ("valkey" in name) * batches * _ID_BYTES / 1e6


def _memory(result: Result) -> Iterator[tuple[str, bool]]:
    for name in sorted(result.before | result.after):
        before, after = result.before.get(name, 0.0), result.after.get(name, 0.0)
        most = allowed(name, before, result.since)
        flat = after <= most
        ids = f", and {result.since:,} ids" if most > allowed(name, before, 0) else ""
        goal = f"≤ {_GROWTH:g} x{ids}{'' if flat else ' (missed)'}"
        yield f"| {name} | {before:.0f} | {after:.0f} | {goal} |", flat


def page(result: Result) -> str:
    """A page about it."""
    faults = list({bout.fault.name: bout.fault for bout in result.bouts}.values())
    lasts = result.lasts >= _LASTS_SECONDS
    rows = [_row(fault, [bout for bout in result.bouts if bout.fault is fault], lasts) for fault in faults]
    grown = list(_memory(result))
    holds = [
        result.exact,
        not result.tracebacks,
        *(each for _, own in rows for each in own),
        *(flat for _, flat in grown),
    ]
    devices, scene = result.devices, result.scene
    exact = (
        f"**{result.acknowledged:,} batches were acknowledged, {result.stored:,} batches are stored, {result.wrong} "
        f"of\n{result.counters} counters are not what the acknowledged reports add up to.** {devices.tries:,} tries "
        f"were not\nanswered by an acknowledgement, {devices.repeated:,} batches were sent again that had been; of "
        f"{devices.early:,} batches of epochs\nthat had not begun {result.early_stored} were stored. {scene.came:,} "
        f"connections came and went, {scene.slow} slow senders were\nacknowledged. The aggregator wrote "
        f"{result.tracebacks} tracebacks."
    )
    return _TEXT.format(
        minutes=result.minutes,
        workers=_WORKERS,
        where="a small disk of its own in memory"
        if result.full
        else "on the disk (nobody may mount a small one here)",
        pace=_PACE,
        lasts=result.lasts,
        hurry=HURRY,
        holds=sum(holds),
        goals=len(holds),
        exact=exact,
        calm=1000 * result.calm,
        times=_TIMES,
        rows="\n".join(row for row, _ in rows),
        memory="\n".join(row for row, _ in grown),
        settled="every fault was there once"
        if len(result.bouts) > len(faults)
        else "the calm before the first fault",
        load_before=result.load[0],
        load_after=result.load[1],
    )


def measure(minutes: float = _MINUTES) -> str:
    """A page about a soak."""
    return page(asyncio.run(soaked(minutes)))


def main() -> int:
    """Soak, and print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=_MINUTES, help="how long (%(default)g)")
    parser.add_argument("--only", default="", help="faults whose name has this")
    options = parser.parse_args()
    began = time.monotonic()
    faults = [fault for fault in FAULTS if options.only in fault.name]
    print(page(asyncio.run(soaked(options.minutes, faults=faults))))
    sys.stderr.write(f"{time.monotonic() - began:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
