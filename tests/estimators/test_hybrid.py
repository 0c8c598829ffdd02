"""Means and deviations from what levels add up to: exact on exact counters, with the noise that there is."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from deniable.epsilon import Epsilon
from deniable.mechanisms import Hybrid, Laplace, Mechanism, Memoized, RandomizedResponse
from deniable_aggregator import Target
from deniable_aggregator.estimators import Means, OneBit, frequencies, means

ONE, FOUR = Epsilon.of(1), Epsilon.of(4)
MECHANISMS = [Hybrid.best(ONE), Hybrid.best(FOUR), Laplace(FOUR, 6)]
LARGE = 10**12


def levels(mechanism: Mechanism) -> list[int]:
    """What payloads count as."""
    if isinstance(mechanism, Hybrid):
        return list(mechanism.levels)
    assert isinstance(mechanism, Laplace)
    return [mechanism.level(payload) - mechanism.lowest for payload in mechanism.payloads()]


def counted(mechanism: Mechanism, counts: list[int]) -> NDArray[np.int64]:
    """The counters when each payload was sent so often."""
    if isinstance(mechanism, Hybrid):
        return np.array(counts)
    at = levels(mechanism)
    total, squares = (sum(n * y**power for y, n in zip(at, counts, strict=True)) for power in (1, 2))
    return np.array([sum(counts), total, squares & 0xFFFFFFFF, squares >> 32])


def places(mechanism: Mechanism) -> list[float]:
    """Where on the range each input lies."""
    if isinstance(mechanism, Hybrid):
        return [float(place) for place in mechanism.places]
    return [value / (mechanism.inputs - 1) for value in range(mechanism.inputs)]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: f"{each.name}-{each.inputs}")
def test_counters_in_exact_proportion_give_the_exact_answer(mechanism: Mechanism) -> None:
    """10^12 reports as the channel shares them out: the mean and the deviation of three populations."""
    last = mechanism.inputs - 1
    points = places(mechanism)
    for population in ({0: 1}, {0: 3, last: 1}, {1: 1, last // 2: 1, last: 2}):
        whole = sum(population.values())
        chances = [
            sum(weight * mechanism.probability(payload, value) for value, weight in population.items()) / whole
            for payload in mechanism.payloads()
        ]
        found = means(mechanism, counted(mechanism, [round(chance * LARGE) for chance in chances]))
        assert isinstance(found, Means)
        mean = sum(points[value] * weight for value, weight in population.items()) / whole
        spread = sum((points[value] - mean) ** 2 * weight for value, weight in population.items()) / whole
        value, error, low, high = found.estimate(0.95, Target.POPULATION)
        assert value == pytest.approx(mean, abs=1e-9)
        assert low < mean < high
        assert error < 1e-5
        deviation, _, low, high = found.deviation(0.95, Target.POPULATION)
        assert deviation**2 == pytest.approx(spread, abs=2e-6)
        assert low <= math.sqrt(spread) + 1e-9 <= high + 2e-9


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: f"{each.name}-{each.inputs}")
def test_the_noise_is_what_is_known_of_it(mechanism: Mechanism) -> None:
    """Against the exact channel, at every input and at nine points between any two: no moment exceeds its bound."""
    found = means(mechanism, np.zeros(mechanism.shape.counters, dtype=np.int64))
    assert isinstance(found, Means)
    size = np.array(levels(mechanism), dtype=np.float64)
    rows = np.array([[float(chance) for chance in row.values()] for row in mechanism.channel()])
    moments: dict[int, list[float]] = {2: [], 3: [], 4: []}
    squares: list[float] = []
    for row, following in pairwise(rows):
        for part in np.linspace(0, 1, 11):
            chances = row + part * (following - row)
            around = size - chances @ size
            for power, own in moments.items():
                own.append(abs(float(chances @ around**power)))
            squares.append(float(chances @ around**4 - (chances @ around**2) ** 2))
    noise = found.noise
    assert noise.least == pytest.approx(min(moments[2]), rel=1e-9)
    assert max(moments[2]) == pytest.approx(noise.most, rel=1e-5)
    assert max(moments[3]) <= noise.third * (1 + 1e-9) + 1e-9
    assert max(moments[4]) <= noise.fourth * (1 + 1e-9)
    # What Laplace noise sends in the place of an overshoot varies less in its fourth power than unbounded noise does.
    assert max(moments[4]) >= (0.99 if isinstance(mechanism, Hybrid) else 0.8) * noise.fourth
    assert (
        noise.square * (1 - 1e-9) <= min(squares) <= (1.001 if isinstance(mechanism, Hybrid) else 1.1) * noise.square
    )
    ends = rows[[0, -1]] @ size
    assert (found.origin, found.span) == pytest.approx((ends[0], ends[1] - ends[0]), rel=1e-12)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 1)), min_size=2, max_size=8))
def test_the_fourth_moment_of_shares_is_bounded_by_their_spread(shares: list[tuple[float, float]]) -> None:
    """E(x - m)^4 <= v (1 - 3 v) for whatever lies within 0 and 1, with equality where all lie at the ends."""
    values, weights = (np.array(each) for each in zip(*shares, strict=True))
    weights = weights / weights.sum()

    def moments(values: NDArray[np.float64]) -> tuple[float, float]:
        around = values - weights @ values
        return float(weights @ around**2), float(weights @ around**4)

    spread, fourth = moments(values)
    assert fourth <= spread * (1 - 3 * spread) + 1e-12
    spread, fourth = moments(np.round(values))
    assert fourth == pytest.approx(spread * (1 - 3 * spread), abs=1e-12)


@pytest.mark.parametrize("permanent", [True, False])
def test_one_bit_is_the_share_of_the_upper_end(permanent: bool) -> None:
    """Sent plainly or over a remembered one; for given devices it is as uncertain as for a population."""
    mechanism: Mechanism = RandomizedResponse(FOUR, 2)
    if permanent:
        mechanism = Memoized(RandomizedResponse(FOUR, 2), RandomizedResponse(ONE, 2))
    counters = np.array([700, 300])
    found, shares = means(mechanism, counters), frequencies(mechanism, counters)
    assert isinstance(found, OneBit)
    lows, highs = shares.intervals(0.9, Target.POPULATION)
    expected = (shares.values[1], shares.std_errors(Target.POPULATION)[1], lows[1], highs[1])
    for target in Target:
        assert found.estimate(0.9, target) == pytest.approx(expected, rel=1e-12)


def test_one_bit_of_given_devices_covers() -> None:
    """Devices halfway between the ends, all alike: then a bit of each is as uncertain as a bit can be."""
    mechanism = RandomizedResponse(ONE, 2)
    reports, runs = 200, 4000
    sent = np.random.default_rng(3).binomial(reports, 0.5, runs)
    held = 0
    for ones in sent.tolist():
        _, _, low, high = means(mechanism, np.array([reports - ones, ones])).estimate(0.95, Target.REPORTING)
        held += low <= 0.5 <= high
    # True coverage: 94.4% to 96%. Four standard errors below 94% and above 96.5%: a false alarm in a million.
    assert 0.94 - 5 * 0.0037 < held / runs < 0.965 + 5 * 0.003


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: f"{each.name}-{each.inputs}")
def test_little_is_known_from_few_reports(mechanism: Mechanism) -> None:
    """From none nothing, from one no interval, from two or three a wide one; a deviation is within 0 and 1/2."""
    size = mechanism.shape.size
    for count in range(4):
        found = means(mechanism, counted(mechanism, [count if y == size // 2 else 0 for y in range(size)]))
        assert isinstance(found, Means)
        value, error, low, high = found.estimate(0.95, Target.POPULATION)
        assert (low, high) == (-math.inf, math.inf) if count < 2 else high - low > 0.5
        assert math.isnan(value) == math.isnan(error) == (count == 0)
        deviation, _, low, high = found.deviation(0.95, Target.POPULATION)
        assert math.isnan(deviation) == (count < 2)
        assert 0 <= low <= high <= 0.5
        assert (low, high) == (0.0, 0.5) or count == 3


def test_a_skewed_sample_moves_the_interval() -> None:
    """To the side of the longer tail, by the same amount at both ends; a symmetric one leaves it where it is."""
    mechanism = Hybrid.best(FOUR)
    outputs = mechanism.shape.size
    skewed = [90 if y == 0 else 10 if y == outputs - 1 else 0 for y in range(outputs)]
    symmetric = [50 if y in {0, outputs - 1} else 0 for y in range(outputs)]
    for counts, moved in ((skewed, 1), (skewed[::-1], -1), (symmetric, 0)):
        value, _, low, high = means(mechanism, np.array(counts)).estimate(0.95, Target.POPULATION)
        assert low < value < high
        shift = (low + high) / 2 - value
        assert shift == pytest.approx(0, abs=1e-12) if moved == 0 else shift * moved > 0.005


def test_the_noise_of_a_mechanism_is_computed_once() -> None:
    """The channel at epsilon 8 has 18,602 cells; a second estimate does not walk them again."""
    mechanism = Hybrid.best(Epsilon.of(Fraction(8)))
    counters = np.ones(mechanism.shape.counters, dtype=np.int64)
    first, second = (means(mechanism, counters) for _ in range(2))
    assert isinstance(first, Means)
    assert isinstance(second, Means)
    assert first.noise is second.noise
