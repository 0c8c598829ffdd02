"""What is kept of a remembered answer that is randomised afresh: the part of its variance that comes again."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.epsilon import Epsilon
from deniable.mechanisms import Memoized, MemoizedSubset, RandomizedResponse, SubsetSelection
from deniable_aggregator.estimators import frequencies

TWO = Epsilon.of(2)


@pytest.mark.parametrize(
    "mechanism",
    [
        Memoized(RandomizedResponse(TWO, 3), RandomizedResponse(TWO, 3)),
        MemoizedSubset(SubsetSelection(TWO, 6, 2), TWO),
    ],
    ids=lambda each: each.name,
)
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 1.0])
def test_what_is_kept_is_that_of_the_exact_channels(mechanism: Memoized | MemoizedSubset, share: float) -> None:
    """The variance over what is remembered, of the chance that input 0 is sent: from the definition."""
    first = mechanism.permanent
    every = list(first.payloads())
    own, other = ([float(first.probability(z, value)) for z in every] for value in (0, 1))
    weights = share * np.array(own) + (1 - share) * np.array(other)
    chances = np.array([_sent(mechanism, z) for z in every])
    mean = weights @ chances
    expected = (weights @ chances**2 - mean**2) / (mean * (1 - mean))
    found = frequencies(mechanism, np.zeros(mechanism.shape.counters, dtype=np.int64))
    kept, whole = (_variance(share, *chances) for chances in (found.kept, (found.p, found.q)))
    assert kept / whole == pytest.approx(expected, rel=1e-9)


def _variance(share: float, p: float, q: float) -> float:
    """Of what one report says of a share, where the own input is supported with p, another one with q."""
    support = q + share * (p - q)
    return support * (1 - support) / (p - q) ** 2


def _sent(mechanism: Memoized | MemoizedSubset, remembered: int) -> float:
    """The chance that input 0 is sent."""
    if isinstance(mechanism, Memoized):
        return float(mechanism.fresh.probability(0, remembered))
    return float(mechanism.high if remembered & 1 else mechanism.low)
