"""Naive Bayes of noisy counts: how far one device moves them, and what becomes of the model."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from examples.learning.central import counts
from scipy import stats

VALUES = {"ill": ("no", "yes"), "high": ("low", "high"), "site": ("a", "b", "c")}
HAD = list(product(range(2), range(2), range(3)))
"""What a device can have."""


def tables(devices: list[tuple[int, int, int]]) -> dict[str, np.ndarray]:
    """How many devices are in each cell."""
    made = {"high": np.zeros((2, 2)), "site": np.zeros((2, 3))}
    for ill, high, site in devices:
        made["high"][ill, high] += 1
        made["site"][ill, site] += 1
    return made


def test_one_device_moves_all_counts_by_two_a_feature() -> None:
    """Every device that there can be, replaced by every other: no farther, and as far. The noise is for that."""
    others = [HAD[0], HAD[7], HAD[11]]
    moved = []
    for one, other in product(HAD, HAD):
        both = tables([one, *others]), tables([other, *others])
        moved.append(sum(float(np.abs(both[0][name] - both[1][name]).sum()) for name in both[0]))
    assert max(moved) == 4 == counts.scale(2, 1.0)


def test_cells_have_the_noise_that_is_said() -> None:
    """Four thousand cells of two features: Laplace's law of its scale, by Kolmogorov's distance, which is farther
    from it for 10^-6 of all samples, or less. Noise of three quarters of it is found."""
    empty = {name: np.zeros((2, 1_000)) for name in ("high", "site")}
    drawn = np.concatenate([own.ravel() for own in counts.noisy(empty, 0.5, np.random.default_rng(2)).values()])
    law = stats.laplace(scale=8)
    assert stats.kstest(drawn, law.cdf).statistic <= 2.7 / math.sqrt(4_000) < 0.06
    assert stats.kstest(0.75 * drawn, law.cdf).statistic > 2.7 / math.sqrt(4_000)


def test_without_much_noise_it_is_the_model_of_the_counts() -> None:
    """The prior, the likelihoods, and what they say of a device; a feature that tells nothing says nothing."""
    devices = [HAD[0]] * 300 + [HAD[4]] * 100 + [HAD[7]] * 100 + [HAD[10]] * 500
    model = counts.model("ill", VALUES, tables(devices), 1e6, np.random.default_rng(1))
    assert model.classes == ("no", "yes")
    assert model.prior == pytest.approx([0.4, 0.6], abs=0.01)
    assert model.likelihoods["high"][0] == pytest.approx([0.75, 0.25], abs=0.02)
    assert model.predict([{"high": "low", "site": "a"}, {"high": "high"}]) == ["no", "yes"]
