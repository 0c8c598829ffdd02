"""Vectors by codewords through gRPC and the store, and what other reports cost beside them."""

from __future__ import annotations

import random
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from benchmarks.codewords_servers import OTHERS, made
from benchmarks.h2load import Load, framed, missing
from benchmarks.ingest_servers import batch
from benchmarks.processes import Running
from deniable.v1.report_service_pb2 import StreamReportsRequest, StreamReportsResponse, SubmitReportsRequest

__all__ = ["measure"]

_TEXT = """\
# Codewords, all the way

Reports of a vector of 1,024 entries, eight bytes each, through gRPC, checked, made into entries again, added up and
synced to disk before they are acknowledged: by one worker, over streams of 100 batches a message, as a gateway sends
them, from devices in six segments. Beside it the same worker with a collection that has no vector; batches of
{others} other reports are booleans, categories and numbers. Processor time is that of all server-side processes, the
store's included; servers take turns in another order every round, and a figure is the median of {rounds} rounds. On a
machine that others use, batches a second are fewer by what these take.

| batches of | collection | batches a second | µs of a processor a batch | batches a second of a processor |
|---|---|---|---|---|
{rows}

A codeword takes {more:.1f} µs of a batch that has it beside {others} other reports. Beside codewords other reports
cost {times:.2f} times what they do in a collection without (the lowest round {least:.2f}, the highest {most:.2f}).
"""
_STREAM = "deniable.v1.ReportService/StreamReports"
_ROUNDS = 7
_TOGETHER, _MESSAGES, _CALLS = 100, 10, 40
_CASES = ("a vector", "others, beside", "others and a vector", "others")


class _Seen(NamedTuple):
    """What came out of a case, once."""

    rate: float
    cpu: float


def _load(request: SubmitReportsRequest, calls: int) -> Load:
    messages = [
        StreamReportsRequest(sequence=number, batches=[request] * _TOGETHER).SerializeToString()
        for number in range(_MESSAGES)
    ]
    answers = [StreamReportsResponse(sequence=number, stored=_TOGETHER).ByteSize() for number in range(_MESSAGES)]
    return Load(_STREAM, framed(messages), calls, sum(answers), _MESSAGES, connections=4, streams=1)


def _seen(load: Load, server: Running) -> _Seen:
    before = server.cpu_seconds()
    found = load.run(server.port)
    batches = found.acknowledged * _TOGETHER
    return _Seen(batches / found.seconds, (server.cpu_seconds() - before) / batches)


def _run(rounds: int, calls: int) -> list[dict[str, _Seen]]:
    with tempfile.TemporaryDirectory() as room, ExitStack() as stack:
        beside = Running("benchmarks.codewords_servers", str(Path(room, "beside")))
        stack.callback(beside.end)
        without = Running("benchmarks.ingest_servers", "whole", str(Path(room, "without")), "1")
        stack.callback(without.end)
        asked = [made(True, False), made(False, True), made(True, True), batch(OTHERS)]
        cases = {
            name: (request, without if name == "others" else beside)
            for name, request in zip(_CASES, asked, strict=True)
        }
        for request, server in cases.values():
            _load(request, 4).run(server.port)
        found = []
        for _ in range(rounds):
            order = random.sample(_CASES, len(_CASES))
            found.append({name: _seen(_load(cases[name][0], calls), cases[name][1]) for name in order})
        return found


def measure(rounds: int = _ROUNDS, calls: int = _CALLS) -> str:
    """A page about it."""
    if hint := missing():
        return f"# Codewords, all the way\n\nNot measured: {hint}."
    found = _run(rounds, calls)
    rows = []
    for name in _CASES:
        rate, cpu = (statistics.median(getattr(own[name], part) for own in found) for part in ("rate", "cpu"))
        held = "without" if name == "others" else "with a vector"
        rows.append(f"| {name.removesuffix(', beside')} | {held} | {rate:,.0f} | {1e6 * cpu:.1f} | {1 / cpu:,.0f} |")
    times = [own["others, beside"].cpu / own["others"].cpu for own in found]
    more = [own["others and a vector"].cpu - own["others, beside"].cpu for own in found]
    return _TEXT.format(
        others=OTHERS,
        rounds=rounds,
        rows="\n".join(rows),
        more=1e6 * statistics.median(more),
        times=statistics.median(times),
        least=min(times),
        most=max(times),
    )
