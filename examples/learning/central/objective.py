"""Objective perturbation: noise is added to what is minimised, and the minimum is released as it is.

Why it keeps epsilon. What is minimised is the mean loss + penalty / 2 |w|^2 + b w / n, with a random b. To weights w
belongs one b, the one for which the gradient at w is nothing: b(w) = -n times the gradient without noise. So the
density of w is that of the noise at b(w), times by how much b changes with w: the determinant of n times the second
derivatives. Where one device has something else,

- b(w) moves by 2 G at most, which changes the density of the noise by e^part, if its scale is 2 G / part;
- in both determinants all other devices are the same, and what one adds to them is at most e^(bend / (n penalty)).

Both together are e^epsilon if part is epsilon less the second exponent. (Chaudhuri, Monteleoni, Sarwate, JMLR 12,
2011, who have twice that exponent.) There is no delta. The argument is about the minimum itself: it is
found to ten digits.
"""

from __future__ import annotations

import numpy as np

from .noise import by_length
from .regression import Fleet, Floats, bend, curvature, fitted, gradient, steepest

__all__ = ["left_for_noise", "log_density", "released"]

_TOLERANCE = 1e-10


def left_for_noise(epsilon: float, devices: float, penalty: float, outputs: int) -> float:
    """What of epsilon is not taken by the determinants; a ValueError where nothing is."""
    part = epsilon - bend(outputs) / (devices * penalty)
    if part <= 0:
        raise ValueError(f"{devices:.0f} devices need a penalty above {bend(outputs) / (devices * epsilon):.3g}")
    return part


def _scale(epsilon: float, fleet: Fleet, penalty: float) -> float:
    return 2 * steepest(fleet.outputs) / left_for_noise(epsilon, fleet.devices, penalty, fleet.outputs)


def released(fleet: Fleet, epsilon: float, penalty: float, generator: np.random.Generator) -> Floats:
    """The weights at the minimum."""
    shape = (fleet.outputs, fleet.vectors.shape[1])
    slope = by_length(generator, shape, _scale(epsilon, fleet, penalty)) / fleet.devices
    return fitted(fleet, penalty, _TOLERANCE, slope)


def log_density(weights: Floats, fleet: Fleet, epsilon: float, penalty: float) -> float:
    """The logarithm of the density of what is released, but for what is the same for all fleets of this size."""
    noise = fleet.devices * gradient(weights, fleet, penalty)
    ways = np.eye(weights.size).reshape(-1, *weights.shape)
    bent = np.array([curvature(weights, fleet, penalty, way).ravel() for way in ways])
    turned = np.linalg.slogdet(fleet.devices * bent)[1]
    return float(turned - np.linalg.norm(noise) / _scale(epsilon, fleet, penalty))
