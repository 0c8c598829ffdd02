"""Slips of lecture notes, each beside what is right, by numbers: who copies a formula should try it.

None of them changes what is meant; each changes what a program does that is made of it. Greater mistakes have a
lecture of their own: normal noise (`normal`), the exponential mechanism (`choosing`), neighbours (`neighbours`),
the server's error (`phone`), the picture (`picture`), the coin (`bias`), secret participation (`sampling`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deniable_aggregator.accounting import Neighbours, moved
from deniable_aggregator.telling.terminal import table

from ._running import run
from .shame import shamed

__all__ = ["SHOWS", "Slip", "lists_sum", "main", "norm", "shame_terms", "slips", "steepest"]

SHOWS: tuple[str, ...] = ("E4", "E5", "E11", "E15")


class Slip(NamedTuple):
    """What is printed, and what is so."""

    line: str
    """The id of the line."""
    what: str
    """What it is about."""
    printed: str
    """What comes of what is printed."""
    right: str
    """What is right."""


def steepest(sensitivity: float, epsilon: float) -> float:
    """The greatest ratio of two of Laplace's densities of the scale that it takes, the sensitivity apart."""
    scale = sensitivity / epsilon
    points = np.linspace(-3 * sensitivity, 3 * sensitivity, 61)
    return float(np.exp((np.abs(points - sensitivity) - np.abs(points)) / scale).max())


def norm(entries: Sequence[float], power: float, *, sizes: bool) -> float:
    """The l_p norm; without sizes, as it is printed."""
    total = math.fsum((abs(each) if sizes else each) ** power for each in entries)
    return float(total ** (1 / power))


def lists_sum(people: int, factors: int, epsilon: float = 1.0) -> float:
    """The sum over all lists of answers of the product of so many people's chances: 1, if it is of all."""
    truth = 1 / (1 + math.exp(-epsilon))
    return math.fsum(
        math.prod(truth if said else 1 - truth for said in every[:factors])
        for every in itertools.product((0, 1), repeat=people)
    )


def shame_terms(delta: float, people: int) -> tuple[float, float]:
    """Name and shame, where all prints are looked for that name the first person or nobody: their chance, and what is
    left of it without those that name the first. The last step of a proof has the second for the first."""
    prints = list(itertools.product((0, 1, None), repeat=people))
    chances = shamed(delta, people)[0]
    asked = [(place, each) for place, each in enumerate(prints) if all(said is None for said in each[1:])]
    whole = math.fsum(float(chances[place]) for place, _ in asked)
    return whole, math.fsum(float(chances[place]) for place, each in asked if each[0] is None)


def slips() -> list[Slip]:
    """All of them."""
    sensitivity, epsilon, odds = 2.0, 0.5, math.e
    far = moved(np.sum, (0, 1), 6, Neighbours.REPLACED).distance
    whole, left = shame_terms(0.1, 3)
    ages = np.array([31, 49, 26, 19, 27])
    return [
        Slip("E4", "Laplace's ratio at 2 apart, epsilon 0.5",
             f"e^(2/0.5) = {math.exp(sensitivity / epsilon):.2f}, and at most 0.5",
             f"e^0.5 = {steepest(sensitivity, epsilon):.4f}"),
        Slip("E4", "Laplace's density at 10, scale 1", f"exp(-(-10))/2 = {math.exp(10) / 2:,.0f}",
             f"exp(-10)/2 = {math.exp(-10) / 2:.2e}"),
        Slip("E4", "noise of four answers", "Y1 + ... + Yk is one number", "(Y1, ..., Yk) is four"),
        Slip("E5", "ratio of two answers at epsilon 1", "at most eps/eps = 1", f"e^eps = {odds:.4f}"),
        Slip("E5", "a yes at epsilon 1, p^k as p = 0.7311, k = 3",
             f"counts as {(1 - 1 / (1 + 0.7311**3)) * (0.7311**3 + 1) / (0.7311**3 - 1):.3f}",
             f"counts as {(1 - 1 / (1 + odds)) * (odds + 1) / (odds - 1):.3f}"),
        Slip("E11", "ages 31, 49, 26, 19, 27", f"their sum is {ages.mean():.1f}",
             f"sum {ages.sum()}, mean {ages.mean():.1f}"),
        Slip("E11", "ratings that Netflix published", "100 million, and 10 million", "100,480,507"),
        Slip("E11", "smoking is bad, says a study: a breach?", "yes, if one learns of x",
             "no: also where x is not in it"),
        Slip("E15", "sensitivity of a sum of 6 bits", "6, of any two tables", f"{far:g}, of neighbours"),
        Slip("E15", "l1 norm of (1, -1)", f"{norm((1, -1), 1, sizes=False):g}", f"{norm((1, -1), 1, sizes=True):g}"),
        Slip("E15", "chances of all lists of 3 answers", f"up to n - 1: sum {lists_sum(3, 2):g}",
             f"sum {lists_sum(3, 3):g}"),
        Slip("E15", "name and shame's last step, 0.1, three people", f"= {left:.3f}", f"at most {whole:.3f}"),
    ]  # fmt: skip


def told() -> str:
    """The table."""
    return table(("line", "what it is about", "as printed", "right"), slips(), (False,) * 4)


def main(arguments: list[str]) -> int:
    """Print the figures."""
    return run(arguments, told)
