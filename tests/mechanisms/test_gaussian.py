"""Gaussian noise: what it is calibrated to, what is really drawn, and that both are (epsilon, delta)-private.

The distribution is checked against arithmetic that shares nothing with the code: scipy's normal distribution for the
calibration, sums of rationals for one step, a convolution in floating point for the whole noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable import randomness
from deniable.epsilon import Epsilon
from deniable.mechanisms import Gaussian
from deniable.mechanisms._calibration import deviation, exposure
from deniable.mechanisms._entries import pack, unpack
from deniable.payload import Integers
from privacy.bounds import exp_between

ONE = Epsilon.of(1.0)
DELTA = Fraction(1, 100_000)


def exposed(epsilon: float, spread: float) -> float:
    """Balle and Wang's formula, by scipy."""
    middle, half = epsilon * spread, 1 / (2 * spread)
    return float(stats.norm.sf(middle - half) - math.exp(epsilon) * stats.norm.sf(middle + half))


def classical(epsilon: float, delta: float) -> float:
    """The textbook's deviation."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def noise(mechanism: Gaussian) -> NDArray[np.float64]:
    """P(noise = x) for x from one end to the other: a convolution of the steps, each 4 times as far as the last."""
    sums = [0, *mechanism.cumulative]
    step = np.array([float(Fraction(after - before, 1 << 128)) for before, after in pairwise(sums)])

    def apart(level: int) -> NDArray[np.float64]:
        spaced = np.zeros((len(step) - 1) * 4**level + 1)
        spaced[:: 4**level] = step
        return spaced

    convolved: NDArray[np.float64] = reduce(np.convolve, [apart(level) for level in range(mechanism.levels)])
    return convolved


def delta_of(chances: NDArray[np.float64], shift: Sequence[int], epsilon: float) -> float:
    """The sum over all outputs of what P(out | a) exceeds e^eps P(out | b) by, where b - a is the shift."""
    here, there = np.ones(()), np.ones(())
    for far in shift:
        here = np.multiply.outer(here, np.pad(chances, (0, abs(far))))
        there = np.multiply.outer(there, np.pad(chances, (abs(far), 0)))
    return float(np.maximum(here - math.exp(epsilon) * there, 0).sum())


def test_golden_deviations() -> None:
    """Lectures, part F, 10: epsilon 1, delta 1e-5, sensitivity 1: the classical 4.844805 holds, and is larger than
    needed; 3.425795, from a formula that lacks the 2, exposes 3.736e-5; at epsilon 10 the classical one fails."""
    assert classical(1, 1e-5) == pytest.approx(4.844805, abs=1e-6)
    assert exposure(ONE.exp, Fraction(4844805, 10**6)) <= DELTA
    assert float(exposure(ONE.exp, Fraction(3425795, 10**6))) == pytest.approx(3.736e-5, rel=1e-4)
    assert exposure(ONE.exp, Fraction(3425795, 10**6)) > DELTA
    needed = deviation(ONE.exp, DELTA)
    assert float(needed) == pytest.approx(3.730632, abs=1e-6)
    assert exposure(ONE.exp, needed) <= DELTA
    assert float(exposure(Epsilon.of(10.0).exp, Fraction(classical(10, 1e-5)))) == pytest.approx(2.27e-5, abs=5e-8)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.0, 10.0, 32.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_the_deviation_is_the_least_that_holds(epsilon: float, delta: float) -> None:
    """By scipy it exposes delta, and one step of 2^-24 less exposes more."""
    ratio = Epsilon.of(epsilon).exp
    needed = deviation(ratio, Fraction(delta))
    assert exposed(epsilon, float(needed)) <= delta * (1 + 1e-6)
    assert exposure(ratio, needed) <= delta < exposure(ratio, needed - Fraction(1, 1 << 24))
    assert exposed(epsilon, float(needed) * 0.999) > delta


@pytest.mark.parametrize("spread", [0.06, 0.3, 1.0, 4.0, 100.0])
def test_the_exposure_is_balle_and_wangs(spread: float) -> None:
    """It agrees with scipy wherever floating point has digits left."""
    for epsilon in (0.01, 1.0, 8.0):
        expected = exposed(epsilon, spread)
        assert float(exposure(Epsilon.of(epsilon).exp, Fraction(spread))) == pytest.approx(
            expected, rel=1e-6, abs=1e-14
        )


@pytest.mark.parametrize(("bound", "delta"), [(1, "1e-5"), (30, "1e-5"), (4096, "1e-9")])
def test_a_step_is_a_discrete_gaussian_as_closely_as_stated(bound: int, delta: str) -> None:
    """The total variation between the table and D(s), in rationals, is at most the table's length over 2^128."""
    mechanism = Gaussian(ONE, Fraction(delta), 1, bound)
    rate = Fraction(16**mechanism.levels - 1, 30 * mechanism.spread)  # 1 / (2 s^2)
    reach = mechanism.reach
    weights = [int((1 << 400) / exp_between(rate * k * k)[0]) for k in range(reach + 1)]
    beyond = weights[reach] * sum(1 / exp_between(rate * reach * k)[0] for k in range(1, 40))
    whole = 2 * sum(weights) - weights[0]
    sums = [0, *mechanism.cumulative]
    apart = sum(
        abs((sums[k + reach + 1] - sums[k + reach]) * whole - (weights[abs(k)] << 128))
        for k in range(-reach, reach + 1)
    )
    assert sums[-1] == 1 << 128
    # Total variation is half of all differences, in units of whole * 2^128.
    assert apart + 2 * math.ceil(beyond) * (1 << 128) <= 2 * len(mechanism.cumulative) * whole


@pytest.mark.parametrize("bound", [1, 20, 300])
def test_the_ladder_is_one_discrete_gaussian(bound: int) -> None:
    """Of several steps too: exact probabilities, anywhere within four deviations, are in the proportions of
    e^(-x^2 / (2 sigma^2)), to one part in 10^30."""
    mechanism = Gaussian(ONE, DELTA, 1, bound)
    deviations = math.isqrt(mechanism.spread)
    middle = mechanism.noise(0)
    for x in (1, -1, 2, -3, deviations, -2 * deviations - 1, 4 * deviations + 3, -4 * deviations):
        expected = middle / exp_between(Fraction(x * x, 2 * mechanism.spread))[0]
        assert abs(mechanism.noise(x) / expected - 1) < Fraction(1, 10**30)


@pytest.mark.parametrize(("epsilon", "delta", "bound"), [(1.0, 1e-5, 40), (0.2, 1e-3, 10), (6.0, 1e-6, 100)])
def test_the_noise_is_private_and_not_more_than_needed(epsilon: float, delta: float, bound: int) -> None:
    """The exact delta of what is drawn, for one entry at its two ends, is at most the claimed one and at least 0.98
    of it; noise for an epsilon that is 5% larger fails, so the check can."""
    claimed = Epsilon.of(epsilon)
    chances = noise(Gaussian(claimed, Fraction(delta), 1, bound))
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    assert 0.98 * delta <= delta_of(chances, [2 * bound], epsilon) <= delta
    detuned = noise(Gaussian(Epsilon.of(1.05 * epsilon), Fraction(delta), 1, bound))
    assert delta_of(detuned, [2 * bound], epsilon) > 1.2 * delta


@pytest.mark.parametrize("shift", [(8, 0), (5, 6), (6, 5), (4, 4), (1, 7)])
def test_two_entries_are_as_private_as_one(shift: tuple[int, int]) -> None:
    """Whatever the direction in which two vectors lie apart, 2 bound at most, delta holds over both entries."""
    mechanism = Gaussian(ONE, Fraction(1, 1000), 2, 4)
    assert math.hypot(*shift) <= 2 * mechanism.bound
    assert delta_of(noise(mechanism), shift, 1.0) <= 1 / 1000


def test_probabilities_are_products_of_the_noises() -> None:
    """Of every entry's distance from what was sent."""
    mechanism = Gaussian(ONE, DELTA, 3, 7)
    chance = mechanism.probability(pack([5, -9, 0]), pack([2, -6, 3]))
    assert chance == mechanism.noise(3) * mechanism.noise(-3) * mechanism.noise(-3)
    chances = noise(mechanism)
    assert float(mechanism.noise(3)) == pytest.approx(chances[len(chances) // 2 + 3], rel=1e-12)


def test_randomize_follows_the_channel() -> None:
    """Chi-square over 41 bins of 60,000 entries: false alarm 1e-6; noise that is 5% too small is missed as seldom.

    Two entries of one report are not correlated, within 5 standard errors.
    """
    mechanism = Gaussian(ONE, DELTA, 2, 25)
    chances = noise(mechanism)
    most = len(chances) // 2
    edges = np.linspace(-2.5, 2.5, 40) * mechanism.variance**0.5
    places = np.searchsorted(edges, np.arange(-most, most + 1))
    expected = np.bincount(places, chances)
    drawn = np.array([unpack(mechanism.randomize(pack([3, -20])), 2) for _ in range(30_000)]) - [3, -20]
    seen = np.bincount(np.searchsorted(edges, drawn.ravel()), minlength=len(expected))
    limit = stats.chi2.isf(1e-6, len(expected) - 1)
    assert stats.chisquare(seen, expected * drawn.size).statistic < limit
    narrow = np.bincount(np.searchsorted(edges, np.arange(-most, most + 1) * 0.95), chances, len(expected))
    shift = drawn.size * ((narrow - expected) ** 2 / expected).sum()
    assert stats.ncx2.cdf(limit, len(expected) - 1, shift) < 1e-6
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 5 / math.sqrt(30_000)


def test_the_variance_is_that_of_the_noise() -> None:
    """sigma^2, a whole number, to nine digits."""
    for bound in (1, 20, 60):
        mechanism = Gaussian(ONE, DELTA, 1, bound)
        chances = noise(mechanism)
        sizes = np.arange(len(chances)) - len(chances) // 2
        assert float(chances @ sizes**2) == pytest.approx(mechanism.variance, rel=1e-9)
        assert mechanism.variance**0.5 == pytest.approx(2 * bound * 3.730632, rel=0.05 if bound == 1 else 0.001)


def test_every_vector_takes_equally_many_words() -> None:
    """Two words a step, however long the vector and whatever comes out."""
    mechanism = Gaussian(ONE, DELTA, 3, 1000)
    words = [randomness.word() for _ in range(500)]
    left = set()
    for entries in ([0, 0, 0], [1000, 0, 0], [-577, 577, -577]):
        randomness._buffer[:] = words
        mechanism.randomize(pack(entries))
        left.add(len(randomness._buffer))
    randomness._buffer.clear()
    assert left == {500 - 2 * 3 * mechanism.levels}


def test_payloads_stay_within_the_shape() -> None:
    """Entries are clamped, so that the farthest one can be sent by anybody, and nothing beyond it by any."""
    mechanism = Gaussian(Epsilon.of(8.0), Fraction(1, 100), 1, 1)
    farthest = mechanism.shape.bound
    assert mechanism.shape == Integers(1, farthest, norm=mechanism.norm)
    for entry in (-1, 0, 1):
        assert mechanism.probability(pack([farthest]), pack([entry])) > 0
        assert mechanism.probability(pack([farthest + 1]), pack([entry])) == 0
    payloads = list(mechanism.payloads())
    assert len(payloads) == len(set(payloads)) == 2 * farthest + 1
    assert sum(mechanism.probability(payload, pack([1])) for payload in payloads) == 1


def test_the_parameters_determine_the_noise() -> None:
    """Two mechanisms of equal parameters have equal tables, whatever they claim."""
    one, other = Gaussian(ONE, DELTA, 2, 9), Gaussian(Epsilon.of("ln 2.718281828459045"), DELTA, 2, 9)
    assert one.parameters() == other.parameters()
    assert one.cumulative == other.cumulative


def test_a_vector_that_is_too_long_is_refused() -> None:
    """The noise hides vectors up to the bound: a mistake above can not expose a longer one."""
    mechanism = Gaussian(ONE, DELTA, 2, 5)
    mechanism.randomize(pack([3, 4]))
    with pytest.raises(ValueError, match="l2 norm is at most 5"):
        mechanism.randomize(pack([4, 4]))


@pytest.mark.parametrize(
    ("epsilon", "delta", "dimensions", "bound", "says"),
    [
        (1.0, "0", 1, 1, "delta lies between 0 and 1"),
        (1.0, "1", 1, 1, "delta lies between 0 and 1"),
        (1.0, "1e-5", 0, 1, "1 to 4096 dimensions, not 0"),
        (1.0, "1e-5", 4097, 1, "1 to 4096 dimensions, not 4097"),
        (1.0, "1e-5", 1, 0, "bound is at least 1, not 0"),
        (0.0001, "1e-9", 1, 1 << 18, "does not fit 32 bits"),
        (30.0, "1e-25", 100, 1, "too small for 100 draws"),
    ],
)
def test_noise_that_can_not_be_is_refused(epsilon: float, delta: str, dimensions: int, bound: int, says: str) -> None:
    """In words that say what to change."""
    with pytest.raises(ValueError, match=says):
        Gaussian(Epsilon.of(epsilon), Fraction(delta), dimensions, bound)
