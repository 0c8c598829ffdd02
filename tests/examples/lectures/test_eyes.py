"""Blue eyes: a curator's noise, and that of devices."""

from __future__ import annotations

import math

import pytest

from examples.lectures import eyes


def test_a_curator_is_off_by_ten_or_by_twenty() -> None:
    """Golden: scale 10 where one is added, 20 where one is replaced; the noise of a curator at ln 3 has .910239."""
    assert (eyes.curator(replaced=False), eyes.curator(replaced=True)) == (10, 20)
    assert eyes.curator(replaced=False, epsilon=math.log(3)) == pytest.approx(0.910239, abs=5e-7)


def test_plus_or_minus_ten_is_true_of_two_in_three() -> None:
    """63.2% at one scale; 95% take 29.96."""
    assert eyes.within(10, 10) == pytest.approx(0.632, abs=5e-4)
    assert eyes.within(29.96, 10) == pytest.approx(0.95, abs=5e-5)


@pytest.mark.parametrize("people", [10_000, 10**6])
def test_the_aggregator_says_how_far_a_count_is_off(people: int) -> None:
    """9,996 of a million, which is 10 times the root; and as the formula has it, at any share."""
    for blue in (people // 10, people * 3 // 10):
        assert eyes.counted(people, blue) == pytest.approx(eyes.coins(people), rel=1e-3)
    assert eyes.coins(10**6) == pytest.approx(9_996, abs=0.5)


def test_coins_are_better_than_noise_for_bits() -> None:
    """At every epsilon: e^eps / (e^eps - 1)^2 < 2 / eps^2; at a small one by half."""
    for step in range(1, 800):
        assert eyes.coins(1, step / 50) < eyes.laplace(1, step / 50)
    assert (eyes.coins(1, 0.01) / eyes.laplace(1, 0.01)) ** 2 == pytest.approx(0.5, abs=1e-4)
    assert eyes.laplace(1, math.log(3)) ** 2 == pytest.approx(1.657, abs=5e-4)
    assert eyes.coins(1, math.log(3)) ** 2 == pytest.approx(0.75)
