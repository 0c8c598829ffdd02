"""The lecture on federated rounds: a plain update gives its device away, and randomised ones are learned from."""

from __future__ import annotations

import numpy as np
import pytest
from examples.learning.device import update
from examples.lectures.rounds import CONSTANT, course, given_away, points, right


def test_a_plain_update_is_the_devices_own_vector() -> None:
    """Fifty devices, whatever the weights: vector and class are read off, to the last digits."""
    vectors, classes = points(50, 3)
    weights = np.random.default_rng(4).normal(size=3).tolist()
    for vector, own in zip(vectors, classes.tolist(), strict=True):
        seen, known = given_away(update(weights, vector.tolist(), own))
        assert seen == pytest.approx(vector, abs=1e-12)
        assert known == own


def test_devices_that_answer_once_learn_a_model() -> None:
    """4,000 devices in six rounds at epsilon 4 (the draws are known): within five points of the best that there is,
    the line halfway between both heaps."""
    assert right(course().model) > right(np.array([0.4, -0.2, -0.08 / CONSTANT])) - 0.05
    assert len(course().steps) == 6
