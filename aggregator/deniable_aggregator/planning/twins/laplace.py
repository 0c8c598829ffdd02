"""Discrete Laplace: a size from its binary digits, a sign, a coin for no noise at all, a word for the overshoot."""

from __future__ import annotations

import numpy as np

from deniable.mechanisms import Laplace
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads, coins, numbers, words

__all__ = ["draw", "inputs"]

inputs = numbers


def draw(mechanism: Laplace, inputs: Inputs, generator: np.random.Generator) -> Payloads:
    """The numbers of levels."""
    count, digits = len(inputs), len(mechanism.digits)
    size = np.ones(count, dtype=np.int64)
    for place, digit in enumerate(mechanism.digits):
        size += coins(generator, digit.upper, count).astype(np.int64) << place
    again = np.flatnonzero(coins(generator, mechanism.beyond.upper, count))
    while len(again):
        size[again] += 1 << digits
        again = again[coins(generator, mechanism.beyond.upper, len(again))]
    sign = 1 - 2 * (words(generator, count) & np.uint64(1)).astype(np.int64)
    noise = np.where(coins(generator, mechanism.zero.upper, count), 0, sign * size)
    drawn, noisy = words(generator, count), inputs + noise
    out = (drawn < np.uint64(mechanism.away)).astype(np.int64) + (drawn < np.uint64(mechanism.farther))
    side = (noisy >= mechanism.steps).astype(np.int64) - (noisy <= 0)
    sent: Payloads = np.clip(noisy, 0, mechanism.steps) + 2 + out * side
    return sent
