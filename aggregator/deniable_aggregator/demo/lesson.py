"""What the demo's fleet learns: which suggestions of an editor are taken, in a round a day.

words:
  trait   something that an editor knows of a suggestion: it is there (1) or not (-1)
  case    the traits of a suggestion, and whether it was taken; every device has one a day
  guess   what the model of the day makes of a case's traits
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.answers import Estimate
from deniable_aggregator.learning import Course, Settings

__all__ = ["ANSWERED", "RIGHT", "UPDATE", "Lesson"]

UPDATE, RIGHT = "suggestion_model", "suggestion_right"
ANSWERED = (UPDATE, RIGHT)
"""The metrics that a lesson is about: how a device would change the model, and whether it guessed right there."""
_TRUE = (3.6, -2.6, 1.6, 0.0)
"""By what suggestions are taken: the last weight is that of no trait."""
_BEGINS = (-1.0, -1.0, -1.0, 1.5)
"""What the model of the first day takes them by, which was learned elsewhere."""
_SETTINGS = Settings(rate=5.0, rounds=1_000, window=1_000)
_NORM = 0.5
_WHOLE = 10_000


class _Case(NamedTuple):
    """Some of what occurs."""

    vector: NDArray[np.float64]
    """Traits and a constant, of length 1."""
    taken: bool
    """Whether it was."""
    weight: float
    """How often it occurs, of 10,000 times."""


def _cases() -> list[_Case]:
    found = []
    for traits in itertools.product((-1, 1), repeat=3):
        vector = np.array([*traits, 1]) / 2
        often = round(_WHOLE / 8 * _chance(np.array(_TRUE), vector))
        found += [_Case(vector, True, float(often)), _Case(vector, False, _WHOLE / 8 - often)]
    return found


def _chance(weights: NDArray[np.float64], vector: NDArray[np.float64]) -> float:
    return 1 / (1 + math.exp(-float(weights @ vector)))


class Lesson:
    """The model of each day, and what devices say of it."""

    def __init__(self, first: int) -> None:
        self._cases = _cases()
        self._course = Course(_BEGINS, _SETTINGS, norm=_NORM)
        self._first = first

    def take(self, answer: Estimate) -> None:
        """A day's answer makes the next day's model."""
        self._course.take(answer)

    def on(self, epoch: int) -> Mapping[str, tuple[list[Any], list[float]]]:
        """What devices answer on a day, and how often; nothing where there is no model for it yet."""
        if not 0 <= epoch - self._first < len(self._course.history):
            return {}
        model = self._course.history[epoch - self._first]
        often = [case.weight for case in self._cases]
        updates = [(case.taken - _chance(model, case.vector)) * case.vector / _NORM for case in self._cases]
        right = [bool((float(model @ case.vector) > 0) == case.taken) for case in self._cases]
        return {UPDATE: ([own.tolist() for own in updates], often), RIGHT: (right, often)}

    def right(self, epoch: int) -> float:
        """How often the model of a day guesses right."""
        values, often = self.on(epoch)[RIGHT]
        return math.fsum(itertools.compress(often, values)) / _WHOLE
