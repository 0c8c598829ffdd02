"""Memoized: what the fresh mechanism's reports support, with the chances of both randomisations together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Memoized, Memory, RandomizedResponse
from deniable_aggregator.estimators import randomized_response
from deniable_aggregator.estimators._frequencies import Frequencies, chances
from deniable_aggregator.estimators._ranks import Ranks

__all__ = ["ranks", "through"]


def through(mechanism: Memory, fresh: Frequencies) -> Frequencies:
    """The frequencies of the answers, from those of what is remembered."""
    p, q = chances(mechanism)
    return replace(fresh, p=p, q=q, kept=chances(mechanism.permanent))


def ranks(mechanism: Memoized, counters: NDArray[np.int64]) -> Ranks:
    """Counters: how often each answer was named; both randomisations name one answer of an order."""
    assert isinstance(mechanism.fresh, RandomizedResponse)
    fresh = randomized_response.frequencies(mechanism.fresh, counters)
    shares = through(mechanism, fresh)
    return Ranks(counters, randomized_response.channel(shares), shares, randomized_response.channel(fresh))
