"""Discrete Laplace noise: over a range, and on the scale of single events."""

from __future__ import annotations

from deniable.epsilon import Epsilon
from deniable.mechanisms import Laplace
from support.cases import EPSILONS, FOUR, ONE, STEPS, TWO, Asked, Cases, Family, Subject

__all__ = ["CASES"]


def each_event(epsilon: Epsilon, steps: int) -> Laplace:
    """Laplace noise that hides one step, not the whole range."""
    return Laplace(epsilon, steps, 1)


CASES = Cases(
    families=(
        Family(Laplace, EPSILONS[1:], STEPS, (("1", 1), ("4", 20)), (("1", 0), ("0.001", 1 << 26))),
        Family(Laplace, EPSILONS[2:], (200, 480), (), (("1", -1),)),
        Family(each_event, EPSILONS[1:], STEPS, (("2", 7),), (("1", 0), ("8", 1 << 33))),
    ),
    scripted=(
        Subject(Laplace(FOUR, 20), (0, 11, 20)),
        Subject(Laplace(ONE, 480), (0, 480)),
    ),
    fitted=(
        Subject(Laplace(FOUR, 20), (0, 20)),
        Subject(Laplace(TWO, 7, 1), (3,)),
    ),
    timed=(
        Subject(Laplace(ONE, 480), (0, 1, 240, 480)),
        Subject(Laplace(ONE, (1 << 31) - 1, 1), (0, 3, (1 << 31) - 1)),
    ),
    asked=(
        Asked(
            "minutes_noise",
            'kind = "number"\nrange = [0, 60]\nmechanism = "laplace"',
            [0, 33.3, 60, 75],
            1_200_000,
        ),
        Asked("errors", 'kind = "count"\nprivacy_unit = "event"', [0, 3, 1000], 400_000),
    ),
)
