"""Noisy gradient descent: each step follows the sum of all devices' gradients, each clipped by itself, with noise.

Why it keeps epsilon and delta. No gradient of one device is longer than the clip, so that one device moves their sum
by two clips at most, whatever all others have, at whatever weights: these are made of sums that are released
already. What all steps tell together is known exactly (`noise.py`).

Lecture notes clip the gradient of the batch in place of each device's, with noise for one clip. One device may turn
the batch's gradient around, by two clips; and however many devices there are, the noise stays as large as the step.

Every step looks at all devices. Who looks at some, drawn in secret, may add less noise to each step, which is worth
it where a step over all takes too long; of a few hundred rows it does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .noise import normal_deviation
from .regression import Fleet, Floats, residuals

__all__ = ["Descent", "clipped_sum", "released"]


@dataclass(frozen=True, slots=True)
class Descent:
    """How it descends, which is said before anything is looked at."""

    steps: int = 100
    """How often everybody's gradients are added up."""
    rate: float = 30.0
    """How far a step follows the mean of the gradients."""
    clip: float = 0.5
    """How long the gradient of one device is at most."""


def clipped_sum(weights: Floats, fleet: Fleet, clip: float) -> Floats:
    """The gradients of all devices, each shortened to the clip where it is longer."""
    own = residuals(weights, fleet)
    lengths = np.linalg.norm(own, axis=1) * np.linalg.norm(fleet.vectors, axis=1)
    kept = fleet.copies * np.minimum(1.0, clip / np.maximum(lengths, 1e-300))
    found: Floats = (own * kept[:, np.newaxis]).T @ fleet.vectors
    return found


def released(fleet: Fleet, epsilon: float, delta: float, how: Descent, generator: np.random.Generator) -> Floats:
    """The mean of the weights of the second half of all steps, which has less noise than the last ones."""
    spread = 2 * how.clip * normal_deviation(epsilon, delta, how.steps)
    weights = np.zeros((fleet.outputs, fleet.vectors.shape[1]))
    mean, last = np.zeros_like(weights), how.steps // 2
    for step in range(how.steps):
        noisy = clipped_sum(weights, fleet, how.clip) + spread * generator.normal(size=weights.shape)
        weights = weights - how.rate * noisy / fleet.devices
        if step >= last:
            mean += weights / (how.steps - last)
    return mean
