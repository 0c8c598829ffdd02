"""Discrete Laplace: a report is the grid point plus noise of known moments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Laplace
from deniable_aggregator.estimators._means import Means, Noise

__all__ = ["means"]


def means(mechanism: Laplace, counters: NDArray[np.int64]) -> Means:
    """Counters: reports, sum, sum of squares in two limbs."""
    reports, total, low, high = (int(counter) for counter in counters)
    return Means(reports, (total, low + (high << 32)), -mechanism.lowest, mechanism.steps, _noise(mechanism.variance))


def _noise(variance: float) -> Noise:
    """The noise's fourth moment is v + 6 v^2, its third 0.

    A value halfway between two steps is reported as one of them: that adds a quarter to the variance. The third
    moment is largest at (3 - sqrt 3) / 6 of the way, where it is 0.0962, the fourth is 1/12 at most. The square of
    the noise varies by v + 5 v^2, and by more with what rounding adds.
    """
    most = variance + 0.25
    square = variance + 5 * variance**2
    return Noise(variance, most, 0.0963, variance + 6 * variance * most + 1 / 12, square)
