"""A small table that answers many questions nearly as well as the large one, and how many rows that takes.

To any table there is a small one, of log2(K) / a^2 rows, whose shares are within a of the large one's for K
questions. One such is chosen by the exponential mechanism among all small tables, so that the choice keeps epsilon.
(Blum, Ligett and Roth, STOC 2008.) Its error is at most a + (2 / (epsilon n)) ((log2(K) / a^2) ln |X| - ln delta)
but for a chance of delta, where a row is one of |X|. Turned around: a table of n people answers a number of
questions that is exponential in n.

That takes somebody who has the large table, and looks at every small one: here both are tiny, and every chance is
computed. In this system nobody has the table. `deniable synthesize` draws rows from an answer, as post-processing:
the rows are near to the answer, and how near the answer is to the devices its intervals say.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Collection, Metric
from deniable_aggregator.answers import answer, consistent
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.telling.synthesis import Synthesis, reach, rows_for, synthesis
from deniable_aggregator.telling.terminal import table

from ._running import run

__all__ = [
    "CELLS",
    "SHOWS",
    "Chosen",
    "chosen",
    "drawn_rows",
    "error",
    "exactly",
    "main",
    "questions",
    "rows",
    "told",
]

SHOWS = ("C17", "H9")
CELLS = 4
"""How many rows can be told apart in the tiny table: two answers of yes or no."""
_Floats = NDArray[np.float64]
_TEXT = """
[collection]
name = "rows"
epoch = "1d"
owner = "o"
[budget]
epoch = 10
[metrics.theme]
kind = "category"
description = "Which theme is on"
values = ["dark", "light"]
epsilon = 1
[metrics.platform]
kind = "category"
description = "Which system it runs on"
values = ["linux", "mac", "windows"]
epsilon = 1
[metrics.both]
kind = "joint"
description = "Theme and system together"
of = ["theme", "platform"]
epsilon = 2
"""
TRUTH = {("dark", "linux"): 0.3, ("dark", "mac"): 0.1, ("dark", "windows"): 0.1,
         ("light", "linux"): 0.05, ("light", "mac"): 0.15, ("light", "windows"): 0.3}  # fmt: skip
"""The shares of the fleet."""


def rows(number: int, within: float) -> int:
    """How many rows a small table has that there certainly is for so many questions."""
    return math.ceil(math.log2(number) / within**2)


def error(number: int, within: float, bits: int, budget: float, delta: float) -> float:
    """How far its answers are off, at most, but for a chance of delta: of rows of so many bits, where epsilon times
    the people is `budget`."""
    return within + 2 / budget * (rows(number, within) * bits * math.log(2) - math.log(delta))


def questions(people: int, epsilon: float, off: float, bits: int, delta: float) -> float:
    """The logarithm (to base 2) of how many questions can be answered to within `off`, half of it for the rows."""
    within = off / 2
    return within**2 * (epsilon * people * within / 2 + math.log(delta)) / (bits * math.log(2))


class Chosen(NamedTuple):
    """The exponential mechanism's choice among all small tables, exactly."""

    losses: _Floats
    """How far off each small table is, at the question where it is farthest off."""
    chances: _Floats
    """With which chance it is chosen."""
    bound: float
    """How far off the chosen one is at most, but for a chance of 5%."""


@cache
def _small(size: int) -> tuple[_Floats, _Floats]:
    """The shares of every small table, and of every question which of the rows it counts: all subsets."""
    tables = [np.bincount(own, minlength=CELLS) / size for own in combinations_with_replacement(range(CELLS), size)]
    asked = [[number >> cell & 1 for cell in range(CELLS)] for number in range(1, 1 << CELLS)]
    return np.array(tables), np.array(asked, dtype=np.float64)


def chosen(counts: tuple[int, ...], size: int, epsilon: float) -> Chosen:
    """From a table of so many people of each sort, one of so many rows."""
    small, asked = _small(size)
    people = sum(counts)
    losses = np.abs((small - np.array(counts) / people) @ asked.T).max(axis=1)
    weights = np.exp(-epsilon * people / 2 * (losses - losses.min()))
    best, delta = losses.min(), 0.05
    return Chosen(losses, weights / weights.sum(), best + 2 / (epsilon * people) * math.log(len(small) / delta))


def exactly(people: int, size: int, epsilon: float) -> float:
    """The epsilon that the choice really keeps: the worst ratio over all tables of so many people, one of whom is
    replaced, and all choices."""
    worst = 0.0
    for own in combinations_with_replacement(range(CELLS), people):
        counts = np.bincount(own, minlength=CELLS)
        mine = np.log(chosen(tuple(counts.tolist()), size, epsilon).chances)
        for one in set(own):
            for other in range(CELLS):
                moved = counts.copy()
                moved[one] -= 1
                moved[other] += 1
                theirs = np.log(chosen(tuple(moved.tolist()), size, epsilon).chances)
                worst = max(worst, float(np.abs(mine - theirs).max()))
    return worst


@cache
def _metric() -> Metric:
    return Collection.loads(_TEXT).metrics["both"]


def drawn_rows(devices: int, within: float, seed: int) -> tuple[Synthesis, float, float]:
    """Rows drawn from the answer of simulated devices: what they are drawn from, and how far the shares of their
    cells are from the answer's and from the fleet's."""
    generator, metric = np.random.default_rng(seed), _metric()
    cells, shares = list(TRUTH), np.array([*TRUTH.values()])
    values = [dict(zip(("theme", "platform"), cells[place], strict=True)) for place in range(len(cells))]
    have = [values[place] for place in generator.choice(len(cells), size=devices, p=shares)]
    found = answer(metric, simulate(metric, have, generator))
    fitted = consistent(metric, found)
    listed = [
        {"metric": metric.name, "series": where.series, "key": where.key, "parent": row.parent, "consistent": fit,
         "low": row.low, "high": row.high}
        for where, row, fit in zip(found.ids, found.rows, fitted, strict=True)
    ]  # fmt: skip
    made = synthesis(listed)
    themes, platforms = made.draw(rows_for(made.told, within), generator)
    drawn = np.array([np.mean((themes == one) & (platforms == other)) for one, other in cells])
    told_ = {row["key"]: float(row["consistent"] or 0) for row in listed if row["series"] == "table"}
    answered = np.array([told_[" / ".join(cell)] for cell in cells])
    return made, float(np.abs(drawn - answered).max()), float(np.abs(drawn - shares).max())


def told() -> str:
    """The bound, the mechanism on a tiny table, and rows of an answer."""
    tiny = [(20 * times, chosen((9 * times, 6 * times, 3 * times, 2 * times), 4, 1.0)) for times in (1, 5, 25, 100)]
    small = [
        (f"{people:,}", f"{own.losses.min():.3f}", f"{own.chances @ own.losses:.3f}", f"{own.bound:.3f}")
        for people, own in tiny
    ]
    grown = [
        (f"{people:,}", f"2^{questions(people, 1.0, 0.2, 10, 0.05):,.1f}") for people in (10_000, 100_000, 1_000_000)
    ]
    made, off, from_truth = drawn_rows(20_000, 0.02, 1)
    number = rows_for(made.told, 0.02)
    return "\n".join(
        [
            f"1,024 questions to within a tenth: there are such {rows(1024, 0.1):,} rows. Where rows have 10 bits",
            "and epsilon times people is 10^5, those that are chosen are off by",
            f"{error(1024, 0.1, 10, 1e5, 0.05):.4f} at most, but for a chance of 5%.",
            "",
            "How many questions are answered to within 0.2, at epsilon 1, by the same formula:",
            "",
            table(("people", "questions"), grown, (True, True)),
            "",
            f"All {len(_small(4)[0])} tables of four rows of two bits, all 15 questions, epsilon 1; of people 45%,",
            "30%, 15% and 10% are of the four sorts. How far off a table is at its worst question:",
            "",
            table(("people", "the best", "chosen, on average", "but for 5%"), small, (True,) * 4),
            "",
            f"The worst ratio of a choice over every table of 4 people and its neighbours: {exactly(4, 4, 1.0):.4f},",
            "for an epsilon of 1.",
            "",
            "The same idea without anybody who has the table: 20,000 devices answer a joint at epsilon 2, and",
            f"{number:,} rows are drawn from the answer. Their cells are within {off:.4f} of the answer (promised:",
            f"{reach(made.told, number):.4f}) and {from_truth:.4f} of the fleet.",
            f"The answer's widest interval is ±{made.error:.4f}.",
        ]
    )


def main(arguments: list[str]) -> int:
    """Print it."""
    return run(arguments, told)
