"""Vectorised twins: the client's mechanisms over whole populations at once, for simulation only.

words:
  twin      draws from the same channel as the client's mechanism of that name, from the same integer thresholds;
            tests hold both against the exact probabilities
  inputs    a row a device: the mechanism's input as numpy can hold it (a number, bits, entries, what slots hold)
  payloads  a row a device: of narrow shapes the payload, of wide ones the bytes that travel

Devices that protect somebody draw from the operating system, one answer at a time; a simulated fleet has nobody to
protect, and its generator can be seeded. A coin of more than 64 bits is thrown here by its upper 64: that moves a
probability by less than 2^-64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

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
from deniable_aggregator.planning.twins import (
    bitwise_response,
    exponential,
    gaussian,
    hybrid,
    laplace,
    memoized_bitwise,
    memoized_subset,
    pad_and_sample,
    projective_geometry,
    randomized_response,
    subset_selection,
    vector_laplace,
)
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads, words

__all__ = ["Inputs", "Payloads", "draw", "inputs", "words"]

_DEVICES = 1 << 15
"""So many are drawn at a time: what they need stays in the processor's cache."""


class _Twin(Protocol):
    """What the file of a mechanism has."""

    def inputs(self, mechanism: Any, chosen: Sequence[int], /) -> Inputs:
        """The client's inputs as rows."""

    def draw(self, mechanism: Any, inputs: Inputs, generator: np.random.Generator, /) -> Payloads:
        """A randomised answer for every row."""


_TWINS: dict[str, _Twin] = {
    RandomizedResponse.name: randomized_response,
    SubsetSelection.name: subset_selection,
    ProjectiveGeometryResponse.name: projective_geometry,
    Hybrid.name: hybrid,
    Exponential.name: exponential,
    Laplace.name: laplace,
    BitwiseResponse.name: bitwise_response,
    MemoizedBitwise.name: memoized_bitwise,
    MemoizedSubset.name: memoized_subset,
    Gaussian.name: gaussian,
    VectorLaplace.name: vector_laplace,
}


def inputs(mechanism: Mechanism, chosen: Sequence[int]) -> Inputs:
    """The client's inputs as rows."""
    if isinstance(mechanism, Memoized):
        return inputs(mechanism.permanent, chosen)
    if isinstance(mechanism, PadAndSample):
        return pad_and_sample.inputs(mechanism, chosen)
    return _TWINS[mechanism.name].inputs(mechanism, chosen)


def draw(mechanism: Mechanism, rows: Inputs, generator: np.random.Generator) -> Payloads:
    """A randomised answer for every row of inputs."""
    if isinstance(mechanism, Memoized):
        return draw(mechanism.fresh, draw(mechanism.permanent, rows, generator), generator)
    if isinstance(mechanism, PadAndSample):
        return draw(mechanism.inner, pad_and_sample.sampled(rows, generator), generator)
    twin = _TWINS[mechanism.name]
    starts = range(0, max(len(rows), 1), _DEVICES)
    return np.concatenate([twin.draw(mechanism, rows[start : start + _DEVICES], generator) for start in starts])
