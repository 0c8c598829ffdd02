"""Name and shame: a delta, read as people.

Somebody prints each of n people's answers with the chance delta, and else nothing. That keeps epsilon 0 with delta,
by the definition's letter: of any two neighbours the results differ with the chance delta alone. With delta = 1/n
it names one person on average, and at least one with a chance of 63%. So a delta is to be far below 1/n, and the
system refuses a collection whose delta would expose somebody in a fleet of the size that it says.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from deniable import Collection, CollectionError
from deniable_aggregator.accounting import exposed
from deniable_aggregator.telling.terminal import bar, table

from ._running import run
from ._tables import lost, worst

__all__ = ["SHOWS", "kept", "main", "refused", "shamed"]

SHOWS: tuple[str, ...] = ("B4",)


def shamed(delta: float, people: int) -> NDArray[np.float64]:
    """The chances of every print, for every table of so many bits: 0, 1 or nothing for each."""
    prints = list(itertools.product((0, 1, None), repeat=people))
    tables = itertools.product((0, 1), repeat=people)
    return np.array([[math.prod(_chance(own, said, delta) for own, said in zip(bits, each, strict=True))
                      for each in prints] for bits in tables])  # fmt: skip


def _chance(own: int, said: int | None, delta: float) -> float:
    return 1 - delta if said is None else delta * (said == own)


def kept(delta: float, people: int) -> tuple[float, float]:
    """Epsilon, and delta at epsilon 0, over all neighbours of a table: those in which one bit is another."""
    every = shamed(delta, people)
    pairs = [(one, one ^ 1 << bit) for one in range(1 << people) for bit in range(people)]
    return max(worst(every[list(pair)]) for pair in pairs), max(lost(every[list(pair)], 0.0) for pair in pairs)


def refused(delta: str, fleet: int) -> str:
    """What the system says of a collection with such a delta, for a fleet of a size; empty where it takes it."""
    try:
        Collection.loads(f"""
[collection]
name = "lecture"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = 1.0
epoch_delta = 0.5
lifetime_delta = 0.5
[metrics.weights]
kind = "vector"
description = "How much each of four features counts"
epsilon = 1.0
dimensions = 4
norm = "l2"
clip = 1.0
delta = {delta}
fleet = {fleet}
""")
    except CollectionError as error:
        return error.problems[0].what
    return ""


def told() -> str:
    """What a delta is in people, and what the system says to it."""
    rows = []
    for people in (1_000, 10**6, 10**8):
        for delta in (1e-3, 1e-6, 1e-9):
            own = exposed(delta, people)
            rows.append((f"{people:,}", f"{delta:g}", f"{own.expected:,.3g}", f"{own.chance:.6f}",
                         bar(own.chance, 0, own.chance, 0, 1)))  # fmt: skip
    header = ("people", "delta", "named, on average", "anybody at all", f"{'0%':<20}100%")
    epsilon, delta = kept(0.01, 3)
    return "\n".join(
        [
            f"Of three people, each printed with 0.01: epsilon {epsilon:g}, and delta {delta:.4f} at epsilon 0.",
            "",
            table(header, rows, (True, True, True, True, False)),
            "",
            "A collection for a million devices with a delta of 10^-6 is refused:",
            f"  delta {refused('1e-6', 10**6)}",
        ]
    )


def main(arguments: list[str]) -> int:
    """Print the figures."""
    return run(arguments, told)
