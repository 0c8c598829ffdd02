"""A course of rounds: weights that go down, steps that come up, and the model that is made of them.

words:
  weights  what goes down at the beginning of a round
  model    the mean of the weights after the last rounds, whose noise is averaged
  window   the last rounds, which are looked at together to know whether there is still something to learn
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable_aggregator.answers import Estimate
from deniable_aggregator.learning._step import Step

__all__ = ["Course", "Settings"]

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a course goes; said before anything is learned."""

    rate: float = 1.0
    """How many times the mean update is added to the weights."""
    rounds: int = 20
    """How many rounds there are at most."""
    averaged: float = 0.5
    """Of the rounds, the last part by whose weights the model is the mean: 0 takes the last weights alone."""
    window: int = 3
    """So many of the last steps are taken together; where their mean is lost in its noise, the course ends."""

    def __post_init__(self) -> None:
        if not (self.rate > 0 and math.isfinite(self.rate)):
            raise ValueError(f"a rate is above 0, not {self.rate!r}")
        if self.rounds < 1 or self.window < 1:
            raise ValueError("a course has one round or more, and so has its window")
        if not 0 <= self.averaged <= 1:
            raise ValueError(f"what is averaged is a part of the rounds, not {self.averaged!r}")


class Course:
    """Rounds, one after another."""

    def __init__(self, weights: ArrayLike, settings: Settings | None = None, *, norm: float = 1.0) -> None:
        if not (norm > 0 and math.isfinite(norm)):
            raise ValueError(f"a norm is above 0, not {norm!r}")
        self.settings = settings or Settings()
        """How it goes."""
        self.norm = norm
        """What devices divide their updates by before they record them."""
        self.steps: list[Step] = []
        """What came up, round by round."""
        self._weights = [np.array(weights, dtype=np.float64)]
        if self._weights[0].ndim != 1 or not np.isfinite(self._weights[0]).all():
            raise ValueError("weights are one row of finite numbers")

    @property
    def weights(self) -> _Floats:
        """What goes down for the next round."""
        return self._weights[-1].copy()

    @property
    def history(self) -> list[_Floats]:
        """The weights at the beginning, and after each round."""
        return [each.copy() for each in self._weights]

    def take(self, answer: Step | Estimate | Iterable[dict[str, Any]]) -> Step:
        """Make the step that a round's answer is. A RuntimeError where the course has ended: nobody should have been
        asked."""
        if self.ended:
            raise RuntimeError(f"this course has ended: {self.ended}")
        step = answer if isinstance(answer, Step) else Step.of(answer)
        if step.mean.shape != self._weights[0].shape:
            raise ValueError(f"the answer has {len(step.mean)} rows, and there are {len(self._weights[0])} weights")
        self.steps.append(step)
        self._weights.append(self._weights[-1] + self._scale * step.mean)
        return step

    @property
    def ended(self) -> str:
        """Why there is no next round; empty where there is one."""
        if len(self.steps) >= self.settings.rounds:
            return f"it had {self.settings.rounds} rounds"
        window = self.settings.window
        if len(self.steps) >= window and Step.together(self.steps[-window:]).lost:
            return f"the last {window} steps together are lost in their noise"
        return ""

    @property
    def model(self) -> _Floats:
        """The mean of the last weights."""
        found: _Floats = np.mean(self._weights[-self._counted :], axis=0)
        return found

    @property
    def errors(self) -> _Floats:
        """By how much noise and sampling have moved each of the model's weights, as standard errors.

        As if no later round had answered to an earlier one's noise. Where updates pull weights back to where they
        agree, as those of a convex loss do, it is less.
        """
        counted, last = self._counted, len(self.steps)
        parts = [min(counted, last - number) / counted for number in range(last)]
        squares = [(part * step.errors) ** 2 for part, step in zip(parts, self.steps, strict=True)]
        found: _Floats = self._scale * np.sqrt(np.sum([np.zeros_like(self._weights[0]), *squares], axis=0))
        return found

    @property
    def _scale(self) -> float:
        """What a coordinate of an answer adds to its weight."""
        return self.settings.rate * self.norm

    @property
    def _counted(self) -> int:
        """How many of the last weights the model is the mean of."""
        return max(1, math.ceil(self.settings.averaged * len(self.steps)))
