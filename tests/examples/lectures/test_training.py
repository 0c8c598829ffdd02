"""The lecture on where noise goes when a model is learned: its figures, and where the notes err."""

from __future__ import annotations

import pytest
from examples.learning.central.noise import normal_deviation
from examples.lectures.training import clipped, delta_of, models, moved, noted


def test_the_minimum_moves_by_a_quarter_of_what_is_printed() -> None:
    """G / (n lambda), which is reached, and not 4 G / (n lambda): the printed noise is .1938, and .0373 is enough."""
    assert moved(10_000, 0.01) == pytest.approx(1 / (10_000 * 0.01))
    assert 4 * moved(10_000, 0.01) * noted(1.0, 1e-5) == pytest.approx(0.1938, abs=5e-5)
    assert moved(10_000, 0.01) * normal_deviation(1.0, 1e-5) == pytest.approx(0.0373, abs=5e-5)


def test_normal_noise_as_printed() -> None:
    """Golden: 4.844805 at epsilon 1 and delta 10^-5, which is more than enough for a move by 1."""
    assert noted(1.0, 1e-5) == pytest.approx(4.844805, abs=5e-7)
    assert delta_of(1.0, 1 / noted(1.0, 1e-5)) < 1e-5
    assert delta_of(1.0, 1 / normal_deviation(1.0, 1e-5)) == pytest.approx(1e-5, rel=1e-6)


def test_a_clipped_batch_moves_by_two_clips() -> None:
    """And delta is .00170, 170 times what is said; clipped one by one a record moves the sum by two as well, whatever
    the others are, and noise for two keeps delta."""
    own = clipped()
    assert own == pytest.approx((2, 2))
    assert delta_of(1.0, own.together / noted(1.0, 1e-5)) == pytest.approx(0.00170, abs=5e-6)
    assert delta_of(1.0, own.together / noted(1.0, 1e-5)) / 1e-5 == pytest.approx(170, abs=0.5)
    assert delta_of(1.0, own.each / (2 * normal_deviation(1.0, 1e-5))) <= 1e-5 * (1 + 1e-6)


def test_noise_of_many_steps_grows_with_their_root() -> None:
    """A hundred steps take ten times the noise of one; each with its part of epsilon and delta, far more."""
    assert normal_deviation(1.0, 1e-5, 100) == pytest.approx(10 * normal_deviation(1.0, 1e-5))
    assert normal_deviation(0.01, 1e-7) > 5 * normal_deviation(1.0, 1e-5, 100)


def test_all_ways_learn() -> None:
    """Within five points of the model without noise, which is better than a coin by thirty."""
    found = models(5_000, 1)
    assert found["nothing"] > 0.8
    assert min(found.values()) > found["nothing"] - 0.05
