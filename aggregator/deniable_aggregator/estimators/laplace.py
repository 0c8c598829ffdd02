"""Discrete Laplace: a report is the grid point plus noise of known moments."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Laplace
from deniable_aggregator.estimators._means import Means, Noise

__all__ = ["means"]


def means(mechanism: Laplace, counters: NDArray[np.int64]) -> Means:
    """Counters: reports, sum of levels, sum of their squares in two limbs."""
    reports, total, low, high = (int(counter) for counter in counters)
    noise = _noise(float(mechanism.rate), mechanism.variance, mechanism.steps)
    return Means(reports, (total, low + (high << 32)), -mechanism.lowest, mechanism.steps, noise)


@lru_cache(maxsize=256)
def _noise(rate: float, variance: float, steps: int) -> Noise:
    """The variance v is known. The fourth moment is at most v + 6 v^2, what unbounded noise has.

    A value halfway between two steps is reported as one of them: that adds a quarter to the variance. The third
    moment of that is largest at (3 - sqrt 3) / 6 of the way, where it is 0.0962, the fourth is 1/12 at most. At the
    ends of the grid the noise is skewed: an overshoot has a mean cube of 6 c^3 + 6 c^2 + c where c is its mean, what
    is sent in its place at least c (2 c + 1)^2, by Cauchy and Schwarz, and its chance is below 1 / (1 + alpha).

    The square of unbounded noise varies by v + 5 v^2. What is sent for an overshoot d steps away takes from the mean
    fourth power at most alpha^d (4 d C + F) / (1 + alpha), with C = 2 c^3 + 2 c^2 and F = 16 c^4 + 24 c^3 + 8 c^2 the
    most by which the mean cube and fourth power of an overshoot are greater than those of what is sent (Lyapunov).
    That is convex in d, so for both ends together it is greatest where the value is at one of them.
    """
    alpha = math.exp(-rate)
    mean = alpha / -math.expm1(-rate)
    most = variance + 0.25
    third = 0.0963 + 2 * mean**2 * (mean + 1) / (1 + alpha)
    cube, fourth = 2 * mean**3 + 2 * mean**2, 16 * mean**4 + 24 * mean**3 + 8 * mean**2
    across = alpha**steps * (4 * steps * cube + fourth)
    square = max(variance + 5 * variance**2 - (fourth + across) / (1 + alpha), 0.0)
    return Noise(variance, most, third, variance + 6 * variance * most + 1 / 12, square)
