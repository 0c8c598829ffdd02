"""Randomized response: a report supports the answer that it names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import RandomizedResponse
from deniable_aggregator.estimators._frequencies import Frequencies, chances
from deniable_aggregator.estimators._ranks import Ranks

__all__ = ["channel", "frequencies", "ranks"]


def frequencies(mechanism: RandomizedResponse, counters: NDArray[np.int64]) -> Frequencies:
    """Counters: how often each answer was named."""
    return Frequencies(int(counters.sum()), counters, *chances(mechanism))


def ranks(mechanism: RandomizedResponse, counters: NDArray[np.int64]) -> Ranks:
    """Counters: how often each answer was named."""
    shares = frequencies(mechanism, counters)
    return Ranks(counters, channel(shares), shares)


def channel(shares: Frequencies) -> NDArray[np.float64]:
    """P(y | x), a row an x, where reports name one answer."""
    chances = np.full((len(shares.supports), len(shares.supports)), shares.q)
    np.fill_diagonal(chances, shares.p)
    return chances
