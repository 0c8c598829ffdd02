"""Whether a device has answered: what its secret is worth, and what dummies are."""

from __future__ import annotations

import math

import pytest

from deniable.epsilon import Epsilon
from deniable.mechanisms import Exponential, Laplace, RandomizedResponse, SubsetSelection
from deniable_aggregator.accounting import Spent, dummied, sampled
from support.cases import ONE


def test_secret_participation_of_one_in_ten() -> None:
    """Golden: .158565 at epsilon 1; at epsilon 3 it is 1.067656, more than twice the share times epsilon."""
    assert sampled(Spent(1.0), 0.1).epsilon == pytest.approx(0.158565, abs=5e-7)
    assert sampled(Spent(3.0, 1e-5), 0.1) == pytest.approx((1.067656, 1e-6), abs=5e-7)
    assert sampled(Spent(3.0), 0.1).epsilon > 2 * 0.1 * 3


def test_a_dummy_is_better_than_silence() -> None:
    """Golden: .092489, where those who do not take part send what a fair coin says."""
    assert dummied(RandomizedResponse(ONE, 2), 0.1) == pytest.approx(0.092489, abs=5e-7)


def test_the_survey_with_two_coins_is_the_truth_with_dummies() -> None:
    """Half take part and tell nearly the truth, half send a fair coin: ln 3."""
    assert dummied(RandomizedResponse(Epsilon.of(30), 2), 0.5) == pytest.approx(math.log(3), abs=1e-9)


@pytest.mark.parametrize(
    "mechanism", [SubsetSelection(ONE, 6, 2), RandomizedResponse(ONE, 5), Laplace(ONE, 4), Exponential(ONE, 5)]
)
def test_dummies_are_computed_from_the_channel(mechanism: RandomizedResponse) -> None:
    """By definition: the worst ratio of the mixed channel, over all payloads and pairs of answers."""
    rows = [[float(chance) for chance in row.values()] for row in mechanism.channel()]
    for share in (0.0, 0.1, 0.5, 1.0):
        even = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        mixed = [[share * a + (1 - share) * d for a, d in zip(row, even, strict=True)] for row in rows]
        worst = max(math.log(max(column) / min(column)) for column in zip(*mixed, strict=True))
        assert dummied(mechanism, share) == pytest.approx(worst, abs=1e-12)
        assert worst <= sampled(Spent(1.0), share).epsilon + 1e-12


def test_a_share_is_one() -> None:
    """Between 0, where nothing is told, and 1, where all is."""
    assert sampled(Spent(1.0, 1e-6), 0.0) == Spent(0.0, 0.0)
    assert sampled(Spent(1.0, 1e-6), 1.0) == pytest.approx((1.0, 1e-6))
    with pytest.raises(ValueError, match="a share"):
        sampled(Spent(1.0), 1.1)
