"""Memoized subset: what devices send that answer for the first time, without drawing what they remember.

Of all that a device could remember, an answer is named with one chance where it is the device's own (or, of a set,
that of its drawn slot), and with another one, the same for all, where it is not: two draws tell which.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deniable.mechanisms import MemoizedSubset, PadAndSample
from deniable.randomness import WORD
from deniable_aggregator.planning.twins import pad_and_sample
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads, coins, numbers

__all__ = ["draw", "inputs"]


def inputs(mechanism: MemoizedSubset, chosen: Sequence[int]) -> Inputs:
    """Those of the first randomisation."""
    first = mechanism.permanent
    return pad_and_sample.inputs(first, chosen) if isinstance(first, PadAndSample) else numbers(first, chosen)


def draw(mechanism: MemoizedSubset, inputs: Inputs, generator: np.random.Generator) -> Payloads:
    """Symbols."""
    first = mechanism.permanent
    own = pad_and_sample.sampled(inputs, generator) if isinstance(first, PadAndSample) else inputs
    inner = first.inner if isinstance(first, PadAndSample) else first
    kept = mechanism.low + (mechanism.high - mechanism.low) * inner.p
    truth = coins(generator, round(kept * WORD), len(own))
    others = generator.integers(mechanism.answers - 1, size=len(own))
    return np.where(truth, own, others + (others >= own))
