"""From counters to estimates: one mechanism a file, as on the client's side, registered here by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import (
    BitwiseResponse,
    Exponential,
    Gaussian,
    Hybrid,
    Laplace,
    Mechanism,
    Memoized,
    MemoizedBitwise,
    MemoizedSubset,
    PadAndSample,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SubsetSelection,
    VectorLaplace,
)
from deniable_aggregator.estimators import (
    bitwise_response,
    exponential,
    gaussian,
    hybrid,
    laplace,
    memoized,
    memoized_subset,
    pad_and_sample,
    projective_geometry,
    randomized_response,
    subset_selection,
    vector_laplace,
)
from deniable_aggregator.estimators._frequencies import Frequencies
from deniable_aggregator.estimators._intervals import simultaneous
from deniable_aggregator.estimators._means import Means, OneBit
from deniable_aggregator.estimators._ranks import Ranks, Shares
from deniable_aggregator.estimators._target import Target
from deniable_aggregator.estimators._vectors import Entries

__all__ = [
    "Entries",
    "Frequencies",
    "Means",
    "OneBit",
    "Ranks",
    "Shares",
    "Target",
    "entries",
    "frequencies",
    "means",
    "ranks",
    "simultaneous",
]

_FREQUENCIES: dict[str, Callable[[Any, NDArray[np.int64]], Frequencies]] = {
    RandomizedResponse.name: randomized_response.frequencies,
    SubsetSelection.name: subset_selection.frequencies,
    ProjectiveGeometryResponse.name: projective_geometry.frequencies,
    BitwiseResponse.name: bitwise_response.frequencies,
    MemoizedBitwise.name: bitwise_response.frequencies,
    MemoizedSubset.name: memoized_subset.frequencies,
}
_RANKS: dict[str, Callable[[Any, NDArray[np.int64]], Ranks]] = {
    Memoized.name: memoized.ranks,
    Exponential.name: exponential.ranks,
    RandomizedResponse.name: randomized_response.ranks,
}
_ENTRIES: dict[str, Callable[[Any, NDArray[np.int64]], Entries]] = {
    Gaussian.name: gaussian.entries,
    VectorLaplace.name: vector_laplace.entries,
}
_MEANS: dict[str, Callable[[Any, NDArray[np.int64]], Means]] = {
    Laplace.name: laplace.means,
    Hybrid.name: hybrid.means,
}


def frequencies(mechanism: Mechanism, counters: NDArray[np.int64]) -> Frequencies:
    """How often each of the mechanism's inputs occurs."""
    if isinstance(mechanism, Memoized):
        return memoized.through(mechanism, frequencies(mechanism.fresh, counters))
    if isinstance(mechanism, PadAndSample):
        return pad_and_sample.through(mechanism, frequencies(mechanism.inner, counters))
    return _FREQUENCIES[mechanism.name](mechanism, counters)


def means(mechanism: Mechanism, counters: NDArray[np.int64]) -> Means | OneBit:
    """Where on its range a quantity lies on average; mechanisms that count tell it from one of two ends."""
    if mechanism.name in _MEANS:
        return _MEANS[mechanism.name](mechanism, counters)
    return OneBit(frequencies(mechanism, counters))


def tells_spread(mechanism: Mechanism) -> bool:
    """Whether reports of a quantity tell how much devices differ: one of two ends does not."""
    return mechanism.name in _MEANS


def ranks(mechanism: Mechanism, counters: NDArray[np.int64]) -> Ranks:
    """How often each place of an order occurs, and which is the mean."""
    return _RANKS[mechanism.name](mechanism, counters)


def entries(mechanism: Mechanism, counters: NDArray[np.int64]) -> Entries:
    """What each entry of a vector is on average."""
    return _ENTRIES[mechanism.name](mechanism, counters)
