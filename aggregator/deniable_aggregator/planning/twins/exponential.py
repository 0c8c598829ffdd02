"""The exponential mechanism: for all devices of one place, where their words fall among its thresholds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Exponential
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads, numbers, words

__all__ = ["draw", "inputs", "thresholds"]

inputs = numbers

_BITS = 128


def draw(mechanism: Exponential, inputs: Inputs, generator: np.random.Generator) -> Payloads:
    """Symbols."""
    drawn = words(generator, len(inputs))
    sent = np.empty(len(inputs), dtype=np.int64)
    for value in np.unique(inputs).tolist():
        own = inputs == value
        sent[own] = np.searchsorted(thresholds(mechanism, value), drawn[own], side="right")
    return sent


def thresholds(mechanism: Exponential, value: int) -> NDArray[np.uint64]:
    """Where each place but the first begins: the least word of 128 bits that is scaled to it, by its upper half."""
    sums, left = mechanism.cumulative, mechanism.inputs - 1 - value
    first, total = sums[left], sums[left + mechanism.inputs] - sums[left]
    begins = (-((first - begin << _BITS) // total) for begin in sums[left + 1 : left + mechanism.inputs])
    return np.array([begin >> _BITS - 64 for begin in begins], dtype=np.uint64)
