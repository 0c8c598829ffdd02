"""Trips between places: too many pairs for counts on devices, and noise that goes by distance.

Half an hour of a shuttle service has 34 trips on one route and 12 on another, among some 30,000 pairs of places.
With noise of a trusted counter both can be told. Where each device randomises its own trip, what limits a count is
the number of devices, and no longer the number of pairs: randomized response would drown in 30,000 pairs, the
mechanism that is chosen for them does not. So a route can be told that has a share of the trips, and never one that
has few.

Notes name a "polar Laplace" noise and a generalized epsilon, and say no more of them. What is meant is likely noise
on a place, of a density that falls by e^(-epsilon) with every unit of distance: two places are told apart by
epsilon times how far they lie apart. (Andrés and others, CCS 2013.) That hides which house somebody is in, and not
which city, unless epsilon is so small that nothing is told. Nothing here uses it. Answers that have an order are
asked by a mechanism that has both: e^epsilon for any two answers, and far less for answers that are near.

The other use of these notes, loads of a power grid, is out of this system's reach: nothing is shown of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from examples.learning.central.noise import by_length

from deniable import Epsilon
from deniable.mechanisms import Exponential, RandomizedResponse
from deniable_aggregator.telling.terminal import table

from ._running import run
from ._tables import asked

__all__ = ["PAIRS", "SHOWS", "Spread", "by_distance", "main", "ordered", "spread", "told"]

SHOWS = ("D10b", "D11")
PAIRS, TRIPS = 30_000, 10_000
ROUTES = (34, 0, 1, 0, 12)
"""Trips on five of the pairs between 8:00 and 8:30."""


class Spread(NamedTuple):
    """The deviation of the noise on the count of a route that hardly anybody takes."""

    trusted: float
    """Of a trusted counter, where a trip is replaced by another."""
    chosen: float
    """By the mechanism that is chosen for so many values."""
    response: float
    """By randomized response."""
    name: str
    """What was chosen."""


def spread(epsilon: float, trips: int = TRIPS, pairs: int = PAIRS) -> Spread:
    """For so many trips, each a device's."""
    values = ", ".join(f'"{number}"' for number in range(pairs))
    (column,) = asked("category", f"{epsilon:g}", f"values = [{values}]").columns
    response, own = RandomizedResponse(Epsilon.of(epsilon), pairs), column.mechanism
    found = []
    for p, q in ((own.p, own.q), (response.p, response.q)):  # type: ignore[attr-defined]
        found.append(math.sqrt(trips * float(q) * float(1 - q)) / float(p - q))
    return Spread(math.sqrt(2) * 2 / epsilon, found[0], found[1], type(own).__name__)


def share(epsilon: float, own: float) -> int:
    """From how many trips on a route is told that has such a share of them: it is four deviations of its noise."""
    return math.ceil((4 * spread(epsilon, 1).chosen / own) ** 2)


def by_distance(epsilon: float, distance: float) -> float:
    """By how much a place can be likelier after noise on one place than on another so far away, as a logarithm: the
    most over a grid of places around both."""
    side = np.linspace(-2 * distance - 3, 2 * distance + 3, 201)
    across, up = np.meshgrid(side, side)
    lengths = [np.hypot(across - middle, up) for middle in (-distance / 2, distance / 2)]
    return float((epsilon * np.abs(lengths[0] - lengths[1])).max())


def moved(epsilon: float, draws: int = 20_000) -> float:
    """How far such noise moves a place, on average: 2 / epsilon."""
    generator = np.random.default_rng(1)
    return float(np.mean([np.linalg.norm(by_length(generator, (2,), 1 / epsilon)) for _ in range(draws)]))


def ordered(epsilon: float, answers: int) -> list[float]:
    """The same for answers that have an order, of the first and each of the others: from the exact channel."""
    rows = [[float(chance) for chance in row.values()] for row in Exponential(Epsilon.of(epsilon), answers).channel()]
    first = rows[0]
    return [max(abs(math.log(a / b)) for a, b in zip(first, row, strict=True)) for row in rows[1:]]


def told() -> str:
    """Counts of routes, and distances."""
    rows = []
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        own = spread(epsilon)
        noise = f"{own.trusted:.1f}", f"{own.chosen:,.0f}", f"{own.response:,.0f}"
        rows.append((f"{epsilon:g}", *noise, f"{share(epsilon, ROUTES[0] / TRIPS):,}"))
    near = ordered(2.0, 8)
    places = [
        (str(far), f"{near[far - 1]:.2f}", f"{float(Epsilon.of(2)):.2f}", f"{by_distance(2.0, far):.2f}")
        for far in (1, 2, 4, 7)
    ]
    return "\n".join(
        [
            f"{TRIPS:,} trips among {PAIRS:,} pairs, {', '.join(map(str, ROUTES))} on five of them: the deviation of",
            "noise on each of these counts, and how many trips it takes to tell a route that has 34 of 10,000.",
            "",
            table(
                ("epsilon", "trusted counter", "as chosen", "randomized response", "trips it takes"),
                rows,
                (True,) * 5,
            ),
            "",
            "How far two answers are told apart at epsilon 2, as a logarithm, by how far they lie apart:",
            "",
            table(("distance", "eight ordered answers", "unordered", "noise by distance"), places, (True,) * 4),
            "",
            f"Noise by distance at 2 a unit moves a place by {moved(2.0):.2f} units on average (2 / epsilon).",
        ]
    )


def main(arguments: list[str]) -> int:
    """Print it."""
    return run(arguments, told)
