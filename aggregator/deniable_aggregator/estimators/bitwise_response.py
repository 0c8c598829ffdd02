"""Bitwise response: a report supports the flags whose bits are set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import BitwiseResponse
from deniable_aggregator.estimators._frequencies import Frequencies

__all__ = ["frequencies"]


def frequencies(mechanism: BitwiseResponse, counters: NDArray[np.int64]) -> Frequencies:
    """Counters: the reports, then how often each bit was set."""
    return Frequencies(int(counters[0]), counters[1:], float(mechanism.p), float(mechanism.q))
