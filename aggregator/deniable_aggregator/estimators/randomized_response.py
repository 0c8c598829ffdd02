"""Randomized response: a report supports the answer that it names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import RandomizedResponse
from deniable_aggregator.estimators._frequencies import Frequencies

__all__ = ["frequencies"]


def frequencies(mechanism: RandomizedResponse, counters: NDArray[np.int64]) -> Frequencies:
    """Counters: how often each answer was named."""
    return Frequencies(int(counters.sum()), counters, float(mechanism.p), float(mechanism.q))
