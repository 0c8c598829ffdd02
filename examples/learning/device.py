"""A device that helps to learn a model, and tells next to nothing of what it has.

What it has is a vector and which of two classes (0 or 1) it is of. Which question it answers it draws before it has
seen any: that it answers this one or that one tells nothing, and its ledger refuses a second one.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from operator import mul

import deniable

__all__ = ["Device", "update"]

_MOST = 1e300
"""No value that is recorded is greater."""
_LEAST = 2.0**-6
"""Shorter updates are as long as this, where devices are asked how long they are: nothing has no logarithm."""


def update(weights: Sequence[float], vector: Sequence[float], own: int, norm: float = 1.0) -> list[float]:
    """How this device would change the weights of a logistic regression, over the norm: downhill, by the gradient of
    its own loss.

    Where weights or norm are such that what comes out is no number, it is nothing, and answered as any update is: a
    server that sends infinite weights would otherwise see from who answers who has a 0 where.
    """
    score = sum(map(mul, weights, vector))
    chance = 1 / (1 + math.exp(-max(min(score, 700.0), -700.0)))
    found = [(own - chance) * entry / norm if norm else math.nan for entry in vector]
    return found if all(abs(entry) <= _MOST for entry in found) else [0.0] * len(vector)


class Device:
    """A device, and the application on it."""

    def __init__(self, client: Callable[[], deniable.Client], vector: Sequence[float], own: int, rounds: int) -> None:
        self._client = client
        self._vector = vector
        self._own = own
        self.turn = secrets.randbelow(rounds + 1)
        """Which question it answers: in round 0 how long its update is, in every other one the update."""

    def take_part(self, number: int, weights: Sequence[float], norm: float) -> bool:
        """Answer a round, if it is this device's; whether its answer is stored. An application that runs leaves out
        `flush`: answers leave by themselves when the epoch is over."""
        if number != self.turn:
            return False
        found = update(weights, self._vector, self._own, norm)
        with self._client() as client:
            if number == 0:
                client.record("length", math.log2(max(math.hypot(*found), _LEAST)))
            else:
                client.record(f"round_{number}", found)
            return client.flush(60.0)
