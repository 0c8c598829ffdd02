"""Ingest against the ceiling of gRPC in Python. `python -m benchmarks.ingest --json` gives every figure.

All servers run at the same time and are loaded one after another, in another order every round, and what is
compared in a row, so that it has seen the same machine. A figure is the median over the rounds; a ratio is the
median of the rounds' ratios. On a machine that others use, only ratios mean something.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.h2load import Load, framed, missing
from benchmarks.ingest_servers import METRICS, batch
from benchmarks.processes import Running
from deniable.v1.report_service_pb2 import StreamReportsRequest, StreamReportsResponse

__all__ = ["main", "measure"]

_SUBMIT = "deniable.v1.ReportService/SubmitReports"
_STREAM = "deniable.v1.ReportService/StreamReports"
_PACE = 2000
_WARM_CALLS = 4000
_ROUNDS = 7
_FORWARDED = "stream, 100 batches a message"
_TEXT = """\
# Ingest

What the aggregator takes, beside a bare gRPC server that answers and does nothing else (`grpc.aio` on uvloop, the
same options) and beside the naive design (a pipeline of Redis commands a call, on the same store). The aggregator
checks every report, adds it up and has it on disk, synced, before it acknowledges; a batch has 20 or 50 reports
(booleans, categories of 5, 16 and 40 values, numbers) in one of six segments.

Load is h2load's, 400 calls in flight over 40 connections, on the same machine; every call gets an id and contents of
its own at the server. *Paced* are 2,000 calls a second as h2load makes them: on all of its 20 connections at once, a
hundred times a second. Calls that come one by one are in [duress](duress.md). Acknowledgements are counted by the
bytes of their bodies. CPU is that of all server-side processes, the store's included. All servers run throughout and
take turns, those that are compared in a row and in random order: a figure is the median of {rounds} rounds, a ratio
the median of the rounds' ratios.

{table}
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """One thing that is measured."""

    server: str
    """Which server, and with how many processes."""
    load: Load
    batches: int = 1
    """How many batches a message has."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What came out of a cell, once."""

    rate: float
    """Batches that were acknowledged, a second."""
    cpu: float
    """Seconds of all server-side processes a batch."""
    acknowledged: float
    """The share of all batches."""
    p50: float = 0.0
    p99: float = 0.0


def _submit(size: int, calls: int, pace: int = 0) -> Load:
    body = framed([batch(size).SerializeToString()])
    if pace:
        return Load(_SUBMIT, body, calls, 0, connections=20, streams=32, pace=pace)
    return Load(_SUBMIT, body, calls, 0)


def _stream(size: int, messages: int, together: int, calls: int) -> Load:
    requests = [
        StreamReportsRequest(sequence=number, batches=[batch(size) for _ in range(together)]).SerializeToString()
        for number in range(messages)
    ]
    answers = (StreamReportsResponse(sequence=number, stored=together).ByteSize() for number in range(messages))
    return Load(_STREAM, framed(requests), calls, sum(answers), messages, connections=4, streams=1)


def _cells(scale: float) -> dict[str, Cell]:
    calls = int(40_000 * scale)
    paced = int(3 * _PACE * scale)
    return {
        "bare, 20 reports": Cell("bare 1", _submit(20, calls)),
        "whole, 20 reports": Cell("whole 1", _submit(20, calls)),
        "bare, 50 reports": Cell("bare 1", _submit(METRICS, calls)),
        "whole, 50 reports": Cell("whole 1", _submit(METRICS, calls)),
        "naive, 20 reports": Cell("naive 1", _submit(20, calls // 16)),
        "bare, 2 processes": Cell("bare 2", _submit(20, calls)),
        "whole, 2 workers": Cell("whole 2", _submit(20, calls)),
        "stream, 1 batch a message": Cell("whole 1", _stream(20, 500, 1, max(calls // 1000, 4))),
        _FORWARDED: Cell("whole 1", _stream(20, 10, 100, max(calls // 500, 4)), 100),
        "bare, paced": Cell("bare 1", _submit(20, paced, _PACE)),
        "whole, paced": Cell("whole 1", _submit(20, paced, _PACE)),
    }


def _measured(cell: Cell, server: Running) -> Measured:
    before = server.cpu_seconds()
    seen = cell.load.run(server.port)
    cpu = server.cpu_seconds() - before
    batches = seen.acknowledged * cell.batches
    share = seen.acknowledged / (cell.load.calls * cell.load.messages)
    if not cell.load.pace:
        return Measured(batches / seen.seconds, cpu / batches, share)
    return Measured(batches / seen.seconds, cpu / batches, share, seen.percentile(50), seen.percentile(99))


Rounds = list[dict[str, Measured]]

_TOGETHER = (
    ("naive, 20 reports", "bare, 20 reports", "whole, 20 reports", _FORWARDED),
    ("bare, 50 reports", "whole, 50 reports"),
    ("bare, 2 processes", "whole, 2 workers"),
    ("bare, paced", "whole, paced"),
    ("stream, 1 batch a message",),
)
"""What is compared is measured in a row: a shared machine is another one a minute later."""


def _order() -> Iterator[str]:
    """All cells, in another order every time, as far as they need not stay together."""
    for group in random.sample(_TOGETHER, len(_TOGETHER)):
        yield from random.sample(group, len(group))


def _run(cells: dict[str, Cell], rounds: int) -> Rounds:
    with tempfile.TemporaryDirectory() as room, ExitStack() as stack:
        servers = {}
        for name in sorted({cell.server for cell in cells.values()}):
            kind, processes = name.split()
            servers[name] = Running("benchmarks.ingest_servers", kind, str(Path(room, name)), processes)
            stack.callback(servers[name].end)
            _submit(20, _WARM_CALLS).run(servers[name].port)
        found: Rounds = []
        for number in range(rounds):
            found.append({})
            for name in _order():
                found[-1][name] = _measured(cells[name], servers[cells[name].server])
                _progress(f"round {number + 1} of {rounds}: {name}")
        return found


def _progress(text: str) -> None:
    sys.stderr.write(f"\r\x1b[K{text}" if sys.stderr.isatty() else f"{text}\n")


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure that has to be reached."""

    what: str
    unit: str
    bound: float
    least: bool
    """It is the least, not the most."""
    of: Callable[[dict[str, Measured]], float]


def _rates(one: str, other: str) -> Callable[[dict[str, Measured]], float]:
    return lambda cells: cells[one].rate / cells[other].rate


def _cpus(one: str, other: str) -> Callable[[dict[str, Measured]], float]:
    return lambda cells: cells[one].cpu / cells[other].cpu


def _p99s(one: str, other: str) -> Callable[[dict[str, Measured]], float]:
    return lambda cells: cells[one].p99 / cells[other].p99


GOALS = (
    Goal("calls, 20 reports: against bare", "x", 0.95, True, _rates("whole, 20 reports", "bare, 20 reports")),
    Goal("CPU a call, 20 reports: against bare", "x", 1.0, False, _cpus("whole, 20 reports", "bare, 20 reports")),
    Goal("calls, 50 reports: against bare", "x", 0.9, True, _rates("whole, 50 reports", "bare, 50 reports")),
    Goal(
        "calls, 2 workers: against 2 bare processes", "x", 1.3, True, _rates("whole, 2 workers", "bare, 2 processes")
    ),
    Goal("calls: against the naive design", "x", 5.0, True, _rates("whole, 20 reports", "naive, 20 reports")),
    Goal("StreamReports: against SubmitReports", "x", 3.0, True, _rates(_FORWARDED, "whole, 20 reports")),
    Goal(
        "p99 at 2,000 calls a second, 20 at once: against bare", "x", 3.5, False, _p99s("whole, paced", "bare, paced")
    ),
    Goal("p50 at 2,000 calls a second, 20 at once", "ms", 8.0, False, lambda cells: 1000 * cells["whole, paced"].p50),
    Goal("reports a second, 50 reports", "", 500_000, True, lambda cells: METRICS * cells["whole, 50 reports"].rate),
)


def _median(values: Sequence[float]) -> float:
    return statistics.median(values)


def _report(rounds: Rounds) -> dict[str, object]:
    cells = {
        name: {
            field: _median([getattr(each[name], field) for each in rounds])
            for field in ("rate", "cpu", "acknowledged", "p50", "p99")
        }
        for name in rounds[0]
    }
    goals = []
    for goal in GOALS:
        own = [goal.of(each) for each in rounds]
        median = _median(own)
        holds = median >= goal.bound if goal.least else median <= goal.bound
        goals.append(
            {
                "what": goal.what, "unit": goal.unit, "bound": goal.bound, "least": goal.least, "measured": median,
                "lowest": min(own), "highest": max(own), "holds": holds,
            }
        )  # fmt: skip
    return {"time": time.strftime("%Y-%m-%d"), "rounds": len(rounds), "cells": cells, "goals": goals}


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"


def _table(report: dict[str, object]) -> str:
    lines = ["| | goal | measured | lowest to highest round |", "|---|---|---|---|"]
    goals, cells = report["goals"], report["cells"]
    assert isinstance(goals, list)
    assert isinstance(cells, dict)
    for goal in goals:
        bound = f"{'≥' if goal['least'] else '≤'} {goal['bound']:,g}"
        sign = "" if goal["holds"] else " (missed)"
        span = f"{_number(goal['lowest'])} to {_number(goal['highest'])}"
        unit = f" {goal['unit']}" if goal["unit"] else ""
        lines.append(f"| {goal['what']} | {bound}{unit} | {_number(goal['measured'])}{unit}{sign} | {span} |")
    lines += ["", "| | batches a second | CPU µs a batch | p50 ms | p99 ms |", "|---|---|---|---|---|"]
    for name, cell in cells.items():
        latency = f"{1000 * cell['p50']:.1f} | {1000 * cell['p99']:.1f}" if cell["p50"] else "|"
        lines.append(f"| {name} | {cell['rate']:,.0f} | {1e6 * cell['cpu']:.0f} | {latency} |")
    return "\n".join(lines)


def measure() -> str:
    """A page about it."""
    if hint := missing():
        return f"# Ingest\n\nNot measured: {hint}."
    return _TEXT.format(rounds=_ROUNDS, table=_table(_report(_run(_cells(1.0), _ROUNDS))))


def main() -> int:
    """Measure, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="every figure, as JSON")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="how often everything is measured (%(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="calls of a measurement, as a share of the usual")
    options = parser.parse_args()
    if hint := missing():
        print(hint, file=sys.stderr)
        return 2
    report = _report(_run(_cells(options.scale), options.rounds))
    print(json.dumps(report, indent=2) if options.json else _table(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
