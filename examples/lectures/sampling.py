"""Secret participation: what a report tells where nobody knows whether its device has answered at all.

Where each device takes part by a coin of its own that nobody sees, with the chance p, a result tells at most
ln(1 + p (e^epsilon - 1)). (Balle, Barthe and Gaboardi, NeurIPS 2018.) It has to stay secret: a report that arrives
shows that its device took part, and then tells all of epsilon. A device that sends a fair coin in place of silence,
a dummy, shows nothing by sending, and tells even less. The old survey with two coins is just that: half tell the
truth, half send a dummy.

Lecture notes say "at most 2 p epsilon". That is so up to epsilon 1.256 for every p; at p = 0.1 it fails from 1.509
on, and from p = 1/2 on it never does, as it is then more than epsilon itself. The notes also have q T epsilon for T
steps that each look at a secret part q: the sum of what each step tells is T ln(1 + q (e^epsilon - 1)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from scipy.optimize import brentq

from deniable import Epsilon
from deniable.mechanisms import Mechanism, RandomizedResponse
from deniable_aggregator.accounting import Spent, advanced, composed_delta, dummied, sampled
from deniable_aggregator.telling.terminal import table

from ._drawing import Axis, Curve, curves
from ._running import run

__all__ = ["SHOWS", "drawn", "fails_from", "main", "seen", "steps", "survey", "told"]

SHOWS = ("B17", "E6", "E13")
_SHARE = 0.1
_FAR = 50.0
"""An epsilon beyond which nothing is looked for."""


def fails_from(share: float) -> float:
    """The epsilon from which on 2 p epsilon is less than what is told; inf where there is none. For a share of 0 it
    is where that happens as p becomes small: e^epsilon - 1 = 2 epsilon."""

    def missing(epsilon: float) -> float:
        if not share:
            return math.expm1(epsilon) - 2 * epsilon
        return sampled(Spent(epsilon), share).epsilon - 2 * share * epsilon

    if missing(_FAR) <= 0:
        return math.inf
    return float(brentq(missing, 0.1, _FAR))


def seen(mechanism: Mechanism, share: Fraction) -> float:
    """What a device tells that takes part by chance, and is silent otherwise, where silence can be seen: the worst
    ratio over all that can be sent, and nothing sent."""
    rows = [[share * chance for chance in row.values()] + [1 - share] for row in mechanism.channel()]
    return math.log(max(max(column) / min(column) for column in zip(*rows, strict=True)))


def survey() -> float:
    """What the survey with two coins tells: half tell the truth (nearly: at an epsilon of 30), half send a dummy."""
    return dummied(RandomizedResponse(Epsilon.of(30), 2), 0.5)


def steps(share: float, number: int, epsilon: float) -> tuple[float, float, float]:
    """What so many steps tell that each look at a secret part: as notes have it, added up, and at a delta of 10^-5 by
    the exact curve of steps of which no more is known."""
    each = sampled(Spent(epsilon), share)
    return share * number * epsilon, number * each.epsilon, advanced(each, number, 1e-5).epsilon


def _table() -> str:
    rows = []
    for epsilon in (0.5, 1.0, 2.0, 3.0):
        mechanism = RandomizedResponse(Epsilon.of(epsilon), 2)
        one = sampled(Spent(epsilon), _SHARE).epsilon
        bound = 2 * _SHARE * epsilon
        numbers = seen(mechanism, Fraction(1, 10)), one, dummied(mechanism, _SHARE), bound
        rows.append((f"{epsilon:g}", *(f"{number:.6f}" for number in numbers), "holds" if one <= bound else "fails"))
    header = ("epsilon", "silence is seen", "secret", "with dummies", "2 p epsilon", "")
    return table(header, rows, (*[True] * 5, False))


def told() -> str:
    """What one in ten tell; where the printed bound fails; many steps."""
    printed, added, curve = steps(0.01, 1_000, 1.0)
    root = 0.01 * math.sqrt(1_000)
    at_root = composed_delta(sampled(Spent(1.0), 0.01), 1_000, root)
    places = [f"p = {share:g}: {fails_from(share):.3f}" for share in (0.01, 0.1, 0.3, 0.5)]
    return "\n".join(
        [
            "One in ten takes part, by a secret coin; what is told of a device:",
            "",
            _table(),
            "",
            f"2 p epsilon fails from an epsilon of {fails_from(0.0):.3f} on for the smallest p;",
            f"{', '.join(places)}.",
            f"Half tell the truth and half send a fair coin: {survey():.6f}, which is ln 3.",
            "",
            f"1,000 steps, of a secret hundredth each, at epsilon 1: notes have {printed:g}, and added up it is",
            f"{added:.2f}; {curve:.2f} but for a chance of 10^-5, where no more is known of a step than its epsilon.",
            f"The notes' q epsilon sqrt T is {root:.3f}: the order of it, no bound: delta is {at_root:.2f} there.",
        ]
    )


def drawn() -> str:
    """What is told of a device of which one in ten takes part, against what an answer tells."""
    places = [step / 10 for step in range(1, 41)]
    ways: dict[str, Callable[[float], float]] = {
        "taking part is seen": lambda epsilon: epsilon,
        "it is secret": lambda epsilon: sampled(Spent(epsilon), _SHARE).epsilon,
        "dummies are sent": lambda epsilon: dummied(RandomizedResponse(Epsilon.of(epsilon), 2), _SHARE),
        "2 p epsilon, as printed": lambda epsilon: 2 * _SHARE * epsilon,
    }
    lines = [Curve(name, [(place, way(place)) for place in places]) for name, way in ways.items()]
    up = Axis("told of a device", (0, 1, 2, 3, 4))
    return curves("One in ten takes part", Axis("epsilon of an answer", (0, 1, 2, 3, 4)), up, lines)


def main(arguments: list[str]) -> int:
    """Print it, or draw it."""
    return run(arguments, told, drawn)
