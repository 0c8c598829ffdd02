"""A step: what the updates of a round say together, and how sure that is.

words:
  noise    how far a step is off, the root of its mean square: what randomising has added and whom the sample has
  length   how long the mean update is, as far as it is not noise
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.answers import Estimate
from deniable_aggregator.answers.vector import MEANS

__all__ = ["Step"]

_LEAST_CONFIDENCE = 0.8
"""From this on a sum of squares is least certain where it has one part: Székely and Bakirov, 2003, have 0.785."""


@dataclass(frozen=True, eq=False)
class Step:
    """The mean update of a round's devices."""

    mean: NDArray[np.float64]
    """By coordinate, not corrected for anything: on average it is what all devices' updates are on average."""
    errors: NDArray[np.float64]
    """The standard error of each coordinate."""
    reports: int
    """How many devices have answered."""

    @classmethod
    def of(cls, answer: Estimate | Iterable[dict[str, Any]]) -> Self:
        """The step of one answer to a vector metric: an `Estimate`, or the rows that a `Reader` has got for it.

        A ValueError where it is another answer, or where too few have answered to say how sure it is.
        """
        told = answer.to_dicts() if isinstance(answer, Estimate) else list(answer)
        rows = [row for row in told if row["series"] == MEANS]
        metrics = sorted({row["metric"] for row in told})
        if not rows or [row["key"] for row in rows] != [str(number) for number in range(len(told))]:
            raise ValueError(f"a step is one answer to one vector metric, not {', '.join(metrics) or 'no rows'}")
        reports = int(rows[0]["reports"])
        if reports < 2:
            raise ValueError(f"{metrics[0]} has {reports} reports: a step takes two, and many to be worth something")
        return cls(np.array([row["value"] for row in rows]), np.array([row["std_error"] for row in rows]), reports)

    @classmethod
    def together(cls, steps: Sequence[Step]) -> Step:
        """The mean of several steps, of which each is of devices or noise of its own."""
        mean = np.mean([step.mean for step in steps], axis=0)
        errors = np.sqrt(np.sum([step.errors**2 for step in steps], axis=0)) / len(steps)
        return cls(mean, errors, sum(step.reports for step in steps))

    @property
    def noise(self) -> float:
        """How far the step is from the mean update of all whom its devices are a sample of: the root of the mean
        square of that distance."""
        return math.sqrt(float((self.errors**2).sum()))

    @property
    def length(self) -> float:
        """How long that mean update is: the root of what noise does not explain of the step's own square."""
        return math.sqrt(max(float((self.mean**2).sum()) - self.noise**2, 0.0))

    @property
    def lost(self) -> bool:
        """Whether its noise is larger than what is left of it."""
        return self.length <= self.noise

    def radius(self, confidence: float = 0.95) -> float:
        """How far the mean update of all is from the step at most, with this confidence (0.8 or more).

        It holds however the errors of coordinates go together, which an answer does not tell: of all normal errors
        with the same noise, those that lie on one line go that far the most often. Where there are many coordinates
        it is about twice as far as it has to be.
        """
        if not _LEAST_CONFIDENCE <= confidence < 1:
            raise ValueError(f"a confidence lies between {_LEAST_CONFIDENCE} and 1 here, and {confidence!r} does not")
        return NormalDist().inv_cdf((1 + confidence) / 2) * self.noise
