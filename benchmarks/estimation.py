"""What reports cost the aggregator once they have arrived, beside pure-ldp's server; and what an answer costs."""

from __future__ import annotations

import math
from typing import NamedTuple

from benchmarks.peers import PURE_LDP, medians, workers
from deniable.epsilon import Epsilon
from deniable.mechanisms import ProjectiveGeometryResponse, RandomizedResponse, SubsetSelection, choices

__all__ = ["measure"]

TEXT = """\
# What adding reports up costs, and what an answer costs

## An answer

Ten million reports of a category of 1,024 values at epsilon 1 are 1,093 counters, as a thousand are. To make 1,024
shares with their intervals of them takes {first:.0f} ms where it is a process's first interval,
with which scipy is loaded, and {again:.1f} ms then.

## Adding up

Nanoseconds of processor time for one report of a category at epsilon 1, the median of {rounds} rounds in which all
take turns. The aggregator's are those of flushes of 1,000 batches of 20 reports: rows are checked and added up on
arrays. pure-ldp's server is given one report after the other, which is what its `aggregate` takes.

| values | server | mechanism | variance | nanoseconds | reports a second | times deniable's |
|---|---|---|---|---|---|---|
{rows}

The variance is that of one report's estimate of a rare value. "Times deniable's" compares with projective geometry
response, whose reports are small numbers. For 64 values at epsilon 1 `auto` takes subset selection in wide rows, a
bit a value, for 4% less variance: they cost more to add up.
"""
ROUNDS = 7
POINTS = ProjectiveGeometryResponse.name


class Row(NamedTuple):
    """A line of the table."""

    domain: int
    server: str
    mechanism: str
    worker: str
    task: str
    times: int


OWN = (
    Row(64, "deniable", POINTS, "aggregator", "accumulate-points-64", 200_000),
    Row(64, "deniable", SubsetSelection.name, "aggregator", "accumulate-auto-64", 40_000),
    Row(1024, "deniable", POINTS, "aggregator", "accumulate-auto-1024", 200_000),
)
THEIRS = (
    Row(64, "pure-ldp", "unary encoding (OUE)", "pure_ldp", "aggregate-oue-64", 4_000),
    Row(64, "pure-ldp", "local hashing (OLH)", "pure_ldp", "aggregate-olh-64", 400),
    Row(64, "pure-ldp", RandomizedResponse.name, "pure_ldp", "aggregate-grr-64", 40_000),
    Row(1024, "pure-ldp", "unary encoding (OUE)", "pure_ldp", "aggregate-oue-1024", 2_000),
    Row(1024, "pure-ldp", "local hashing (OLH)", "pure_ldp", "aggregate-olh-1024", 40),
    Row(1024, "pure-ldp", RandomizedResponse.name, "pure_ldp", "aggregate-grr-1024", 40_000),
)


def variance(row: Row) -> float:
    """Of one report's estimate of a rare value: q (1 - q) / (p - q)^2."""
    odds = math.e
    if "OUE" in row.mechanism:
        p, q = 0.5, 1 / (odds + 1)
    elif "OLH" in row.mechanism:
        hashes = round(odds) + 1
        p, q = odds / (odds + hashes - 1), 1 / hashes
    else:
        return next(each.variance for each in choices(Epsilon.of(1), row.domain) if each.name == row.mechanism)
    return q * (1 - q) / (p - q) ** 2


def line(row: Row, nanoseconds: float, points: float) -> str:
    """A line of the table, beside the time of projective geometry response for as many values."""
    cells = (
        f"{row.domain:,}",
        row.server,
        row.mechanism.replace("_", " "),
        f"{variance(row):.3g}",
        f"{nanoseconds:,.0f}",
        f"{1e9 / nanoseconds:,.0f}",
        f"{nanoseconds / points:,.1f}",
    )
    return f"| {' | '.join(cells)} |"


def measure() -> str:
    """Both tables."""
    with workers({"aggregator": (), "pure_ldp": PURE_LDP}) as found:
        first = found["aggregator"].time("estimate", 1)
        rows = [row for row in OWN + THEIRS if row.worker in found]
        turns = [(found[row.worker], row.task, row.times) for row in rows]
        again, *times = medians([(found["aggregator"], "estimate", 20), *turns], ROUNDS)
    points = {
        row.domain: time for row, time in zip(rows, times, strict=True) if row in OWN and row.mechanism == POINTS
    }
    ordered = sorted(zip(rows, times, strict=True), key=lambda pair: pair[0].domain)
    lines = [line(row, time, points[row.domain]) for row, time in ordered]
    return TEXT.format(first=first / 1e6, again=again / 1e6, rounds=ROUNDS, rows="\n".join(lines))
