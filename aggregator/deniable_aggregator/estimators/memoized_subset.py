"""Memoized subset: a report supports the answer that it names, with the chances of both randomisations together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import MemoizedSubset
from deniable_aggregator.estimators._frequencies import Frequencies, chances

__all__ = ["frequencies"]


def frequencies(mechanism: MemoizedSubset, counters: NDArray[np.int64]) -> Frequencies:
    """Counters: how often each answer was named; the paddings of a set are left out."""
    supports = counters[: mechanism.asked]
    return Frequencies(int(counters.sum()), supports, *chances(mechanism), kept=chances(mechanism.permanent))
