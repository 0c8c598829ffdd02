"""What hostile callers do to a worker, and to the devices beside them.

An attacker of its own process tries all shapes of attack at all sizes and stays with those that take most memory and
processor time (`hostile_shapes.py`); an honest device sends a batch twenty times a second meanwhile, each over a
connection of its own. The attacker has a processor of its own, where there are several: it would be another machine.
`python -m benchmarks.hostile --seconds 600` takes ten minutes, and ten more for the same against a bare gRPC server.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc

from benchmarks.edge import edge
from benchmarks.ingest_servers import COLLECTION_TEXT, batch
from benchmarks.processes import Running, memory_bytes, workers
from deniable_aggregator.serving.answering import answering
from deniable_aggregator.serving.server import Settings
from deniable_aggregator.serving.sources import Sources
from deniable_aggregator.serving.supervisor import Program, Supervisor, serve

__all__ = ["Attack", "Found", "attacked", "main", "measure"]

_SUBMIT = "/deniable.v1.ReportService/SubmitReports"
_SECONDS = 60
_CALM_SECONDS = 60
_REST_SECONDS = 15
"""After the first calls: what an edge has counted of them is forgotten, and none has to wait for its turn."""
_SETTLE_SECONDS = 30
_AGAIN_SECONDS = 0.5
_PACE = 20
_WARM_CALLS = 500
_REPORTS = 20
_PERCENTS = (50, 90, 99)
_EDGES = (1, 100)
"""From so many addresses a worker behind nginx is attacked, which counts the calls of each."""
_TEXT = """\
# Hostile callers

One worker, attacked for {seconds} s by a process that tries {shapes} shapes of attack (messages of as many
fields as fit, messages withheld, calls without a message, silent connections, watches, answers that are not
taken, headers, resets, control frames, compressed messages, streams of empty batches, noise) at sizes up to
2^20, and stays with those that take most. An honest device sends a batch of {reports} reports {pace} times a
second, each over a connection of its own; what does not get through is sent again. The attacker is on the same
machine: {where}. Memory is that of all workers; one that is relieved is there beside the fresh one.

{tables}
The load of the machine was {load:.1f} when it began, and {processors} processors were there.
"""
_TABLE = """\
## {what}

| | before | during | after |
|---|---|---|---|
| memory, MB | {before:.0f} | {during:.0f} at most, median {median:.0f} | {after:.0f} |
| p50 of an honest call, ms | {p50_before:.1f} | {p50_during:.1f} | |
| p90, ms | {p90_before:.1f} | {p90_during:.1f} | |
| p99, ms | {p99_before:.1f} | {p99_during:.1f} | |

{calls} honest calls during the attack, which were sent again {again} times, {lost} not acknowledged within 30 s;
{attack}
"""


@dataclass(frozen=True, slots=True)
class Attack:
    """How it is attacked."""

    seconds: int
    seed: int = 1
    """Of the attacker's choices."""
    processor: int | None = None
    """The attacker's own, which is left free."""
    addresses: int = 1
    """Of the attacker; devices have another one."""


@dataclass(frozen=True, slots=True)
class Found:
    """What came of an attack."""

    before: float
    during: list[float]
    """Megabytes, several times a second."""
    after: float
    calm: list[float]
    """Seconds of honest calls."""
    under: list[float]
    again: int
    lost: int
    attack: str


def _megabytes(pid: int) -> float:
    """What the workers of a server have."""
    return memory_bytes(workers(pid)) / 1e6


def _make_room() -> int | None:
    """Keep this process, and those that it starts, from a processor, the attacker's; None if there is only one."""
    ours = sorted(os.sched_getaffinity(0))
    if len(ours) == 1:
        return None
    os.sched_setaffinity(0, ours[:-1])
    return ours[-1]


class _Device:
    """Honest calls, and how long they take."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.seconds: list[float] = []
        self.again = 0
        self.lost = 0

    async def call(self) -> None:
        """Send a batch as a device does."""
        own = batch(_REPORTS)
        own.batch_id = os.urandom(16)
        message = own.SerializeToString()
        began = time.monotonic()
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
        while time.monotonic() < began + 30:
            async with grpc.aio.insecure_channel(f"127.0.0.1:{self._port}", options=options) as channel:
                try:
                    call: Any = channel.unary_unary(_SUBMIT)
                    await call(message, timeout=30)
                except grpc.aio.AioRpcError:
                    self.again += 1
                    await asyncio.sleep(_AGAIN_SECONDS)
                else:
                    self.seconds.append(time.monotonic() - began)
                    return
        self.lost += 1

    async def keep_calling(self, seconds: float) -> list[float]:
        """Send batches at a pace, for so long; how long each took."""
        self.seconds, calls = [], []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            calls.append(asyncio.create_task(self.call()))
            await asyncio.sleep(1 / _PACE)
        await asyncio.gather(*calls)
        return sorted(self.seconds)


async def _sampled(pid: int, into: list[float]) -> None:
    while True:
        into.append(_megabytes(pid))
        await asyncio.sleep(0.2)


async def _attack(attack: Attack, pid: int, port: int) -> Found:
    seconds = attack.seconds
    device = _Device(port)
    for _ in range(_WARM_CALLS // 20):
        await asyncio.gather(*(device.call() for _ in range(20)))
    await asyncio.sleep(_REST_SECONDS)
    calm = await device.keep_calling(_CALM_SECONDS)
    before = _megabytes(pid)
    device.again = device.lost = 0
    attacker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.hostile_shapes"),
        *map(str, (port, pid, seconds, attack.seed, attack.addresses)),
        stdout=asyncio.subprocess.PIPE,
    )
    if attack.processor is not None:
        os.sched_setaffinity(attacker.pid, {attack.processor})
    during: list[float] = []
    sampling = asyncio.create_task(_sampled(pid, during))
    under = await device.keep_calling(seconds)
    told = (await attacker.communicate())[0].decode()
    await asyncio.sleep(_SETTLE_SECONDS)
    sampling.cancel()
    return Found(before, during, _megabytes(pid), calm, under, device.again, device.lost, told)


def attacked(attack: Attack, behind_edge: bool = False) -> Found:
    """Attack a worker of its own, or the nginx in front of it."""
    with tempfile.TemporaryDirectory() as room, contextlib.ExitStack() as stack:
        server = Running("benchmarks.hostile", "--serve", room)
        stack.callback(server.end)
        port = stack.enter_context(edge(Path(room), server.port)) if behind_edge else server.port
        return asyncio.run(_attack(attack, server.pid, port))


def _bare(attack: Attack) -> Found:
    """Attack a server that only answers, in the same way."""
    with tempfile.TemporaryDirectory() as room:
        server = Running("benchmarks.ingest_servers", "bare", room, "1")
        try:
            return asyncio.run(_attack(attack, server.pid, server.port))
        finally:
            with contextlib.suppress(subprocess.TimeoutExpired):  # it may be too busy still; its own loss
                server.end()


def _percentile(seconds: list[float], percent: float) -> float:
    return 1000 * seconds[min(int(len(seconds) * percent / 100), len(seconds) - 1)] if seconds else float("nan")


def _page(attack: Attack) -> str:
    from benchmarks.hostile_shapes import SHAPES

    load, processors = os.getloadavg()[0], len(os.sched_getaffinity(0))
    attack = replace(attack, processor=_make_room())
    found = {
        "A worker": attacked(attack),
        "A bare server of gRPC, which answers anything": _bare(attack),
    }
    for addresses in _EDGES:
        found[_through_nginx(addresses)] = attacked(replace(attack, addresses=addresses), behind_edge=True)
    return _TEXT.format(
        seconds=attack.seconds,
        shapes=len(SHAPES),
        reports=_REPORTS,
        pace=_PACE,
        tables="\n".join(_table(what, each) for what, each in found.items()),
        load=load,
        processors=processors,
        where="it has a processor of its own" if attack.processor is not None else "all share one processor",
    )


def _through_nginx(addresses: int) -> str:
    where = "an address" if addresses == 1 else f"{addresses} addresses"
    return f"A worker behind nginx, as deploy/nginx has it, attacked from {where}"


def _table(what: str, found: Found) -> str:
    return _TABLE.format(
        what=what,
        before=found.before,
        during=max(found.during),
        median=statistics.median(found.during),
        after=found.after,
        **{f"p{percent}_before": _percentile(found.calm, percent) for percent in _PERCENTS},
        **{f"p{percent}_during": _percentile(found.under, percent) for percent in _PERCENTS},
        calls=len(found.under),
        again=found.again,
        lost=found.lost,
        attack="what took most (MB and seconds of a burst): " + "; ".join(found.attack.splitlines()),
    )


def measure() -> str:
    """A page about it."""
    return _page(Attack(_SECONDS))


def _serve(directory: Path) -> None:
    """Be the aggregator that is attacked."""
    file = directory / "metrics.toml"
    file.write_text(COLLECTION_TEXT)
    settings = Settings(listen="127.0.0.1:0", data_dir=directory / "data")
    supervisor = Supervisor(Program(settings, Sources((file,)), answering), 1)
    serve(supervisor, lambda: print(supervisor.port, flush=True))


def main() -> int:
    """Attack, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=_SECONDS, help="how long (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the attacker's choices (%(default)s)")
    parser.add_argument("--addresses", type=int, metavar="N", help="only behind nginx, from so many")
    parser.add_argument("--serve", type=Path, metavar="DIRECTORY", help="be the aggregator that is attacked")
    options = parser.parse_args()
    if options.serve:
        _serve(options.serve)
        return 0
    attack = Attack(options.seconds, options.seed)
    if options.addresses:
        attack = replace(attack, processor=_make_room(), addresses=options.addresses)
        print(_table(_through_nginx(options.addresses), attacked(attack, behind_edge=True)))
    else:
        print(_page(attack))
    return 0


if __name__ == "__main__":
    sys.exit(main())
