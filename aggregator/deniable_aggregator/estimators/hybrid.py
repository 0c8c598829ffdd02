"""Hybrid: a report counts as its output's level."""

from __future__ import annotations

from functools import lru_cache
from operator import mul
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Hybrid
from deniable.mechanisms.hybrid import WIDTH
from deniable.randomness import WORD
from deniable_aggregator.estimators._means import Means, Noise

__all__ = ["means"]


def means(mechanism: Hybrid, counters: NDArray[np.int64]) -> Means:
    """Counters: how often each output was sent."""
    counts, known = counters.tolist(), _known(mechanism)
    sums = tuple(sum(map(mul, counts, levels)) for levels in known.powers)
    return Means(sum(counts), sums, known.origin, known.span, known.noise)


class _Known(NamedTuple):
    """What estimates need of a mechanism."""

    powers: tuple[tuple[int, ...], ...]
    """The levels, and their squares, cubes and fourth powers."""
    origin: float
    """The expected level of the lower end."""
    span: float
    """How much more that of the upper end is."""
    noise: Noise


@lru_cache(maxsize=256)
def _known(mechanism: Hybrid) -> _Known:
    powers = tuple(tuple(level**power for level in mechanism.levels) for power in range(1, 5))
    low, high = (float(end) for end in mechanism.ends)
    return _Known(powers, low, high - low, _noise(mechanism))


def _noise(mechanism: Hybrid) -> Noise:
    """From the whole channel, and from the middles between two places, where a value is either at random."""
    inside, first = mechanism.inside / WORD, np.arange(mechanism.inputs)[:, np.newaxis]
    channel = np.full((mechanism.inputs, mechanism.outputs), (1 - inside) / (mechanism.inputs - 1))
    channel[first, first + np.arange(WIDTH)] = inside / WIDTH
    levels = np.array(mechanism.levels, dtype=np.float64)
    everywhere = np.concatenate([channel, (channel[1:] + channel[:-1]) / 2])

    deviation = levels - (everywhere @ levels)[:, np.newaxis]
    squares = deviation * deviation
    second, third, fourth = (
        (everywhere * each).sum(axis=1) for each in (squares, squares * deviation, squares * squares)
    )
    return Noise(
        float(second[: mechanism.inputs].min()),
        float(second.max()),
        float(abs(third).max()),
        float(fourth.max()),
        float((fourth - second**2).min()),
    )
