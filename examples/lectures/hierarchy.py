"""Counts with noise, as whole numbers that add up: a nation of two states, and households by their size.

A census publishes how many households of each size there are, in every block, county and state. With noise on each
count they add up no more, and some are negative. The nearest whole numbers that do add up are found by a dynamic
program: from the leaves up, what it costs a region to be v is its own squared error, and what its parts cost at the
best division of v. (Fioretto, Van Hentenryck and Zhu, "Differential privacy of hierarchical census data: an
optimization approach", 2020.) The product does so in `consistency/whole_numbers.py`.

Lecture notes have three things less: in the worked table a division is printed as 0 + 4 that is 9 + 4; the program
does not know how many households a region has in all; and of two optima nobody says which. What one person changes
is two of the counts of each level, which is what the 2 in the noise is for.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from typing import NamedTuple

import numpy as np
from benchmarks.hierarchies import violations
from numpy.typing import NDArray

from deniable_aggregator.consistency import Hierarchy, integers, nonnegative
from deniable_aggregator.consistency.groups import groups
from deniable_aggregator.telling.terminal import table

from ._running import run

__all__ = ["OWN", "REGIONS", "SHOWS", "STATES", "by_units", "households", "main", "moved", "program", "told"]

SHOWS = ("D6", "D7", "D8", "E10", "H1", "H2", "H3")
STATES = Hierarchy.of(np.array([-1, 0, 0]))
"""The United States, and below them Georgia and Michigan."""
OWN = {"US": 2, "GA": 3, "MI": 0}
"""What the noisy counts say."""
MOST = 4
"""The largest number that the worked table has."""
REGIONS = Hierarchy.of(np.array([-1, 0, 0, 1, 1, 1, 2, 2, 2]))
"""A nation of two states, each of three counties."""
_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


class Program(NamedTuple):
    """The tables of the dynamic program for a node whose children are leaves."""

    children: list[list[int]]
    """What each child pays to be 0, 1, 2, ..."""
    own: list[int]
    """What the node pays itself."""
    best: list[list[tuple[int, int]]]
    """For each number the divisions that cost the children least."""
    divided: list[int]
    """What the children pay then."""
    total: list[int]
    """What all pay."""


def program(own: int, children: tuple[int, int], most: int) -> Program:
    """By looking at every division, as the notes' table does."""
    numbers = range(most + 1)
    paid = [[(number - said) ** 2 for number in numbers] for said in children]
    best, divided = [], []
    for number in numbers:
        costs = {(one, number - one): paid[0][one] + paid[1][number - one] for one in range(number, -1, -1)}
        least = min(costs.values())
        divided.append(least)
        best.append([division for division, cost in costs.items() if cost == least])
    mine = [(number - own) ** 2 for number in numbers]
    return Program(paid, mine, best, divided, [a + b for a, b in zip(mine, divided, strict=True)])


def by_units(costs: list[list[int]], most: int) -> list[int]:
    """The same costs of divisions, without looking at any: each unit goes to whom it costs least, as costs are
    convex."""
    taken = [0] * len(costs)
    found = [sum(own[0] for own in costs)]
    while len(found) <= most:
        steps = [own[at + 1] - own[at] if at < most else 10**9 for own, at in zip(costs, taken, strict=True)]
        cheapest = steps.index(min(steps))
        taken[cheapest] += 1
        found.append(found[-1] + steps[cheapest])
    return found


def moved(size: int, most_groups: int) -> tuple[int, int]:
    """How far one person moves the counts of households by size, and plain counts of people, at most: every table of
    a few households is looked at, and everybody of it is left out."""
    counts = people = 0
    for number in range(1, most_groups + 1):
        for sizes in combinations_with_replacement(range(1, size + 1), number):
            for place in range(number):
                less = [own - (at == place) for at, own in enumerate(sizes)]
                both = [np.bincount(own, minlength=size + 1)[1:] for own in (sizes, less)]
                counts = max(counts, int(np.abs(both[0] - both[1]).sum()))
                people = max(people, abs(sum(sizes) - sum(less)))
    return counts, people


def households(epsilon: float, seed: int) -> tuple[_Ints, _Floats]:
    """How many households of 1 to 5 there are in every region, and the same with the noise of a trusted counter: two
    changes at each of three levels, so geometric of both signs with the scale 2 times 3 / epsilon."""
    generator = np.random.default_rng(seed)
    leaves = np.zeros((len(REGIONS), 5), dtype=np.int64)
    leaves[REGIONS.leaf] = generator.poisson([12, 14, 7, 5, 2], (int(REGIONS.leaf.sum()), 5))
    truth = np.stack([REGIONS.sums(column) for column in leaves.T], axis=1)
    stop = 1 - np.exp(-epsilon / (2 * len(REGIONS.levels)))
    noise = generator.geometric(stop, truth.shape) - generator.geometric(stop, truth.shape)
    return truth, (truth + noise).astype(np.float64)


class Kept(NamedTuple):
    """How many constraints do not hold after a method."""

    without_totals: int
    """Parts that do not add up to their whole, and counts below zero."""
    with_totals: int
    """The same, and regions whose sizes do not add up to their known number of households."""


def kept(counts: _Ints, truth: _Ints) -> Kept:
    """Of some counts."""
    totals = truth.sum(axis=1)
    return Kept(*(violations(REGIONS, counts, totals, known) for known in (False, True)))


def methods(truth: _Ints, said: _Floats) -> dict[str, _Ints]:
    """As they were counted; the best real numbers, rounded; by the program, size by size; and with the number of
    households known."""
    ones = np.ones(len(REGIONS))
    real = np.stack([np.rint(nonnegative(REGIONS, column, ones)) for column in said.T], axis=1).astype(np.int64)
    by_size = np.stack([integers(REGIONS, column, ones) for column in said.T], axis=1)
    known = groups(REGIONS, said, np.ones(said.shape), truth.sum(axis=1)).counts
    return {"with noise": said.astype(np.int64), "relaxed": real, "the program": by_size, "with totals": known}


def _worked() -> str:
    found = program(OWN["US"], (OWN["GA"], OWN["MI"]), MOST)
    rows = []
    for number in range(MOST + 1):
        whole = integers(STATES, np.array([*OWN.values()], dtype=float), np.ones(3), np.array([number, -1, -1]))
        divisions = " or ".join(f"{one} + {other}" for one, other in found.best[number])
        parts = [own[number] for own in (*found.children, found.divided, found.own, found.total)]
        rows.append((str(number), *map(str, parts), divisions, " + ".join(map(str, whole[1:]))))
    head = ("v", "GA", "MI", "children", "US", "together", "best divisions", "the product's")
    chosen = integers(STATES, np.array([*OWN.values()], dtype=float), np.ones(3))
    middle = [f"{a} + {b}" for a, b in product(range(3), repeat=2) if a + b == 2]
    return "\n".join(
        [
            "Georgia says 3, Michigan 0, the nation 2. What it costs each to be v, and the nation with its parts:",
            "",
            table(head, rows, (*[True] * 6, False, False)),
            "",
            f"At v = 2 there are {', '.join(middle)} for Georgia + Michigan.",
            "The first costs 9 + 4 = 13 (notes print 0 + 4).",
            "The nation is 2 or 3 at a cost of 1, and 4 is 3 + 1 or 4 + 0: ties, also below the root.",
            f"The product takes the least at the root, and most at the first leaf: {' and '.join(map(str, chosen))}.",
            f"Unit by unit, each to whom it costs least: {by_units(found.children, MOST)}, which is convex.",
        ]
    )


def _households() -> str:
    truth, said = households(0.5, 1)
    rows = [
        (name, *map(str, kept(counts, truth)), f"{np.abs(counts - truth).mean():.1f}")
        for name, counts in methods(truth, said).items()
    ]
    counts, people = moved(3, 3)
    return "\n".join(
        [
            f"One person less moves counts of households by {counts} at each level, and a plain count by {people}:",
            "so the noise has scale 2 L / epsilon for L levels; of plain counts L / epsilon, where a person is left",
            "out, and 2 L / epsilon where one is replaced by another, as on devices.",
            "",
            "Households of 1 to 5 in a nation, two states and six counties, L = 3, epsilon 0.5:",
            "",
            table(("", "broken", "with totals", "mean error"), rows, (False, True, True, True)),
            "",
            "relaxed: the best real numbers, rounded as they would be published. broken: parts that do not add up,",
            "and counts below zero. with totals: and regions whose sizes do not add up to their known number of",
            "households, of which the program as printed knows nothing. (It is printed with one number of households",
            "for every region; two states of G each are a nation of 2 G. Known is one a region, or the nation's.)",
        ]
    )


def told() -> str:
    """The worked table, and households."""
    return f"{_worked()}\n\n{_households()}"


def main(arguments: list[str]) -> int:
    """Print them."""
    return run(arguments, told)
