"""Where the noise goes when a model is learned: into the data, the gradients, what is minimised, or what comes out.

Noise on the data is what devices add here, before anything leaves them. Somebody who has all data may add less: to
the minimum (output perturbation), to the loss before it is minimised (objective perturbation), or to each step
downhill (noisy gradient descent: the weights go from w to w - rate g, where g is a clipped gradient with noise).
`examples/learning/central` has those three, docs/price.md what they cost beside noise on devices.

Lecture notes are wrong twice. They let one record move the minimum by 4 G / (n lambda), for a penalty of
lambda |w|^2, which is 2 lambda-strongly convex: it is G / (n lambda), so that their noise is four times too large.
(Either is about the minimum itself; what a search finds lies a little off it, for which `central/output.py` pays.)
And their descent clips the gradient of the batch, to C, with noise for a move by C: one record can turn that
gradient around, which is a move by 2 C, and then delta is 170 times what is said. Each record's gradient has to be
clipped by itself, and on a device there is nothing else to clip. (Abadi and others, CCS 2016, clip so; Chaudhuri,
Monteleoni and Sarwate, JMLR 12, 2011, have minima.) That such a descent does badly on large networks, as notes say,
is not shown here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from examples.learning.central import descent, objective, output
from examples.learning.central.noise import normal_deviation
from examples.learning.central.regression import Fleet, accuracy, fitted, gradient
from scipy.stats import norm

from deniable_aggregator.telling.terminal import table

from ._running import run

__all__ = ["SHOWS", "Clipped", "clipped", "delta_of", "main", "models", "moved", "noted", "told"]

SHOWS = ("D2", "D3", "D4", "D5", "E8", "E12", "H7")
EPSILON, DELTA = 1.0, 1e-5


def noted(epsilon: float, delta: float) -> float:
    """The deviation of normal noise that notes print, for a move by 1."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def delta_of(epsilon: float, shift: float) -> float:
    """The delta that normal noise of deviation 1 really keeps at an epsilon, where one record moves what it is added
    to by so much. (Balle and Wang, ICML 2018.)"""
    above, below = (norm.cdf(sign * shift / 2 - epsilon / shift) for sign in (1, -1))
    return float(above - math.exp(epsilon) * below)


def moved(records: int, penalty: float) -> float:
    """How far one record moves the minimum of the mean of -x w, for an x from -1 to 1, with penalty w^2: the minimum
    is the mean of x over twice the penalty, and one record goes from -1 to 1."""
    one, other = np.ones(records), np.ones(records)
    other[0] = -1
    return float(abs(one.mean() - other.mean())) / (2 * penalty)


class Clipped(NamedTuple):
    """What becomes of two fleets in which one record is turned around."""

    together: float
    """How far apart the clipped gradients of both batches are, in clips."""
    each: float
    """How far apart the sums of gradients are that are clipped one by one."""


def clipped(clip: float = 0.1) -> Clipped:
    """A record beside a hundred that outweigh each other."""
    vectors = np.array([[0.6, 0.8], [1.0, 0.0], [-1.0, 0.0]])
    one = Fleet(vectors, np.array([1, 1, 1]), np.array([1.0, 50.0, 50.0]), 1)
    other = one._replace(vectors=np.array([[-0.6, -0.8], [1.0, 0.0], [-1.0, 0.0]]))
    start = np.zeros((1, 2))
    batches = [own.devices * gradient(start, own, 0.0) for own in (one, other)]
    short = [own * min(1.0, clip / float(np.linalg.norm(own))) for own in batches]
    sums = [descent.clipped_sum(start, own, clip) for own in (one, other)]
    return Clipped(*(float(np.linalg.norm(a - b)) / clip for a, b in (short, sums)))


def models(devices: int, seed: int) -> dict[str, float]:
    """The part that each way to add noise tells right of two heaps of points that overlap, each device with one."""
    generator = np.random.default_rng(seed)
    classes = generator.integers(2, size=2 * devices)
    points = np.column_stack(
        [generator.normal(0.45 * (2 * classes - 1)[:, None], 0.4, (2 * devices, 3)), np.ones(2 * devices)]
    )
    points /= np.maximum(1.0, np.linalg.norm(points, axis=1, keepdims=True))
    own = Fleet(points[:devices], classes[:devices], np.ones(devices), 1)
    found = {
        "nothing": fitted(own, 1e-3, 1e-8),
        "what comes out": output.released(own, EPSILON, DELTA, 1e-2, generator),
        "what is minimised": objective.released(own, EPSILON, 1e-2, generator),
        "every step": descent.released(own, EPSILON, DELTA, descent.Descent(), generator),
    }
    return {name: accuracy(weights, points[devices:], classes[devices:]) for name, weights in found.items()}


def _minimum() -> list[str]:
    records, penalty = 10_000, 0.01
    printed, right = 4 / (records * penalty), moved(records, penalty)
    spread = printed * noted(EPSILON, DELTA), right * normal_deviation(EPSILON, DELTA)
    return [
        f"The minimum of {records:,} records, penalty {penalty:g} |w|^2, gradients no longer than 1:",
        f"notes let one record move it by {printed:.4f}; it is {right:.4f}, which a linear loss reaches.",
        f"Normal noise for epsilon 1, delta 10^-5: {spread[0]:.4f} as printed, {spread[1]:.4f} by the exact curve.",
    ]


def _steps() -> list[str]:
    own, said = clipped(), noted(EPSILON, DELTA)
    wrong = delta_of(EPSILON, own.together / said)
    rows, enough = [], 2 * normal_deviation(EPSILON, DELTA)
    for times in (1, 10, 100, 1_000):
        divided = normal_deviation(EPSILON / times, DELTA / times)
        rows.append((f"{times:,}", f"{divided:,.1f}", f"{normal_deviation(EPSILON, DELTA, times):,.1f}"))
    return [
        f"Descent: a record turned around moves a clipped batch by {own.together:.2f} clips. With noise for one,",
        f"{said:.3f}, delta is {wrong:.5f} and not 0.00001: {wrong / DELTA:.0f} times as much. Each clipped by",
        f"itself, it moves the sum by {own.each:.2f} clips, and noise for two is {enough:.3f}.",
        "",
        "Noise of each step, in units of a move, that epsilon 1 and delta 10^-5 take in all: where each step gets",
        "its part of both, and by what normal noise of all steps tells together, which is known exactly:",
        "",
        table(("steps", "divided", "exactly"), rows, (True,) * 3),
    ]


def told() -> str:
    """The minimum, the steps, and what all ways tell right."""
    few, many = models(300, 1), models(5_000, 1)
    rows = [(name, f"{few[name]:.1%}", f"{many[name]:.1%}") for name in few]
    return "\n".join(
        [
            *_minimum(),
            "",
            *_steps(),
            "",
            "Two heaps of points, epsilon 1, delta 10^-5; what is told right of as many others:",
            "",
            table(("noise on", "of 300", "of 5,000"), rows, (False, True, True)),
        ]
    )


def main(arguments: list[str]) -> int:
    """Print it."""
    return run(arguments, told)
