"""Pad and sample: what a drawn slot holds. What is said of it is the inner mechanism's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deniable.mechanisms import PadAndSample
from deniable_aggregator.planning.twins._arrays import Inputs

__all__ = ["inputs", "sampled"]


def inputs(mechanism: PadAndSample, chosen: Sequence[int]) -> Inputs:
    """What every slot holds."""
    return np.array([mechanism.answers(items) for items in chosen], dtype=np.int64)


def sampled(inputs: Inputs, generator: np.random.Generator) -> Inputs:
    """What one slot of each device holds."""
    devices, slots = inputs.shape
    answers: Inputs = inputs[np.arange(devices), generator.integers(slots, size=devices)]
    return answers
