"""Subset selection: a uniform subset of the other answers by Floyd's algorithm, for all devices at once.

A subset of m out of N others (Bentley and Floyd, 1987): for j = N - m to N - 1, pick t among 0 to j; add t, or j
where t is in already. Devices that do not name their own answer begin one j earlier. Nothing is sorted, and no
device's others are ever listed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import SubsetSelection
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads, coins, numbers, sent_bits, words_of

__all__ = ["draw", "inputs"]

inputs = numbers

_Bits = NDArray[np.uint64]
_Places = NDArray[np.int64]


def draw(mechanism: SubsetSelection, inputs: Inputs, generator: np.random.Generator) -> Payloads:
    """Bitmaps."""
    count, others = len(inputs), mechanism.inputs - 1
    bits = np.zeros((count, words_of(mechanism.inputs)), dtype=np.uint64)
    devices = np.arange(count)
    own = coins(generator, mechanism.inside, count)
    first = others - mechanism.size
    picked = generator.integers(first + 1, size=count)
    _add(bits, devices, np.where(own, inputs, picked + (picked >= inputs)))
    for last in range(first + 1, others):
        picked = generator.integers(last + 1, size=count)
        place = picked + (picked >= inputs)
        taken = _has(bits, devices, place)
        place[taken] = last + (last >= inputs[taken])
        _add(bits, devices, place)
    return sent_bits(bits, mechanism.inputs)


def _has(bits: _Bits, devices: _Places, place: _Places) -> NDArray[np.bool_]:
    there: NDArray[np.bool_] = (bits[devices, place >> 6] >> (place & 63).astype(np.uint64) & np.uint64(1)) > 0
    return there


def _add(bits: _Bits, devices: _Places, place: _Places) -> None:
    bits[devices, place >> 6] |= np.uint64(1) << (place & 63).astype(np.uint64)
