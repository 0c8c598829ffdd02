"""Subset selection: a report supports the answers that it names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import SubsetSelection
from deniable_aggregator.estimators._frequencies import Frequencies, chances

__all__ = ["frequencies"]


def frequencies(mechanism: SubsetSelection, counters: NDArray[np.int64]) -> Frequencies:
    """Counters: the reports, then how often each answer was named."""
    return Frequencies(int(counters[0]), counters[1:], *chances(mechanism))
