"""Randomized response: the truth, or one of the lies."""

from __future__ import annotations

import numpy as np

from deniable.mechanisms import RandomizedResponse
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads, coins, numbers

__all__ = ["draw", "inputs"]

inputs = numbers


def draw(mechanism: RandomizedResponse, inputs: Inputs, generator: np.random.Generator) -> Payloads:
    """Symbols."""
    lies = coins(generator, mechanism.lies, len(inputs))
    if mechanism.inputs == 2:
        return inputs ^ lies
    others = generator.integers(mechanism.inputs - 1, size=len(inputs))
    return np.where(lies, others + (others >= inputs), inputs)
