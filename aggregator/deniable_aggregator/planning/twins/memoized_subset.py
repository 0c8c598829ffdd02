"""Memoized subset: what devices send that answer for the first time, without drawing what they remember.

Of all that a device could remember, an answer is named with one chance where it is the device's own (or, of a set,
that of its drawn slot), and with another one, the same for all, where it is not: two draws tell which.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deniable.mechanisms import MemoizedSubset
from deniable.randomness import WORD
from deniable_aggregator.planning.twins import pad_and_sample
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads, coins

__all__ = ["draw", "inputs"]


def inputs(mechanism: MemoizedSubset, chosen: Sequence[int]) -> Inputs:
    """What every slot of a set holds; else the one answer."""
    return pad_and_sample.inputs(mechanism.permanent, chosen)


def draw(mechanism: MemoizedSubset, inputs: Inputs, generator: np.random.Generator) -> Payloads:
    """Symbols."""
    own = pad_and_sample.through(mechanism.permanent, inputs, generator)
    truth = coins(generator, round(mechanism.own * WORD), len(own))
    others = generator.integers(mechanism.answers - 1, size=len(own))
    return np.where(truth, own, others + (others >= own))
