"""What randomising an answer costs a device, beside other libraries."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.peers import OPENDP, PURE_LDP, medians, workers

__all__ = ["measure"]

TEXT = """\
# What randomising costs a device

Microseconds of processor time for one answer at epsilon 1, the median of {rounds} rounds in which all take turns,
each in an environment of its own. "Secure": the operating system's randomness, and chances without floating point.

| answer | library | mechanism | secure | microseconds | answers a second |
|---|---|---|---|---|---|
{rows}

pure-ldp 1.2.0 draws from Python's and numpy's generators, which are not made to keep secrets. OpenDP 0.16.0 is called
through a foreign function interface, once an answer.
"""
ROUNDS = 9


class Row(NamedTuple):
    """A line of the table."""

    answer: str
    library: str
    mechanism: str
    secure: bool
    worker: str
    task: str
    times: int


ROWS = (
    Row("boolean", "deniable", "randomized response", True, "sdk", "boolean", 20_000),
    Row("boolean", "OpenDP", "randomized response", True, "opendp", "boolean", 400),
    Row("boolean", "pure-ldp", "randomized response", False, "pure_ldp", "privatise-grr-2", 20_000),
    Row("one of 48", "deniable", "subset selection", True, "sdk", "category", 5_000),
    Row("one of 48", "OpenDP", "k-ary randomized response", True, "opendp", "category", 400),
    Row("one of 48", "pure-ldp", "k-ary randomized response", False, "pure_ldp", "privatise-grr-48", 20_000),
    Row("one of 48", "pure-ldp", "optimal unary encoding", False, "pure_ldp", "privatise-oue-48", 2_000),
    Row("one of 48", "pure-ldp", "optimal local hashing", False, "pure_ldp", "privatise-olh-48", 5_000),
    Row("one of 1,024", "deniable", "projective geometry", True, "sdk", "category-1024", 5_000),
    Row("number", "deniable", "discrete Laplace", True, "sdk", "laplace", 5_000),
    Row("number", "OpenDP", "discrete Laplace", True, "opendp", "laplace", 400),
    Row("number", "deniable", "hybrid", True, "sdk", "number", 10_000),
)


def measure() -> str:
    """The table."""
    with workers({"sdk": (), "opendp": OPENDP, "pure_ldp": PURE_LDP}) as found:
        rows = [row for row in ROWS if row.worker in found]
        times = medians([(found[row.worker], row.task, row.times) for row in rows], ROUNDS)
    lines = []
    for row, nanoseconds in zip(rows, times, strict=True):
        start = f"| {row.answer} | {row.library} | {row.mechanism} | {'yes' if row.secure else 'no'}"
        lines.append(f"{start} | {nanoseconds / 1e3:.2f} | {1e9 / nanoseconds:,.0f} |")
    return TEXT.format(rounds=ROUNDS, rows="\n".join(lines))
