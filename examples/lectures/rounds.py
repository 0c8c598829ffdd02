"""Federated learning: weights go down, updates come up, and that alone hides nothing.

Each device takes the weights, finds how its own data would change them, and sends that; a server adds up what comes.
The data stay where they are, and yet the update gives them away: that of a logistic regression is the device's own
vector, times how wrong the model is. So an update has to be clipped and randomised on the device. Then a round costs
every device that takes part its epsilon, and rounds add up; here each device takes part in one, which it has drawn
before it has seen any weights. (`deniable_aggregator.learning`, docs/learning.md; McMahan and others, AISTATS 2017,
have the rounds.)
"""

from __future__ import annotations

from functools import cache

import numpy as np
from examples.learning.device import update
from examples.learning.questions import asked
from numpy.typing import NDArray

from deniable import Collection
from deniable_aggregator.accounting import Spent, belief, parallel, sequential
from deniable_aggregator.answers import answer
from deniable_aggregator.learning import Course, Settings
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.telling.terminal import table

from ._drawing import Axis, Curve, curves
from ._running import run

__all__ = ["CONSTANT", "SHOWS", "course", "drawn", "given_away", "main", "points", "right", "told"]

SHOWS = ("D1",)
CONSTANT = 0.6
"""The last entry of every vector, which is public."""
ROUNDS, EPSILON, DEVICES, NORM = 6, 4, 4_000, 0.5
_Floats = NDArray[np.float64]


def points(number: int, seed: int) -> tuple[_Floats, NDArray[np.int64]]:
    """Vectors no longer than 1 of two classes that overlap, and their classes."""
    generator = np.random.default_rng(seed)
    classes = generator.integers(2, size=number)
    middle = np.where(classes[:, np.newaxis], [0.5, 0.1], [0.1, 0.3])
    places = generator.normal(middle, 0.15)
    places *= np.minimum(1.0, 0.8 / np.linalg.norm(places, axis=1, keepdims=True))
    return np.column_stack([places, np.full(number, CONSTANT)]), classes


def given_away(sent: list[float]) -> tuple[_Floats, int]:
    """The vector and the class that an update is from: the last entry is the constant times how wrong the model is,
    and its sign is that of the class."""
    found = np.array(sent)
    return found / found[-1] * CONSTANT, int(found[-1] > 0)


def right(weights: _Floats) -> float:
    """What is told right of 4,000 that no device has."""
    vectors, classes = points(4_000, 99)
    return float(((vectors @ weights > 0) == classes).mean())


@cache
def course() -> Course:
    """Rounds of simulated devices, each of which answers one: by the SDK's vectors without delta."""
    metrics = Collection.loads(asked(3, ROUNDS, str(EPSILON))).metrics
    vectors, classes = points(DEVICES, 1)
    generator = np.random.default_rng(2)
    found = Course([0.0] * 3, Settings(rate=6.0, rounds=ROUNDS, window=ROUNDS), norm=NORM)
    for number, own in enumerate(np.array_split(generator.permutation(DEVICES), ROUNDS), start=1):
        weights = found.weights.tolist()
        said = [update(weights, vectors[each].tolist(), int(classes[each]), NORM) for each in own]
        metric = metrics[f"round_{number}"]
        found.take(answer(metric, simulate(metric, said, generator)))
    return found


def told() -> str:
    """One update, and a course."""
    vectors, classes = points(1, 7)
    (vector,), (own,) = vectors, classes.tolist()
    sent = update([0.5, -1.0, 0.2], vector.tolist(), own)
    seen, known = given_away(sent)
    rows = [
        (str(number), f"{step.length:.3f}", f"{step.noise:.3f}", f"{right(weights):.1%}")
        for number, (step, weights) in enumerate(zip(course().steps, course().history[1:], strict=True), start=1)
    ]
    sure = [belief(0.5, epsilon).most for epsilon in (EPSILON, 1.0)]
    every = sequential([Spent(EPSILON)] * ROUNDS).epsilon
    once = parallel([Spent(EPSILON)] * ROUNDS).epsilon
    return "\n".join(
        [
            f"A device has {np.round(vector, 3)} of class {own}, and sends {np.round(sent, 3)}.",
            f"Whoever sees that has {np.round(seen, 3)} of class {known}: all of it.",
            "",
            f"Randomised at epsilon {EPSILON} on the device, an even bet on its class becomes {sure[0]:.1%} at most;",
            f"at epsilon 1 it would be {sure[1]:.1%}. {ROUNDS} rounds cost {every:g} where a device takes part in",
            f"all, and {once:g} where it takes part in one. {DEVICES:,} devices, a sixth of them in each round:",
            "",
            table(("round", "step", "noise of it", "told right"), rows, (True,) * 4),
            "",
            f"The model, the mean of the last half of the weights, tells {right(course().model):.1%} right.",
        ]
    )


def drawn() -> str:
    """What is told right, round by round."""
    lines = [
        Curve(
            "weights after the round", [(number, right(own)) for number, own in enumerate(course().history[1:], 1)]
        ),
        Curve("mean of the last half", [(1, right(course().model)), (ROUNDS, right(course().model))]),
    ]
    up = Axis("told right", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0), percent=True)
    return curves("What the model tells right", Axis("round", tuple(range(1, ROUNDS + 1))), up, lines)


def main(arguments: list[str]) -> int:
    """Print it, or draw it."""
    return run(arguments, told, drawn)
