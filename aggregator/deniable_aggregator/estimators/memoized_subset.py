"""Memoized subset: a report supports the answer that it names, with the chances of both randomisations together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import MemoizedSubset, PadAndSample
from deniable_aggregator.estimators._frequencies import Frequencies

__all__ = ["frequencies"]


def frequencies(mechanism: MemoizedSubset, counters: NDArray[np.int64]) -> Frequencies:
    """Counters: how often each answer was named; the paddings of a set are left out."""
    first = mechanism.permanent
    known = counters[: first.values] if isinstance(first, PadAndSample) else counters
    kept = float(first.p), float(first.q)
    return Frequencies(int(counters.sum()), known, float(mechanism.p), float(mechanism.q), kept=kept)
