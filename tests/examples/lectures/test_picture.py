"""The picture of which every pixel is flipped: it comes back through a real aggregator."""

from __future__ import annotations

import math

import numpy as np
import pytest

from examples.lectures import picture

DEVICES = 4_000


def test_the_picture_remains() -> None:
    """Four thousand devices through gRPC and a store. Every answer is within six deviations of its pixel, and the
    mean square of all is between half and twice that of the noise: less than 10^-6 of all draws are not so, and this
    seed's is. Noise of three times the variance would be found."""
    found = picture.shown(DEVICES)
    truth = np.array([[pixel == "#" for pixel in row] for row in picture.PICTURE], dtype=float)
    off = (found.answer - truth) / picture.error(0.49, DEVICES)
    assert np.abs(off).max() < 6
    assert 0.5 < np.mean(off**2) < 2
    assert np.abs(found.mean - 0.5).max() < 0.07, "the mean itself is all but grey"
    assert set(np.unique(found.one)) == {0.0, 1.0}


def test_51_percent_are_the_same_inverted() -> None:
    """Undone by a negative denominator; forgotten, the picture is inverted. .040 a pixel, and 624.75/n."""
    truth = np.array([0.0, 1.0])
    mean = truth * 0.49 + (1 - truth) * 0.51
    assert picture.undone(mean, 0.51) == pytest.approx(truth)
    assert mean[0] > mean[1]
    assert picture.bit_epsilon(0.51) == pytest.approx(picture.bit_epsilon(0.49)) == pytest.approx(0.0400, abs=5e-5)
    assert picture.error(0.51, 1) ** 2 == pytest.approx(624.75)


def test_drawn_anew_is_not_flipped() -> None:
    """51% drawn anew are flipped with 25.5%: epsilon 1.072."""
    assert picture.bit_epsilon(0.255) == pytest.approx(1.072, abs=5e-4)


def test_a_device_pays_for_all_of_its_pixels() -> None:
    """Each costs ln(51/49), as often as there are pixels."""
    metric = picture.collection().metrics["pixels"]
    assert float(metric.epsilon) == pytest.approx(200 * math.log(51 / 49))
