"""Bitwise response, remembered or not: a report supports the flags whose bits are set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import BitwiseResponse, MemoizedBitwise
from deniable_aggregator.estimators._frequencies import Frequencies

__all__ = ["frequencies"]


def frequencies(mechanism: BitwiseResponse | MemoizedBitwise, counters: NDArray[np.int64]) -> Frequencies:
    """Counters: the reports, then how often each bit was set."""
    found = Frequencies(int(counters[0]), counters[1:], float(mechanism.p), float(mechanism.q))
    if isinstance(mechanism, BitwiseResponse):
        return found
    return replace(found, kept=(float(mechanism.permanent.p), float(mechanism.permanent.q)))
