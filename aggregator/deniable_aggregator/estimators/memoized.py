"""Memoized: what the fresh mechanism's reports support, with the chances of both randomisations together."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Memoized, RandomizedResponse
from deniable_aggregator.estimators import randomized_response
from deniable_aggregator.estimators._frequencies import Frequencies
from deniable_aggregator.estimators._ranks import Ranks

__all__ = ["ranks", "through"]


def through(mechanism: Memoized, fresh: Frequencies) -> Frequencies:
    """The frequencies of the inputs, from those of the remembered symbols."""
    p, q = mechanism.through(Fraction(fresh.p), Fraction(fresh.q))
    kept = float(mechanism.permanent.p), float(mechanism.permanent.q)
    return replace(fresh, p=float(p), q=float(q), kept=kept)


def ranks(mechanism: Memoized, counters: NDArray[np.int64]) -> Ranks:
    """Counters: how often each answer was named; both randomisations name one answer of an order."""
    assert isinstance(mechanism.fresh, RandomizedResponse)
    shares = through(mechanism, randomized_response.frequencies(mechanism.fresh, counters))
    return Ranks(counters, randomized_response.channel(shares), shares)
