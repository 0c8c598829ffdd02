"""A survey about something that nobody likes to admit: two coins hide each answer, and the share comes out.

"Did you cheat on your tax?" Heads, and somebody tells the truth; tails, and they say what a second coin says. A yes
proves nothing, as one in four who did not would say it, too. But of many answers the coins can be taken out again.
It costs devices: the error is twice that of plain answers where half say yes, and six times where 2% do. (Warner,
1965, and any epsilon: Dwork and Roth, 2014, section 3.2.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from deniable_aggregator.answers import Row, answer
from deniable_aggregator.telling.terminal import bar, table

from ._drawing import Axis, Curve, curves
from ._running import run
from ._tables import asked, matrix, worst

__all__ = ["SHOWS", "hoeffding", "main", "read", "undone", "variance", "worst_list"]

SHOWS: tuple[str, ...] = ("A1", "A2", "A3", "A4", "A5", "A6", "A7")
COINS = '"ln 3"'
FLEETS = (100, 1_000, 10_000, 100_000)


def undone(epsilon: float) -> tuple[float, float]:
    """What a no and a yes count as, so that the mean is the share on average."""
    odds = math.exp(epsilon)
    no, yes = ((sent - 1 / (1 + odds)) * (odds + 1) / (odds - 1) for sent in (0, 1))
    return no, yes


def variance(share: float, epsilon: float | None) -> float:
    """Of one answer that is undone; None: of a plain one."""
    odds = math.inf if epsilon is None else math.exp(epsilon)
    return share * (1 - share) + (0.0 if epsilon is None else odds / (odds - 1) ** 2)


def hoeffding(epsilon: float, devices: int, missed: float = 0.05) -> float:
    """How far the share is off at most, but for a chance."""
    return math.sqrt(math.log(2 / missed) / (2 * devices)) / math.tanh(epsilon / 2)


def worst_list(people: int) -> Fraction:
    """The greatest ratio of what lists of answers two neighbours give, over all tables and all lists, exactly."""
    chances = (Fraction(1, 4), Fraction(3, 4))
    every = list(product(range(2), repeat=people))

    def chance(said: Sequence[int], truth: Sequence[int]) -> Fraction:
        return math.prod((chances[a == b] for a, b in zip(said, truth, strict=True)), start=Fraction(1))

    return max(chance(said, truth) / chance(said, (1 - truth[0], *truth[1:])) for said in every for truth in every)


def read(no: int, yes: int, epsilon: str = COINS) -> Row:
    """The share, as the aggregator estimates it from so many answers."""
    (row,) = answer(asked("boolean", epsilon), [np.array([no, yes])]).rows
    return row


def told() -> str:
    """The matrix, the worst ratio, and what answers say of the share."""
    (tt, tf), (ft, ff) = matrix(asked("boolean", COINS)).tolist()
    found = [(devices, read(devices * 6 // 10, devices * 4 // 10)) for devices in FLEETS]
    lines = [
        (
            f"{devices:,}",
            f"{row.value:.1%}",
            f"{max(row.low, 0):.1%} to {row.high:.1%}",
            bar(row.value, max(row.low, 0), row.high, 0, 1),
            f"{1.96 * math.sqrt(variance(0.3, None) / devices):.1%}",
            f"{hoeffding(math.log(3), devices):.1%}",
        )
        for devices, row in found
    ]
    header = ("answers, 4 in 10 yes", "share", "95% interval", "", "plain, plus or minus", "Hoeffding")
    costs = [
        (f"{share:g}", *(f"{variance(share, own) / variance(share, None):.3f}" for own in (math.log(3), 1.0, 0.1)))
        for share in (0.5, 0.3, 0.1, 0.02)
    ]
    no, yes = undone(math.log(3))
    return "\n".join(
        [
            f"A no is said by {tt:g} of those who did not, a yes by {tf:g}; of those who did, {ft:g} and {ff:g}.",
            f"Worst ratio: e^{worst([[tt, tf], [ft, ff]]):.6f}. Of lists of four people's answers: {worst_list(4)}.",
            f"A no counts as {no:g}, a yes as {yes:g}; at epsilon 1 as {undone(1)[0]:.6f} and {undone(1)[1]:.6f}.",
            "",
            table(header, lines, (True, True, True, False, True, True)),
            "",
            "How many times as many answers it takes as of plain ones:",
            table(("share", "ln 3", "epsilon 1", "epsilon 0.1"), costs, (True,) * 4),
        ]
    )


def drawn() -> str:
    """How wide intervals are, by the number of devices."""
    sizes = [10 ** (power / 4) for power in range(8, 25)]
    lines = [
        Curve(name, [(n, 1.96 * math.sqrt(variance(0.3, own) / n)) for n in sizes])
        for name, own in (("epsilon 0.1", 0.1), ("epsilon 1", 1.0), ("two coins, ln 3", math.log(3)), ("plain", None))
    ]
    across = Axis("answers", [10**power for power in range(2, 7)], powers=True)
    up = Axis("plus or minus", [0.001, 0.01, 0.1, 1], powers=True, percent=True)
    return curves("How sure a survey is of a share of 30%", across, up, lines)


def main(arguments: list[str]) -> int:
    """Print the figures, and draw the picture where that is asked for."""
    return run(arguments, told, drawn)
