"""How many people have blue eyes, at epsilon 0.1: with a trusted curator, and without one.

A curator who has everybody's answer adds noise of scale 10 to each of two counts, or of 20 where it is to be hidden
which of both somebody is in: off by some ten or twenty, however many people there are. Without a curator each
device flips its own answer, and the count is off by ten times the root of their number: 9,996 of a million. "Plus
or minus ten" is true of two in three such counts, and of 95 in a hundred it is plus or minus thirty. For single
bits coins are better than Laplace's noise on each device, at every epsilon. (Dwork and Roth, 2014, chapter 3.)
"""

from __future__ import annotations

import math

import numpy as np

from deniable_aggregator.answers import Target, answer
from deniable_aggregator.telling.terminal import bar, table

from ._drawing import Axis, Curve, curves
from ._running import run
from ._tables import asked

__all__ = ["SHOWS", "coins", "counted", "curator", "laplace", "main", "within"]

SHOWS: tuple[str, ...] = ("A12", "C3", "C4", "C7")
EPSILON = 0.1
CANADA = 38_000_000
DENMARK = 5_900_000


def curator(*, replaced: bool, epsilon: float = EPSILON) -> float:
    """The scale of a curator's noise on both counts: a person is in one, and leaves it for the other if replaced."""
    return (2 if replaced else 1) / epsilon


def within(far: float, scale: float) -> float:
    """How often Laplace's noise is no farther off than that."""
    return -math.expm1(-far / scale)


def coins(people: int, epsilon: float = EPSILON) -> float:
    """By how much the count of randomized answers is off: its deviation, for the people who answered."""
    odds = math.exp(epsilon)
    return math.sqrt(people * odds) / (odds - 1)


def laplace(people: int, epsilon: float = EPSILON) -> float:
    """The same by Laplace's noise on each bit."""
    return math.sqrt(2 * people) / epsilon


def counted(people: int, blue: int, epsilon: float = EPSILON) -> float:
    """The deviation of a count, as the aggregator tells it of as many answers as are expected."""
    metric = asked("boolean", str(epsilon))
    yes = 1 / (1 + math.exp(-epsilon))
    said = round(blue * yes + (people - blue) * (1 - yes))
    (row,) = answer(metric, [np.array([people - said, said])], target=Target.REPORTING).rows
    return row.std_error * people


def told() -> str:
    """Who is off by how much, and what noise of scale 10 means."""
    rows = []
    for name, people in (("a town", 10_000), ("a million", 10**6), ("Denmark", DENMARK), ("Canada", CANADA)):
        local = counted(people, people * 3 // 10)
        rows.append(
            (name, f"{people:,}", "14", "28", f"{local:,.0f}", f"{local / people:.2%}", f"{laplace(people):,.0f}")
        )
    header = ("", "people", "curator", "replaced", "no curator", "of all", "Laplace on devices")
    far = [
        (f"{off:.2f}", *(f"{within(off, curator(replaced=replaced)):.1%}" for replaced in (False, True)),
         bar(within(off, 10), 0, within(off, 10), 0, 1))
        for off in (10, 20, 10 * math.log(20), 20 * math.log(20))
    ]  # fmt: skip
    odds = [
        (f"{epsilon:g}", f"{coins(1, epsilon) ** 2:.4f}", f"{laplace(1, epsilon) ** 2:.4f}")
        for epsilon in (0.1, 0.5, 1, math.log(3), 2, 4, 8)
    ]
    central = 2 / math.log(3) ** 2
    return "\n".join(
        [
            "Deviations of the count at epsilon 0.1:",
            table(header, rows, (False, True, True, True, True, True, True)),
            "",
            "How often a curator's count is no farther off:",
            table(("off by", "scale 10", "scale 20", "scale 10"), far, (True, True, True, False)),
            "",
            "Variance of one device's bit, by coins and by Laplace's noise:",
            table(("epsilon", "coins", "Laplace"), odds, (True, True, True)),
            "",
            f"A curator's noise at ln 3 has scale {1 / math.log(3):.6f}: the mean of n bits gets a variance of",
            f"{central:.3f}/n^2. Coins give it 0.75/n, and Laplace on devices {central:.3f}/n.",
        ]
    )


def drawn() -> str:
    """Deviations, by the number of people."""
    sizes = [10 ** (power / 2) for power in range(4, 15)]
    lines = [
        Curve("no curator, Laplace on devices", [(n, laplace(round(n))) for n in sizes]),
        Curve("no curator, coins", [(n, coins(round(n))) for n in sizes]),
        Curve("a curator, one is replaced", [(n, math.sqrt(2) * 20) for n in sizes]),
        Curve("a curator, one is added", [(n, math.sqrt(2) * 10) for n in sizes]),
    ]
    across = Axis("people", [10.0**power for power in range(2, 8)], powers=True)
    up = Axis("the count is off by", [10.0**power for power in range(1, 7)], powers=True)
    return curves("Blue eyes at epsilon 0.1", across, up, lines)


def main(arguments: list[str]) -> int:
    """Print the figures, and draw the picture where that is asked for."""
    return run(arguments, told, drawn)
