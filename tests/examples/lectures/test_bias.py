"""The coin's bias: the cut Beta law, the loss that one throw moves, and what devices make of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from examples.lectures import bias


def test_what_a_throw_counts_as() -> None:
    """Golden: .1/(2 ln 10) = .021715 where a throw is added; it is ln 9 and not 2.3 where one is replaced."""
    assert bias.coefficient(replaced=False) == pytest.approx(0.021715, abs=5e-7)
    assert bias.loss_moves(replaced=False) == pytest.approx(2.302585, abs=5e-7)
    assert bias.loss_moves(replaced=True) == pytest.approx(2.197225, abs=5e-7)
    thetas = np.linspace(0.1, 0.9, 801)
    assert np.abs(np.log(thetas) - np.log(1 - thetas)).max() == pytest.approx(bias.loss_moves(replaced=True))


@pytest.mark.parametrize(("heads", "tails"), [(0, 0), (7, 3), (700, 300), (7_000, 3_000)])
def test_the_law_is_that_of_the_weights(heads: int, tails: int) -> None:
    """Added up on a grid: e^(-eps loss/(2 ln 9)) between .1 and .9."""
    thetas = np.linspace(0.1, 0.9, 200_001)
    logs = bias.coefficient() * (heads * np.log(thetas) + tails * np.log(1 - thetas))
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = float(weights @ thetas)
    own = bias.chosen(heads, tails)
    assert own.mean == pytest.approx(mean, abs=1e-5)
    assert own.deviation == pytest.approx(math.sqrt(float(weights @ (thetas - mean) ** 2)), rel=1e-3)


def test_variances_fall_by_the_throws_and_by_their_square() -> None:
    """A hundred times the throws: a tenth of the deviation, and a hundredth by Laplace's noise."""
    far = [bias.chosen(7 * size, 3 * size).deviation for size in (10_000, 1_000_000)]
    assert far[0] / far[1] == pytest.approx(10, rel=0.02)
    assert bias.laplace_error(100) / bias.laplace_error(10_000) == pytest.approx(100)


def test_what_is_believed_never_leaves_the_range() -> None:
    """Also where the estimate is below 0; of many answers it is the usual interval."""
    low, high = bias.credible(24, 100, math.log(3))
    assert 0 < low < high < 0.25
    assert bias.credible(4_000, 10_000, math.log(3)) == pytest.approx((0.2808, 0.3192), abs=2e-4)
