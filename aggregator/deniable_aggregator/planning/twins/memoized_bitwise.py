"""Memoized bitwise response: flipped once, and once more."""

from __future__ import annotations

import numpy as np

from deniable.mechanisms import MemoizedBitwise
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads, sent_bits
from deniable_aggregator.planning.twins.bitwise_response import flipped, inputs

__all__ = ["draw", "inputs"]


def draw(mechanism: MemoizedBitwise, inputs: Inputs, generator: np.random.Generator) -> Payloads:
    """Bitmaps, as of devices that answer for the first time."""
    remembered = flipped(mechanism.permanent, inputs, generator)
    return sent_bits(flipped(mechanism.fresh, remembered, generator), mechanism.fresh.flags)
