"""Output perturbation: the model is found without noise, and noise is added to it.

Why it keeps epsilon and delta. The mean loss with its penalty is penalty-strongly convex: where one device has
something else, the gradient at the old minimum is no longer than 2 G / n (G: the longest gradient of one device's
loss), so that the new minimum lies within 2 G / (n penalty) of it. What is found lies within tolerance / penalty of
the minimum, either time. (Chaudhuri, Monteleoni, Sarwate, JMLR 12, 2011. Lecture notes that have 4 G / (n penalty)
for penalty |w|^2, which is twice as convex, have four times as much as it takes.)
"""

from __future__ import annotations

import numpy as np

from .noise import normal_deviation
from .regression import Fleet, Floats, fitted, steepest

__all__ = ["released", "sensitivity"]

_NEAR = 0.01
"""The tolerance, in units of the gradient of one device of the fleet."""


def sensitivity(devices: float, penalty: float, outputs: int) -> float:
    """How far one device moves what is found, at most."""
    return 2 * (1 + _NEAR) * steepest(outputs) / (devices * penalty)


def released(fleet: Fleet, epsilon: float, delta: float, penalty: float, generator: np.random.Generator) -> Floats:
    """The weights, with noise."""
    found = fitted(fleet, penalty, _NEAR * steepest(fleet.outputs) / fleet.devices)
    spread = normal_deviation(epsilon, delta) * sensitivity(fleet.devices, penalty, fleet.outputs)
    return found + spread * generator.normal(size=found.shape)
