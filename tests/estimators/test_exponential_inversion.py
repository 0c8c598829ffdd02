"""Ordinals, the aggregator's half: the inverted channel is unbiased, its errors are as stated, its intervals hold.

Populations are drawn with numpy from the mechanism's exact channel, as many as it takes to tell the coverage that is
promised (93.5% for the worst row) from less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, count

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.epsilon import Epsilon
from deniable.mechanisms import Exponential, RandomizedResponse
from deniable_aggregator.estimators import Ranks, Target, ranks
from deniable_aggregator.estimators.exponential import Places
from support.sequential import Claim, refuted

BLOCK = 100
"""So many populations are drawn at once."""
Floats = NDArray[np.float64]


def exact(mechanism: Exponential | RandomizedResponse) -> Floats:
    """The channel as the client has it, a row an input."""
    return np.array([[float(chance) for chance in row.values()] for row in mechanism.channel()])


def population(shape: str, places: int) -> Floats:
    """The shares of all places."""
    weights = {
        "uniform": np.ones(places),
        "at the end": np.eye(places)[0],
        "skewed": np.append(0.6 ** np.arange(places - 1), 0),
    }[shape]
    return np.array(weights / weights.sum(), np.float64)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("places", [2, 3, 10, 60])
def test_the_estimate_is_unbiased_exactly(places: int, epsilon: float) -> None:
    """What a report is worth, on average over the client's channel, is 1 for its own place and 0 for every other."""
    mechanism = Exponential(Epsilon.of(epsilon), places)
    worth = np.array([ranks(mechanism, report).shares.values for report in np.eye(places, dtype=np.int64)])
    np.testing.assert_allclose(exact(mechanism) @ worth, np.eye(places), atol=1e-7)


@pytest.mark.parametrize("kind", [Exponential, RandomizedResponse])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
def test_the_mean_rank_is_unbiased_exactly(kind: type[Exponential | RandomizedResponse], epsilon: float) -> None:
    """One report's guess, on average over the client's channel, is its rank, by either mechanism."""
    mechanism = kind(Epsilon.of(epsilon), 7)
    guesses = [ranks(mechanism, report).mean(0.95, Target.POPULATION)[0] for report in np.eye(7, dtype=np.int64)]
    np.testing.assert_allclose(exact(mechanism) @ guesses, np.arange(1, 8), rtol=1e-9)


@pytest.mark.parametrize("target", list(Target))
def test_standard_errors_are_those_of_the_channel(target: Target) -> None:
    """With a million reports in the expected proportions, shares and mean have the exact standard error."""
    mechanism, shares, n = Exponential(Epsilon.of(2.0), 6), population("skewed", 6), 10**6
    channel = exact(mechanism)
    worth = np.linalg.inv(channel)
    rank = np.arange(1, 7)
    values = np.column_stack([worth, worth @ rank])
    second = shares @ channel @ values**2
    known = np.column_stack([np.eye(6), rank])
    given = shares @ known**2 if target is Target.REPORTING else (shares @ known) ** 2
    expected = np.sqrt((second - given) / n)
    found = ranks(mechanism, np.rint(n * shares @ channel).astype(np.int64))
    np.testing.assert_allclose(found.shares.std_errors(target), expected[:6], rtol=1e-3)
    assert found.mean(0.95, target)[1] == pytest.approx(expected[6], rel=1e-3)


def counted(
    mechanism: Exponential, shares: Floats, n: int, target: Target
) -> tuple[Iterator[NDArray[np.int64]], Floats]:
    """The counters of populations of n devices, a hundred at a time, and the shares that the intervals are about."""
    generator, channel = np.random.default_rng(7), exact(mechanism)
    if target is Target.POPULATION:
        return (generator.multinomial(n, shares @ channel, BLOCK) for _ in count()), shares
    devices = np.floor(n * shares).astype(np.int64)
    devices[0] += n - devices.sum()

    def given() -> NDArray[np.int64]:
        named = sum(generator.multinomial(own, row, BLOCK) for own, row in zip(devices, channel, strict=True))
        return np.asarray(named, np.int64)

    return (given() for _ in count()), devices / n


@pytest.mark.parametrize("target", list(Target))
@pytest.mark.parametrize("reports", [100, 1000])
@pytest.mark.parametrize(("places", "epsilon"), [(3, 1.0), (5, 0.5), (5, 2.0), (5, 6.0), (30, 1.0)])
def test_intervals_of_shares_cover(places: int, epsilon: float, reports: int, target: Target) -> None:
    """Uniform and skewed populations with zeros, and all devices in one place: every row covers 93.5%.

    False alarms of all rows together have a probability of 10^-6; 91.5% is found in 999 of 1,000 cases.
    """
    mechanism = Exponential(Epsilon.of(epsilon), places)

    def held(named: Iterator[NDArray[np.int64]], shares: Floats) -> Iterator[NDArray[np.bool_]]:
        for own in named:
            low, high = Places(reports, own, float(mechanism.decay)).intervals(0.95, target)
            yield from (low <= shares + 1e-9) & (shares - 1e-9 <= high)

    for shape in ("uniform", "skewed", "at the end"):
        named, shares = counted(mechanism, population(shape, places), reports, target)
        assert not refuted(held(named, shares), Claim(0.935, 0.915, 1e-6 / 552)), shape


@pytest.mark.parametrize(("places", "epsilon"), [(3, 1.0), (5, 2.0)])
def test_intervals_are_hardly_wider_than_they_must_be(places: int, epsilon: float) -> None:
    """From 1,000 reports on, at most 1.05 times the width that the known variance makes, where no end is cut off."""
    mechanism, shares, n = Exponential(Epsilon.of(epsilon), places), population("uniform", places), 10_000
    channel = exact(mechanism)
    worth = np.linalg.inv(channel)
    ideal = 2 * 1.95996 * np.sqrt((shares @ channel @ worth**2 - shares**2) / n)
    fleets, _ = counted(mechanism, shares, n, Target.POPULATION)
    low, high = Places(n, next(fleets), float(mechanism.decay)).intervals(0.95, Target.POPULATION)
    assert (((high - low).mean(axis=0) / ideal) <= 1.05).all()


@pytest.mark.parametrize("target", list(Target))
@pytest.mark.parametrize("reports", [100, 1000])
@pytest.mark.parametrize(("places", "epsilon"), [(5, 2.0), (30, 1.0)])
def test_intervals_of_the_mean_rank_cover(places: int, epsilon: float, reports: int, target: Target) -> None:
    """Uniform and skewed populations: at least 93.5%. False alarms and power are those of the test above."""
    mechanism = Exponential(Epsilon.of(epsilon), places)
    channel = exact(mechanism)

    def held(named: Iterator[NDArray[np.int64]], true: float) -> Iterator[tuple[bool]]:
        for own in chain.from_iterable(named):
            found = Ranks(own, channel, Places(reports, own, float(mechanism.decay))).mean(0.95, target)
            yield (found[2] <= true <= found[3],)

    for shape in ("uniform", "skewed"):
        named, shares = counted(mechanism, population(shape, places), reports, target)
        true = float(shares @ np.arange(1, places + 1))
        assert not refuted(held(named, true), Claim(0.935, 0.915, 1e-6 / 552)), shape


def test_few_reports_leave_wide_intervals() -> None:
    """One, two or five reports that all say the same: no interval is shorter than the noise allows, and the mean of
    one report is not known at all."""
    mechanism = Exponential(Epsilon.of(1.0), 5)
    for n in (1, 2, 5):
        named = np.array([0, 0, n, 0, 0])
        found = ranks(mechanism, named)
        low, high = found.shares.intervals(0.95, Target.POPULATION)
        assert (high - low > 0.5).all(), (n, low, high)
        _, _, least, most = found.mean(0.95, Target.POPULATION)
        assert most - least > 3
    assert ranks(mechanism, np.array([0, 1, 0, 0, 0])).mean(0.95, Target.POPULATION)[2:] == (1.0, 5.0)


def test_nothing_is_estimated_from_nothing() -> None:
    """Without reports every share is anything, and so is the mean."""
    for mechanism in (Exponential(Epsilon.of(1.0), 3), RandomizedResponse(Epsilon.of(1.0), 3)):
        found = ranks(mechanism, np.zeros(3, np.int64))
        for target in Target:
            assert np.isnan(found.shares.values).all()
            assert np.isnan(found.shares.std_errors(target)).all()
            low, high = found.shares.intervals(0.95, target)
            assert (low.tolist(), high.tolist()) == ([0.0] * 3, [1.0] * 3)
            value, error, least, most = found.mean(0.95, target)
            assert math.isnan(value)
            assert math.isnan(error)
            assert (least, most) == (1.0, 3.0)
