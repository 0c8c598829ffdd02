"""The lecture on secret participation: what it is worth, where the printed bound fails, and what can be seen."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from examples.lectures.sampling import fails_from, seen, steps, survey

from deniable import Epsilon
from deniable.mechanisms import RandomizedResponse, SubsetSelection
from deniable_aggregator.accounting import Spent, dummied, sampled


def test_one_in_ten() -> None:
    """Golden: .158565 at epsilon 1, .092489 with dummies; at epsilon 3 it is 1.067656, above 2 p epsilon = .6."""
    assert sampled(Spent(1.0), 0.1).epsilon == pytest.approx(0.158565, abs=5e-7)
    assert dummied(RandomizedResponse(Epsilon.of(1), 2), 0.1) == pytest.approx(0.092489, abs=5e-7)
    assert 0.6 < sampled(Spent(3.0), 0.1).epsilon == pytest.approx(1.067656, abs=5e-7)


def test_where_twice_p_epsilon_fails() -> None:
    """1.256 for every p, 1.509 at a tenth, never from a half on; just below it holds, just above it does not."""
    assert fails_from(0.0) == pytest.approx(1.2564, abs=5e-5)
    assert fails_from(0.1) == pytest.approx(1.509, abs=5e-4)
    assert fails_from(0.5) == math.inf
    for share in (0.02, 0.1, 0.4):
        place = fails_from(share)
        assert place > fails_from(0.0)
        assert sampled(Spent(place - 0.01), share).epsilon < 2 * share * (place - 0.01)
        assert sampled(Spent(place + 0.01), share).epsilon > 2 * share * (place + 0.01)


@pytest.mark.parametrize("mechanism", [RandomizedResponse(Epsilon.of(2), 2), SubsetSelection(Epsilon.of(1), 6, 2)])
def test_who_is_seen_taking_part_tells_all_of_epsilon(mechanism: RandomizedResponse) -> None:
    """However few take part: sampling that is seen is worth nothing. With dummies nothing is seen."""
    assert seen(mechanism, Fraction(1, 100)) == pytest.approx(float(mechanism.epsilon), abs=1e-9)
    assert dummied(mechanism, 0.01) < 0.1


def test_the_survey_with_two_coins_is_half_truth_half_dummies() -> None:
    """ln 3."""
    assert survey() == pytest.approx(math.log(3), abs=1e-12)


def test_steps_add_up_to_more_than_is_printed() -> None:
    """17.04 and not 10, of a hundredth, a thousand times, at epsilon 1."""
    printed, added, curve = steps(0.01, 1_000, 1.0)
    assert printed == pytest.approx(10)
    assert added == pytest.approx(17.04, abs=5e-3)
    assert 0.01 * math.sqrt(1_000) < curve < printed
