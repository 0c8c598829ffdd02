"""Pad and sample: what a drawn slot holds. What is said of it is the inner mechanism's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deniable.mechanisms import Mechanism
from deniable_aggregator.planning.twins._arrays import Inputs

__all__ = ["inputs", "through"]


def inputs(mechanism: Mechanism, chosen: Sequence[int]) -> Inputs:
    """What every slot holds."""
    return np.array([mechanism.slots(items) for items in chosen], dtype=np.int64)


def through(mechanism: Mechanism, inputs: Inputs, generator: np.random.Generator) -> Inputs:  # noqa: ARG001
    """What one slot of each device holds."""
    devices, slots = inputs.shape
    answers: Inputs = inputs[np.arange(devices), generator.integers(slots, size=devices)]
    return answers
