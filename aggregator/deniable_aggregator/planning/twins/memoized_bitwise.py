"""Memoized bitwise response: what is remembered, of devices that answer for the first time, is flipped once more."""

from __future__ import annotations

import numpy as np

from deniable.mechanisms import MemoizedBitwise
from deniable_aggregator.planning.twins._arrays import Inputs
from deniable_aggregator.planning.twins.bitwise_response import flipped, inputs

__all__ = ["inputs", "through"]


def through(mechanism: MemoizedBitwise, inputs: Inputs, generator: np.random.Generator) -> Inputs:
    """Bits."""
    return flipped(mechanism.permanent, inputs, generator)
