"""From counters to estimates: one mechanism a file, as on the client's side, registered here by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import (
    Laplace,
    Mechanism,
    Memoized,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SubsetSelection,
)
from deniable_aggregator.estimators import (
    laplace,
    memoized,
    projective_geometry,
    randomized_response,
    subset_selection,
)
from deniable_aggregator.estimators._frequencies import Frequencies
from deniable_aggregator.estimators._means import Means
from deniable_aggregator.estimators._target import Target

__all__ = ["Frequencies", "Means", "Target", "frequencies", "means"]

_FREQUENCIES: dict[str, Callable[[Any, NDArray[np.int64]], Frequencies]] = {
    RandomizedResponse.name: randomized_response.frequencies,
    SubsetSelection.name: subset_selection.frequencies,
    ProjectiveGeometryResponse.name: projective_geometry.frequencies,
}
_MEANS: dict[str, Callable[[Any, NDArray[np.int64]], Means]] = {
    Laplace.name: laplace.means,
}


def frequencies(mechanism: Mechanism, counters: NDArray[np.int64]) -> Frequencies:
    """How often each of the mechanism's inputs occurs."""
    if isinstance(mechanism, Memoized):
        return memoized.through(mechanism, frequencies(mechanism.fresh, counters))
    return _FREQUENCIES[mechanism.name](mechanism, counters)


def means(mechanism: Mechanism, counters: NDArray[np.int64]) -> Means:
    """What the mechanism's input is on average."""
    return _MEANS[mechanism.name](mechanism, counters)
