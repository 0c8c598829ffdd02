"""Discrete Laplace: the noise is the one that is claimed, digit by digit and moment by moment, exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import randomness
from deniable.epsilon import Epsilon
from deniable.mechanisms import Laplace
from deniable.randomness import FINE, FineCoin
from privacy.bounds import exp_between
from privacy.channels import Shifted

GRID = [(steps, epsilon) for steps in (1, 2, 5, 20, 200) for epsilon in ("0.5", "1", "7.6", "15.1", "32")]
EACH = pytest.mark.parametrize("noise", [Laplace(Epsilon.of(Fraction(e)), s) for s, e in GRID], ids=map(str, GRID))


@given(st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20), st.integers(0, 4))
def test_the_digits_of_a_geometric_variable_are_independent_coins(alpha: Fraction, digits: int) -> None:
    """Let digit k show heads with chance a^(2^k) / (1 + a^(2^k)), and 2^L more, again and again, with a^(2^L).

    Then every g has the chance (1 - a) a^g: the sampler stands on this.
    """
    heads = [alpha ** (1 << place) / (1 + alpha ** (1 << place)) for place in range(digits)]
    beyond = alpha ** (1 << digits)
    for g in range(3 << digits):
        chance = beyond ** (g >> digits) * (1 - beyond)
        for place, head in enumerate(heads):
            chance *= head if g >> place & 1 else 1 - head
        assert chance == (1 - alpha) * alpha**g


@EACH
def test_every_coin_is_as_near_to_the_noise_as_the_slack_pays_for(noise: Laplace) -> None:
    """Heads and tails of every coin are within one part in 2^139 of what alpha makes them; alpha is e^-rate.

    The ratio of two outputs meets each coin twice at most, so all of them are off by less than the slack of one part
    in 2^64 of an epsilon of at least 1e-6.
    """
    assert noise.rate * noise.steps == noise.epsilon.value * (1 - Fraction(1, 1 << 64))
    grown = [_middle(noise.rate * (1 << place)) for place in range(len(noise.digits) + 1)]
    ideal = {(grown[0] - 1) / (grown[0] + 1): noise.zero, 1 / grown[-1]: noise.beyond}
    ideal |= {1 / (1 + each): digit for each, digit in zip(grown, noise.digits, strict=False)}
    assert len(ideal) == len(noise.digits) + 2
    for chance, coin in ideal.items():
        actual = Fraction(coin.threshold, FINE)
        assert abs(actual / chance - 1) < Fraction(1, 1 << 139)
        assert abs((1 - actual) / (1 - chance) - 1) < Fraction(1, 1 << 139)


@EACH
def test_the_noise_has_the_moments_of_the_closed_form(noise: Laplace) -> None:
    """P(0) is (1 - alpha) / (1 + alpha), the variance 2 alpha / (1 - alpha)^2, to one part in 2^100.

    The variance of the coins is exact: |D| is 1 + G + 2^L B, with independent digits in G and a geometric B.
    """
    zero, beyond = (Fraction(coin.threshold, FINE) for coin in (noise.zero, noise.beyond))
    heads = [Fraction(coin.threshold, FINE) for coin in noise.digits]
    block = 1 << len(heads)
    mean = 1 + sum(head * (1 << place) for place, head in enumerate(heads)) + block * beyond / (1 - beyond)
    spread = sum(head * (1 - head) * (1 << 2 * place) for place, head in enumerate(heads))
    spread += block**2 * beyond / (1 - beyond) ** 2
    exact = (1 - zero) * (spread + mean**2)
    alpha = 1 / _middle(noise.rate)
    assert abs(zero / ((1 - alpha) / (1 + alpha)) - 1) < Fraction(1, 1 << 100)
    assert abs(exact / (2 * alpha / (1 - alpha) ** 2) - 1) < Fraction(1, 1 << 100)
    assert noise.variance == pytest.approx(float(exact), rel=1e-13)
    assert noise.alpha == pytest.approx(float(alpha), rel=1e-15)


@EACH
def test_the_listed_noise_adds_up_and_is_the_same_on_both_sides(noise: Laplace) -> None:
    """All chances add up to exactly 1; D and -D are equally likely; `noise` and `tail` agree with the list."""
    stated = Shifted(noise)
    assert stated.totals() == {stated.whole}
    assert stated.noise == stated.noise[::-1]
    for size in {0, 1, 2, stated.size // 3, noise.steps}:
        assert noise.noise(size) == noise.noise(-size) == Fraction(stated.noise[stated.size + size], stated.noises)
    if stated.size < 5000:
        assert noise.tail(noise.steps) == Fraction(stated.above(noise.steps), stated.noises)


@EACH
def test_levels_have_the_mean_and_the_variance_of_unbounded_noise(noise: Laplace) -> None:
    """Exactly, at both ends of the range, in the middle and beside an end, but for what thresholds round: 2^-50.

    No number of reports shows the ends: neither in a mean nor in a spread.
    """
    stated = Shifted(noise)
    grown = _middle(noise.rate)
    variance = 2 * grown / (grown - 1) ** 2
    for value in {0, 1, noise.steps // 2, noise.steps}:
        off = [stated.level(payload) - value for payload in noise.payloads()]
        cells = [stated.cell(payload, value) for payload in noise.payloads()]
        first, second = (Fraction(sum(each**p * cell for each, cell in zip(off, cells, strict=True)), stated.whole)
                         for p in (1, 2))  # fmt: skip
        assert abs(first) < Fraction(1, 1 << 50) * (1 + noise.reach)
        assert abs(second - variance) < Fraction(1, 1 << 50) * (1 + noise.reach) ** 2


@EACH
def test_levels_are_no_farther_than_they_have_to_be(noise: Laplace) -> None:
    """2c + 1 steps beyond an end, rounded up, where c is the mean overshoot: two scales, not forty."""
    mean = 1 / (_middle(noise.rate) - 1)
    assert 2 * mean < noise.far <= 2 * mean + 1 < noise.reach <= 2 * mean + 2
    stated = Shifted(noise)
    assert [noise.level(payload) for payload in noise.payloads()] == [*map(stated.level, noise.payloads())]


def test_the_outputs_reach_as_far_below_the_grid_as_above_it() -> None:
    """Payload 0 stands for `lowest`, the last payload for as much beyond the other end."""
    noise = Laplace(Epsilon.of(1), 10)
    last = noise.shape.size - 1
    assert (noise.level(0), noise.level(last)) == (noise.lowest, noise.steps - noise.lowest)
    assert noise.lowest == -noise.reach


Toss = tuple[FineCoin | None, bool]
"""A coin and whether it is to show heads; None is the sign, minus for heads."""


def _feed(tosses: list[Toss]) -> None:
    """Puts words into the buffer that make each coin fall as asked."""
    words = [coin.upper + (1 - 2 * heads) if coin else int(heads) for coin, heads in tosses]
    randomness._buffer[:] = words[::-1]


@pytest.mark.parametrize("g", [0, 1, 2, 5, 77, 255, 256, 1000])
@pytest.mark.parametrize(("minus", "nothing"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("out", [0, 1, 2])
def test_the_coins_say_the_noise(g: int, minus: bool, nothing: bool, out: int) -> None:
    """Digits, 2^L more while heads, a sign, the coin for no noise: the output is the value plus that.

    Beyond an end a last word says which level it is.
    """
    noise = Laplace(Epsilon.of(1), 5)
    tosses: list[Toss] = [(coin, g >> place & 1 == 1) for place, coin in enumerate(noise.digits)]
    tosses += [(noise.beyond, True)] * (g >> len(noise.digits))
    tosses += [(noise.beyond, False), (None, minus), (noise.zero, nothing)]
    added = 0 if nothing else -(g + 1) if minus else g + 1
    try:
        for value in range(6):
            _feed(tosses)
            randomness._buffer.insert(0, (noise.away, noise.away - 1, noise.farther - 1)[out])
            more = (0, noise.far, noise.far + 1)[out]
            noisy = value + added
            level = -more if noisy <= 0 else 5 + more if noisy >= 5 else noisy
            assert noise.level(noise.randomize(value)) == level
            assert not randomness._buffer, "every coin is tossed whatever the others show"
    finally:
        randomness._buffer.clear()


def test_hiding_one_event_takes_the_noise_of_one_step() -> None:
    """With sensitivity 1 the scale does not grow with the range, and neither does the claim beyond one step."""
    event, range_ = Laplace(Epsilon.of(1), 100, 1), Laplace(Epsilon.of(1), 1)
    assert event.rate == range_.rate
    assert event.variance == range_.variance == pytest.approx(0.5 / math.sinh(0.5) ** 2)
    far = Shifted(Laplace(Epsilon.of(1), 100, 1))
    payload = 52
    assert far.cell(payload, 50) > 3 * far.cell(payload, 48) > 3 * 3 * far.cell(payload, 45)


@pytest.mark.parametrize(("steps", "sensitivity"), [(0, 0), (-1, 0), (5, 6), (5, -1)])
def test_a_sensitivity_lies_within_the_range(steps: int, sensitivity: int) -> None:
    """No steps, and more to hide than there are, make no noise."""
    with pytest.raises(ValueError, match="sensitivity lies between 1 and"):
        Laplace(Epsilon.of(1), steps, sensitivity)


def test_noise_that_does_not_fit_says_what_to_do() -> None:
    """Where 32 bits can not hold the output, the error names the steps and the epsilon."""
    with pytest.raises(ValueError, match=r"noise over 1048576 steps at epsilon 0\.0001 does not fit .* larger step"):
        Laplace(Epsilon.of(Fraction(1, 10_000)), 1 << 20)


def _middle(exponent: Fraction) -> Fraction:
    low, high = exp_between(exponent)
    return (low + high) / 2
