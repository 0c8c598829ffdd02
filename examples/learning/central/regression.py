"""Logistic regression where somebody has what all devices have: the model, and how much one device has to do with it.

words:
  vector    what a device has to tell its class from: no longer than 1, its last entry a constant
  copies    how many devices have the same vector and class
  output    what the model scores: of two classes the second one, of more each of them
  residual  of each output the chance that the model gives it, less 1 where the device is of that class: the gradient
            of a device's loss is its residuals times its vector

A neighbour of a fleet is one in which one device has something else. How many devices there are is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, softmax

__all__ = ["Fleet", "UnfittedError", "accuracy", "bend", "curvature", "fitted", "gradient", "residuals", "steepest"]

Floats = NDArray[np.float64]
_MOST_STEPS = 200


class UnfittedError(ArithmeticError):
    """No minimum was found: what is proved of it does not hold."""


class Fleet(NamedTuple):
    """Devices, by what they have."""

    vectors: Floats
    """A row for each that occurs."""
    classes: NDArray[np.int64]
    """Which class it is of."""
    copies: Floats
    """How many devices have it."""
    outputs: int
    """One of two classes, of more as many as there are."""

    @property
    def devices(self) -> float:
        """How many there are."""
        return float(self.copies.sum())


def residuals(weights: Floats, fleet: Fleet) -> Floats:
    """Those of a device of each vector and class, a column an output."""
    scores = fleet.vectors @ weights.T
    if fleet.outputs == 1:
        only: Floats = expit(scores) - fleet.classes[:, np.newaxis]
        return only
    every: Floats = softmax(scores, axis=1) - np.eye(fleet.outputs)[fleet.classes]
    return every


def steepest(outputs: int) -> float:
    """How long the gradient of one device's loss is at most: its vector is no longer than 1, and residuals are below
    1 if there is one, and below the root of 2 together if there are several, since they add up to nothing."""
    return 1.0 if outputs == 1 else float(np.sqrt(2.0))


def bend(outputs: int) -> float:
    """How much the second derivatives of one device's loss are at most, added up: p (1 - p) over all outputs."""
    return 0.25 if outputs == 1 else 1 - 1 / outputs


def gradient(weights: Floats, fleet: Fleet, penalty: float) -> Floats:
    """Of the mean loss and penalty / 2 times the squared length of the weights."""
    own = residuals(weights, fleet) * fleet.copies[:, np.newaxis]
    return own.T @ fleet.vectors / fleet.devices + penalty * weights


def curvature(weights: Floats, fleet: Fleet, penalty: float, way: Floats) -> Floats:
    """By how much the gradient changes along a way."""
    known = residuals(weights, fleet)
    moved = fleet.vectors @ way.T
    if fleet.outputs == 1:
        chances = known + fleet.classes[:, np.newaxis]
        bent = chances * (1 - chances) * moved
    else:
        chances = known + np.eye(fleet.outputs)[fleet.classes]
        bent = chances * (moved - (chances * moved).sum(axis=1, keepdims=True))
    return (bent * fleet.copies[:, np.newaxis]).T @ fleet.vectors / fleet.devices + penalty * way


def fitted(fleet: Fleet, penalty: float, tolerance: float, slope: Floats | None = None) -> Floats:
    """Where the mean loss, the penalty and the weights times a slope are least: the gradient is no longer than the
    tolerance there. By Newton's steps, each half as long as the one before until it shortens the gradient."""
    shape = (fleet.outputs, fleet.vectors.shape[1])
    weights = np.zeros(shape)
    added = np.zeros(shape) if slope is None else slope

    def at(place: Floats) -> Floats:
        return gradient(place, fleet, penalty) + added

    known = at(weights)
    for _ in range(_MOST_STEPS):
        length = float(np.linalg.norm(known))
        if length <= tolerance:
            return weights
        step, part = _newton(weights, fleet, penalty, known), 1.0
        while np.linalg.norm(at(weights - part * step)) > (1 - part / 4) * length:
            part /= 2
            if part < 1e-9:
                raise UnfittedError(f"the gradient stays at {length:.3g}")
        weights = weights - part * step
        known = at(weights)
    raise UnfittedError(f"no gradient of {tolerance:.3g} after {_MOST_STEPS} steps")


def _newton(weights: Floats, fleet: Fleet, penalty: float, known: Floats) -> Floats:
    """The way to where the gradient would be nothing if the curvature stayed what it is here."""
    shape = weights.shape
    bent = LinearOperator(
        (weights.size, weights.size),
        matvec=lambda way: curvature(weights, fleet, penalty, way.reshape(shape)).ravel(),
        dtype=np.float64,
    )
    found, _ = cg(bent, known.ravel(), rtol=1e-3, maxiter=10 * weights.size)
    step: Floats = found.reshape(shape)
    return step


def accuracy(weights: Floats, vectors: Floats, classes: NDArray[np.int64]) -> float:
    """The part of these whose class is told."""
    scores = vectors @ weights.T
    told = scores[:, 0] > 0 if weights.shape[0] == 1 else scores.argmax(axis=1)
    return float((told == classes).mean())
