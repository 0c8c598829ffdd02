"""Discrete Gaussian noise: for every entry a ladder of steps from one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Gaussian, VectorLaplace
from deniable.mechanisms._entries import pack, unpack
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads, words

__all__ = ["draw", "inputs", "packed", "sent_entries", "thresholds"]


def inputs(mechanism: Gaussian | VectorLaplace, chosen: Sequence[int]) -> Inputs:
    """Entries."""
    return np.array([unpack(packed, mechanism.dimensions) for packed in chosen], dtype=np.int64)


def packed(entries: NDArray[np.int64]) -> Iterator[int]:
    """The client's inputs of rows of entries."""
    return map(pack, entries.tolist())


def draw(mechanism: Gaussian, inputs: Inputs, generator: np.random.Generator) -> Payloads:
    """Entries, as bytes."""
    table = thresholds(mechanism)
    noise = np.zeros(inputs.size, dtype=np.int64)
    for _ in range(mechanism.levels):
        steps = np.searchsorted(table, words(generator, inputs.size), side="right") - mechanism.reach
        noise = 4 * noise + steps
    end = mechanism.end
    return sent_entries(np.clip(inputs + noise.reshape(inputs.shape), -end, end))


def thresholds(mechanism: Gaussian) -> NDArray[np.uint64]:
    """A step's thresholds by their upper 64 bits, without the last, which no word reaches."""
    return np.array([upto >> 64 for upto in mechanism.cumulative[:-1]], dtype=np.uint64)


def sent_entries(entries: NDArray[np.int64]) -> Payloads:
    """Vectors as they travel."""
    return entries.astype("<i4").view(np.uint8)
