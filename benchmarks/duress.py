"""Ingest when it is not alone, not quick or not used as one would like, beside a bare server in the same straits.

python -m benchmarks.duress --rounds 1 --scale 0.2    a short look
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.duress_servers import counted
from benchmarks.ingest_servers import COLLECTION, METRICS, batch
from benchmarks.processes import Running, tree
from benchmarks.raw_load import Calls

__all__ = ["main", "measure"]

_ROUNDS = 5
_CALLS = 20_000
_WARM_CALLS = 3000
_BODIES = 300
_QUOTA_SECONDS = 0.05
_TEXT = """\
# Ingest under duress

The aggregator, as it is, beside a bare gRPC server that only answers, both in the same straits and in turns. Load is
`benchmarks/raw_load.py`: every call has an id and a body of its own, so nothing repeats, and what was acknowledged is
compared with what the store remembers in the end: **{acknowledged:,} calls were acknowledged, {stored:,} batches were
stored**. Ratios are medians of {rounds} rounds' ratios, with the lowest and the highest. The bare server took
{bare:.0f} microseconds of processor time a call here. {holds} of {goals} goals hold on this machine.

| | calls against bare | goal | processor time a call against bare | goal | p50, p99 against bare |
|---|---|---|---|---|---|
{rows}

| | calls a second | bare | µs a call | bare | refused |
|---|---|---|---|---|---|
{figures}

- *calls a second*: calls come one by one at moments that are drawn, as those of devices do that know nothing of each
  other; *20 at once*: a hundred times a second 20 together, which is how h2load paces 20 connections. p99 against
  bare depends on that more than on anything: where calls come together they wait for each other at a bare server, too
- *the floor*: a server that answers a call once its id is in a store, synced to disk, and does nothing else: it
  checks nothing and adds up nothing. What comes while the store is at work goes there together
- *two loops beside*: another program runs an endless loop on each processor
- *half the time*: all processes of the server are stopped for 50 of every 100 milliseconds, as a quota stops them
- *a slow store*: the store answers 10 milliseconds later
- *dear flushes*: the aggregator's flushes cost three times their processor time
"""


@dataclass(frozen=True, slots=True)
class Strait:
    """One way to be hard pressed, or none."""

    name: str
    rate: float | None = None
    """Calls against bare, at the least."""
    cpu: float | None = None
    """Processor time a call against bare, at the most."""
    p50_more: float | None = None
    """Seconds that p50 may be above bare's."""
    p99: float | None = None
    """p99 against bare, at the most."""
    server: str = "own 1"
    bare: str = "bare 1"
    size: int = 20
    connections: int = 40
    streams: int = 10
    pace: float = 0.0
    together: int = 1
    calls: float = 1.0
    """As a share of the usual number."""
    beside: str = ""
    """What happens meanwhile: loops or quota."""


_PACED: dict[str, Any] = {"connections": 20, "streams": 32}

STRAITS = (
    Strait("nothing", 1.0, 1.0),
    Strait("400 connections, one call each", 1.0, 1.0, connections=400, streams=1),
    Strait("16 connections, 25 calls each", 1.0, 1.0, connections=16, streams=25),
    Strait("batches of one report", 1.0, 1.0, size=1),
    Strait("batches of 50 reports", 1.0, 1.0, size=METRICS),
    Strait("two workers, two bare servers", 1.2, server="own 2", bare="bare 2"),
    Strait("two loops beside", 1.0, 1.0, beside="loops", calls=0.5),
    Strait("two loops beside, two workers", 1.2, server="own 2", bare="bare 2", beside="loops", calls=0.5),
    Strait("half the time", 1.0, 1.0, beside="quota", calls=0.5),
    Strait("a slow store", 1.0, 1.0, server="slow 1"),
    Strait("dear flushes", 0.9, server="dear 1"),
    Strait("200 calls a second", None, 1.2, 0.004, 2.5, **_PACED, pace=200, calls=0.05),
    Strait("200 calls a second: the floor", server="floor 1", **_PACED, pace=200, calls=0.05),
    Strait("2,000 calls a second", None, 1.2, 0.004, 2.5, **_PACED, pace=2000, calls=0.3),
    Strait("2,000 calls a second: the floor", server="floor 1", **_PACED, pace=2000, calls=0.3),
    Strait("2,000 calls a second, 20 at once", None, 1.2, 0.004, 2.5, **_PACED, pace=2000, together=20, calls=0.3),
    Strait("2,000 calls a second, 20 at once: the floor", server="floor 1", **_PACED, pace=2000, together=20,
           calls=0.3),
    Strait("2,000 calls a second, two loops beside", None, None, None, 5.0, **_PACED, pace=2000, calls=0.3,
           beside="loops"),
    Strait("2,000 calls a second, two loops beside: the floor", server="floor 1", **_PACED, pace=2000, calls=0.3,
           beside="loops"),
    Strait("2,000 calls a second, 20 at once, two loops beside", None, None, None, 5.0, **_PACED, pace=2000,
           together=20, calls=0.3, beside="loops"),
    Strait("2,000 calls a second, 20 at once, two loops beside: the floor", server="floor 1", **_PACED, pace=2000,
           together=20, calls=0.3, beside="loops"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of one server's calls, once."""

    rate: float
    cpu: float
    p50: float
    p99: float
    refused: int


Rounds = dict[str, list[tuple[Seen, Seen]]]
"""For each strait, what was seen of the aggregator and of the bare server, round by round."""


@contextmanager
def _loops() -> Iterator[None]:
    """An endless loop on each processor."""
    code = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
    loops = [subprocess.Popen([sys.executable, "-c", code, str(each)]) for each in sorted(os.sched_getaffinity(0))]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@contextmanager
def _quota(server: Running) -> Iterator[None]:
    """Half of the time for all processes of a server."""
    over = threading.Event()

    def tell(number: signal.Signals) -> None:
        for pid in list(tree(server.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop_and_go() -> None:
        while not over.wait(_QUOTA_SECONDS):
            tell(signal.SIGSTOP)
            time.sleep(_QUOTA_SECONDS)
            tell(signal.SIGCONT)

    thread = threading.Thread(target=stop_and_go)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _beside(strait: Strait, server: Running) -> AbstractContextManager[None]:
    if strait.beside == "loops":
        return _loops()
    return _quota(server) if strait.beside else nullcontext()


def _is_aggregator(server: str) -> bool:
    return not server.startswith(("bare", "floor"))


def _bodies(size: int) -> tuple[str, ...]:
    """Messages of devices with answers of their own, in hex."""
    found = []
    for _ in range(_BODIES):
        each = batch(size)
        each.batch_id = bytes(16)
        found.append(each.SerializeToString().hex())
    return tuple(found)


class _Servers:
    """All servers, and how many calls each has acknowledged."""

    def __init__(self, room: Path, stack: ExitStack) -> None:
        self._room = room
        self._stack = stack
        self._running: dict[str, Running] = {}
        self.acknowledged: dict[str, int] = {}

    def load(self, name: str, strait: Strait, bodies: tuple[str, ...], calls: int) -> Seen:
        """Load a server, which is started when it is first asked for."""
        server = self._running.get(name) or self._start(name, bodies)
        with _beside(strait, server):
            before = server.cpu_seconds()
            made = Calls(server.port, calls, bodies, strait.connections, strait.streams, strait.pace,
                         strait.together)  # fmt: skip
            seen = made.run()
            cpu = server.cpu_seconds() - before
        self.acknowledged[name] += seen.acknowledged
        done = max(seen.acknowledged, 1)
        return Seen(done / seen.seconds, cpu / done, seen.p50, seen.p99, seen.refused)

    def stored(self) -> int:
        """How many batches all aggregators' stores remember; after they have ended."""
        names = [name for name in self._running if _is_aggregator(name)]
        return sum(asyncio.run(counted(self._room / name.replace(" ", "-"), COLLECTION.digest)) for name in names)

    def _start(self, name: str, bodies: tuple[str, ...]) -> Running:
        kind, processes = name.split()
        server = Running("benchmarks.duress_servers", kind, str(self._room / name.replace(" ", "-")), processes)
        self._running[name] = server
        self._stack.callback(server.end)
        self.acknowledged[name] = Calls(server.port, _WARM_CALLS, bodies).run().acknowledged
        return server


def _run(straits: tuple[Strait, ...], rounds: int, scale: float) -> tuple[Rounds, int, int]:
    """What was seen; and how many calls aggregators have acknowledged, and their stores counted."""
    found: Rounds = {strait.name: [] for strait in straits}
    bodies = {size: _bodies(size) for size in {strait.size for strait in straits}}
    with tempfile.TemporaryDirectory() as room:
        with ExitStack() as stack:
            servers = _Servers(Path(room), stack)
            for number in range(rounds):
                for strait in straits:
                    calls = max(int(_CALLS * strait.calls * scale), 100)
                    names = [strait.server, strait.bare][:: -1 if number % 2 else 1]
                    seen = {name: servers.load(name, strait, bodies[strait.size], calls) for name in names}
                    found[strait.name].append((seen[strait.server], seen[strait.bare]))
                    sys.stderr.write(f"round {number + 1} of {rounds}: {strait.name}\n")
        acknowledged = sum(count for name, count in servers.acknowledged.items() if _is_aggregator(name))
        return found, acknowledged, servers.stored()


def _ratio(own: list[tuple[Seen, Seen]], of: Callable[[Seen], float]) -> tuple[float, str]:
    ratios = [of(whole) / max(of(bare), 1e-9) for whole, bare in own]
    middle = statistics.median(ratios)
    return middle, f"{middle:.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _row(strait: Strait, own: list[tuple[Seen, Seen]]) -> tuple[str, list[bool]]:
    """A line of the table, and which of its goals hold."""
    rate, rate_text = _ratio(own, lambda seen: seen.rate)
    cpu, cpu_text = _ratio(own, lambda seen: seen.cpu)
    p99, p99_text = _ratio(own, lambda seen: seen.p99)
    more = statistics.median([whole.p50 - bare.p50 for whole, bare in own])
    holds: list[bool] = []

    def goal(measured: float, bound: float | None, sign: str, unit: str = "") -> str:
        if bound is None:
            return ""
        holds.append(measured >= bound if sign == "≥" else measured <= bound)
        return f"{sign} {bound:g}{unit}{'' if holds[-1] else ' (missed)'}"

    waits = f"p50 {1000 * more:+.1f} ms {goal(1000 * more, strait.p50_more and 1000 * strait.p50_more, '≤', ' ms')}"
    waits += f"; p99 {p99_text} x {goal(p99, strait.p99, '≤')}"
    cells = (strait.name, rate_text, goal(rate, strait.rate, "≥"), cpu_text, goal(cpu, strait.cpu, "≤"), waits)
    return f"| {' | '.join(cells)} |", holds


def _figures(strait: Strait, own: list[tuple[Seen, Seen]]) -> str:
    def middle(of: Callable[[tuple[Seen, Seen]], float]) -> float:
        return statistics.median(map(of, own))

    return (
        f"| {strait.name} | {middle(lambda pair: pair[0].rate):,.0f} | {middle(lambda pair: pair[1].rate):,.0f} "
        f"| {middle(lambda pair: 1e6 * pair[0].cpu):.0f} | {middle(lambda pair: 1e6 * pair[1].cpu):.0f} "
        f"| {sum(pair[0].refused for pair in own)} |"
    )


def _page(found: Rounds, acknowledged: int, stored: int, rounds: int) -> str:
    straits = [strait for strait in STRAITS if strait.name in found]
    rows = [_row(strait, found[strait.name]) for strait in straits]
    goals = [holds for _, all_of_one in rows for holds in all_of_one]
    first: Any = found[straits[0].name]
    return _TEXT.format(
        acknowledged=acknowledged,
        stored=stored,
        rounds=rounds,
        bare=1e6 * statistics.median([bare.cpu for _, bare in first]),
        holds=sum(goals),
        goals=len(goals),
        rows="\n".join(row for row, _ in rows),
        figures="\n".join(_figures(strait, found[strait.name]) for strait in straits),
    )


def measure() -> str:
    """A page about it."""
    return _page(*_run(STRAITS, _ROUNDS, 1.0), _ROUNDS)


def main() -> int:
    """Measure, and print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="how often everything is measured (%(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="calls of a measurement, as a share of the usual")
    parser.add_argument("--only", default="", help="those whose name has this")
    options = parser.parse_args()
    straits = tuple(strait for strait in STRAITS if options.only in strait.name)
    print(_page(*_run(straits, options.rounds, options.scale), options.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
