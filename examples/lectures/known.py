"""Releases that keep what is known for certain: nearest to what was estimated, of all that fits.

Differential privacy knows nothing of what the data are bound to: shares come out below zero, and parts that are
more than their whole. So what is released is made to fit afterwards: of all that is possible the nearest to the
noisy values is taken, each weighed by how sure it is. That is post-processing and costs nothing, as long as what is
known is known from elsewhere; a constraint that is read off the data has to be paid for like any other answer.

Where what is possible is convex, the nearest point is never farther from the truth than the noisy values were: in
the norm that weighs as they were weighed, which matters where some are much surer than others. Without weights it
may be farther. Whole numbers are not convex: there it is no farther than twice, which is the other bound that
lecture notes print. And fitting has a price, since what can not be negative is too large on average: so raw
estimates and their intervals are always kept. (Fioretto, Lee and Van Hentenryck, AAMAS 2018.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from deniable import Epsilon
from deniable.mechanisms import RandomizedResponse
from deniable_aggregator.consistency import Hierarchy, integers
from deniable_aggregator.consistency.constraints import Between, constrained
from deniable_aggregator.telling.terminal import table

from ._running import run

__all__ = ["SHOWS", "Farther", "below_zero", "farther", "main", "rounded", "told"]

SHOWS = ("D10", "H5", "H6")
TRUTH = np.array([500.0, 300.0, 200.0])
ERRORS = np.array([4.0, 20.0, 90.0])
"""Of the noise on each of three segments, which are of very different sizes."""
_Floats = NDArray[np.float64]


class Farther(NamedTuple):
    """Over many draws: how much farther than the noisy values the fitted ones are from the truth, at most, and how
    often they are farther at all."""

    most: float
    """The largest ratio of the two distances."""
    often: float
    """The part of the draws in which it is above 1."""


def farther(weighed: bool, as_weighed: bool, draws: int = 200) -> Farther:
    """Values with noise, fitted to a known total and to being above zero, each weighed by its error or all alike;
    distances are weighed as the errors say, or not at all."""
    generator = np.random.default_rng(1)
    known = [Between(np.ones(3), TRUTH.sum(), TRUTH.sum()), *(Between(row, 0.0, np.inf) for row in np.eye(3))]
    scale = ERRORS if as_weighed else np.ones(3)
    ratios = []
    for _ in range(draws):
        noisy = TRUTH + generator.normal(0, ERRORS)
        fitted = constrained(noisy, ERRORS if weighed else np.ones(3), known)
        distances = [float(np.linalg.norm((own - TRUTH) / scale)) for own in (fitted, noisy)]
        ratios.append(distances[0] / distances[1])
    return Farther(max(ratios), float(np.mean(np.array(ratios) > 1 + 1e-9)))


def rounded(draws: int = 500) -> Farther:
    """The same for whole numbers of a nation and two states: not convex."""
    generator = np.random.default_rng(2)
    tree = Hierarchy.of(np.array([-1, 0, 0]))
    ratios = []
    for _ in range(draws):
        truth = tree.sums(np.append(0, generator.integers(0, 4, 2)))
        noisy = truth + generator.laplace(0, 1, 3)
        found = integers(tree, noisy, np.ones(3))
        ratios.append(float(np.linalg.norm(found - truth) / np.linalg.norm(noisy - truth)))
    return Farther(max(ratios), float(np.mean(np.array(ratios) > 1 + 1e-9)))


def below_zero(devices: int) -> tuple[float, float, float]:
    """Where nobody has it, at ln 3: the chance that the estimate is below zero, its mean, and the mean of what is
    left when what is below zero is told as zero. Over every number of yeses."""
    channel = RandomizedResponse(Epsilon.of("ln 3"), 2)
    p, q = float(channel.p), float(channel.q)
    yes = np.arange(devices + 1)
    chances, estimates = binom.pmf(yes, devices, q), (yes / devices - q) / (p - q)
    return (
        float(chances[estimates < 0].sum()),
        float(chances @ estimates),
        float(chances @ np.maximum(estimates, 0)),
    )


def told() -> str:
    """Distances, whole numbers, and the price."""
    cases = {
        "weighed by errors; distance in errors": farther(True, True),
        "weighed by errors; distance as it is": farther(True, False),
        "all alike; distance as it is": farther(False, False),
        "all alike; distance in errors": farther(False, True),
        "whole numbers, all alike": rounded(),
    }
    rows = [(name, f"{own.most:.3f}", f"{own.often:.1%}") for name, own in cases.items()]
    below, raw, fitted = below_zero(1_000)
    return "\n".join(
        [
            "Three segments of 500, 300 and 200, with errors of 4, 20 and 90; that they are 1,000 is known.",
            "How much farther from the truth what fits is than what was noisy:",
            "",
            table(("", "at most", "farther"), rows, (False, True, True)),
            "",
            "Never where it is measured as it was weighed and all is convex; of whole numbers never more than twice.",
            "",
            f"1,000 devices at ln 3, of which none has it: below zero in {below:.1%} of all fleets. The mean of what",
            f"is estimated is {abs(raw):.4f}; of what is told when that is made to fit, {fitted:.4f}.",
        ]
    )


def main(arguments: list[str]) -> int:
    """Print it."""
    return run(arguments, told)
