"""Hybrid: an output of the band, or one of the others."""

from __future__ import annotations

import numpy as np

from deniable.mechanisms import Hybrid
from deniable.mechanisms.hybrid import WIDTH
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads, coins, numbers

__all__ = ["draw", "inputs"]

inputs = numbers


def draw(mechanism: Hybrid, inputs: Inputs, generator: np.random.Generator) -> Payloads:
    """Symbols."""
    count = len(inputs)
    within = generator.integers(WIDTH, size=count)
    other = generator.integers(mechanism.inputs - 1, size=count)
    inside = coins(generator, mechanism.inside, count)
    return np.where(inside, inputs + within, other + WIDTH * (other >= inputs))
