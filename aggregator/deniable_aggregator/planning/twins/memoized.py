"""Memoized: what is remembered, of devices that answer for the first time, is what the second randomisation gets."""

from __future__ import annotations

import numpy as np

from deniable.mechanisms import Memoized
from deniable_aggregator.planning.twins import randomized_response
from deniable_aggregator.planning.twins._arrays import Inputs, numbers

__all__ = ["inputs", "through"]

inputs = numbers


def through(mechanism: Memoized, inputs: Inputs, generator: np.random.Generator) -> Inputs:
    """Symbols."""
    return randomized_response.draw(mechanism.permanent, inputs, generator)
