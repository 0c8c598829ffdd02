"""The phone's uses: what noise of one use hides, how far it is off, and what a day's noise costs."""

from __future__ import annotations

import math

import pytest

from examples.lectures import phone


def test_one_use_is_hidden_by_noise_of_its_own_scale() -> None:
    """The channel itself: counts that are one apart differ by e^1 at most, those that are ten apart by e^10."""
    own = phone.noise(phone.single())
    for uses, epsilon in ((1, 1.0), (10, 10.0)):
        ratios = [own.probability(sent, 20) / own.probability(sent, 20 + uses) for sent in own.payloads()]
        assert math.log(max(ratios)) == pytest.approx(epsilon, abs=1e-9)
    assert phone.told_apart(1) == pytest.approx(1 / (1 + math.exp(-1)))
    assert phone.told_apart(100) == pytest.approx(1)


def test_noise_is_off_as_far_as_its_law_says() -> None:
    """Of whole numbers a little less than of Laplace's law, and next to the same at a large scale: b on average, and
    2 b^2 its square."""
    one, whole = phone.single(), phone.whole_day()
    own = phone.noise(one)
    tail = [2 * size * float(own.noise(size)) for size in range(1, 60)]
    assert phone.absolute(one) == pytest.approx(math.fsum(tail))
    assert phone.absolute(whole) == pytest.approx(50, rel=1e-3)
    assert phone.noise(whole).variance == pytest.approx(2 * 50**2, rel=1e-3)


def test_the_mean_is_within_its_interval() -> None:
    """Of ten thousand simulated phones, with a seed; hiding a whole day makes it six times as wide."""
    mean, one, whole = phone.day()
    assert one.low <= mean <= one.high
    assert whole.low <= mean <= whole.high
    assert 5 < (whole.high - whole.low) / (one.high - one.low) < 8


def test_a_trusted_server_errs_by_the_number_of_people_and_not_by_its_root() -> None:
    """The rate that notes print for it is that of noise on devices: it is root n times as large."""
    for people in (100, 10_000):
        assert phone.local(1.0, people) / phone.central(1.0, people) == pytest.approx(math.sqrt(people))
