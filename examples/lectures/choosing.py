"""Choosing by chance: the exponential mechanism, how good its choice is, and what its missing 2 costs.

Where the answer is no number (a nationality, a film, a day to meet), each possible one gets a loss, and is chosen
with weights e^(-epsilon loss/(2 sensitivity)). The 2 pays for the weight, and for the sum of all weights, which
moves as well. By how many a country is behind the first moves by 1 where a visitor is added, and by 2 where one is
from elsewhere. Notes print the weights without the 2: then it keeps 2 epsilon, nearly, unless the sum can not move,
as where a device has one of k answers and its loss is whether it says another one: that is randomized response.
What is chosen is R worse than the best with a chance of |Y| e^(-epsilon R/(2 sensitivity)) at most. (McSherry and
Talwar, 2007; Dwork and Roth, 2014, section 3.4.) On the aggregator's estimates the best is simply taken: they are
released already.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deniable import Epsilon
from deniable.mechanisms import RandomizedResponse
from deniable_aggregator.telling.terminal import bar, table

from ._drawing import Axis, Curve, curves
from ._running import run
from ._tables import worst

__all__ = ["LOSSES", "SHOWS", "chances", "main", "misprinted", "moved_apart", "of_answers", "tail", "tail_bound",
           "within"]  # fmt: skip

SHOWS: tuple[str, ...] = ("C12", "C13", "C14", "C15", "E2")
VISITORS = {"Denmark": 41, "Canada": 38, "Japan": 12, "Kenya": 9, "Peru": 4}
"""How many visitors are from where; the loss of a country is by how many it is behind the first."""
LOSSES = tuple(max(VISITORS.values()) - number for number in VISITORS.values())


def chances(losses: Sequence[float], epsilon: float, sensitivity: float = 1.0) -> NDArray[np.float64]:
    """How often each is chosen."""
    weights = np.exp(-epsilon * (np.asarray(losses) - min(losses)) / (2 * sensitivity))
    own: NDArray[np.float64] = weights / weights.sum()
    return own


def misprinted(losses: Sequence[float], epsilon: float, sensitivity: float = 1.0) -> NDArray[np.float64]:
    """The same without the 2."""
    return chances(losses, 2 * epsilon, sensitivity)


def moved_apart(epsilon: float, outcomes: int, *, printed: bool) -> float:
    """The epsilon that is kept by the worst neighbours there are: of one table one outcome loses nothing and all
    others lose 1, and of the other it is the other way round."""
    rule = misprinted if printed else chances
    one = [0.0] + [1.0] * (outcomes - 1)
    return worst([rule(one, epsilon), rule([1 - loss for loss in one], epsilon)])


def of_answers(epsilon: float, answers: int) -> tuple[float, float]:
    """What is kept without the 2 where a device has one of k answers and loses 1 by saying another; and how far the
    chances are from those of randomized response."""
    rows = [misprinted([float(said != own) for said in range(answers)], epsilon) for own in range(answers)]
    exact = RandomizedResponse(Epsilon.of(epsilon), answers).channel()
    theirs = np.array([[float(chance) for chance in row.values()] for row in exact])
    return worst(rows), float(np.abs(np.array(rows) - theirs).max())


def tail(losses: Sequence[float], epsilon: float, far: float) -> float:
    """How often what is chosen is so much worse than the best, or more."""
    own = chances(losses, epsilon)
    return float(own[np.asarray(losses) - min(losses) >= far].sum())


def tail_bound(outcomes: int, epsilon: float, far: float, sensitivity: float = 1.0) -> float:
    """The most that this can be."""
    return outcomes * math.exp(-epsilon * far / (2 * sensitivity))


def within(outcomes: int, epsilon: float, missed: float, sensitivity: float = 1.0) -> float:
    """How much worse it is at most, but for a chance."""
    return 2 * sensitivity / epsilon * (math.log(outcomes) - math.log(missed))


def told() -> str:
    """What is chosen, how far off it is, and what is kept."""
    own = {epsilon: chances(LOSSES, epsilon) for epsilon in (0.1, 0.5, 2.0)}
    rows = [
        (name, str(number), *(f"{each[place]:.1%}" for each in own.values()), _bar(own[0.5][place]))
        for place, (name, number) in enumerate(VISITORS.items())
    ]
    far = [
        (str(behind), f"{tail(LOSSES, 0.5, behind):.4f}", f"{min(tail_bound(5, 0.5, behind), 1):.4f}")
        for behind in (3, 10, 29, 37)
    ]
    kept = [
        (str(outcomes), *(f"{moved_apart(1.0, outcomes, printed=printed):.4f}" for printed in (False, True)),
         f"{of_answers(1.0, outcomes)[0]:.4f}")
        for outcomes in (2, 5, 100)
    ]  # fmt: skip
    names = ("nationality", "visitors", "epsilon 0.1", "epsilon 0.5", "epsilon 2", "epsilon 0.5")
    return "\n".join(
        [
            table(names, rows, (False, True, True, True, True, False)),
            "",
            "At epsilon 0.5, how often what is chosen is behind the first by as many or more:",
            table(("visitors", "exactly", "at most"), far, (True, True, True)),
            f"Of ten, at epsilon 1: behind by less than {within(10, 1.0, 0.05):.3f}, in 95 of 100 choices.",
            "",
            "What is kept where epsilon 1 is said:",
            table(("outcomes", "with the 2", "without it", "without it, k answers"), kept, (True,) * 4),
        ]
    )


def _bar(chance: float) -> str:
    return bar(chance, 0, chance, 0, 1)


def drawn() -> str:
    """How often a choice is far off, and the bound."""
    points = [float(number) for number in range(41)]
    lines = [
        Curve("exactly", [(far, max(tail(LOSSES, 0.5, far), 1e-6)) for far in points if tail(LOSSES, 0.5, far) > 0]),
        Curve("at most", [(far, min(tail_bound(5, 0.5, far), 1.0)) for far in points]),
    ]
    across = Axis("behind the first by", [0, 10, 20, 30, 40])
    up = Axis("chance", [10.0**power for power in range(-5, 1)], powers=True)
    return curves("The choice of a nationality at epsilon 0.5", across, up, lines)


def main(arguments: list[str]) -> int:
    """Print the figures, and draw the picture where that is asked for."""
    return run(arguments, told, drawn)
