"""Composition: sums, groups, and the exact curve of equal answers."""

from __future__ import annotations

import math
from itertools import product

import pytest

from deniable_aggregator.accounting import Spent, advanced, composed_delta, exposed, group, parallel, sequential


def worst(answer: Spent, answers: int, epsilon: float) -> float:
    """The least delta at an epsilon by definition, for the mechanism that composes worst, report by report.

    It gives its input away with the chance delta, and else answers by randomized response.
    """
    odds = math.exp(answer.epsilon)
    kept = 1 - answer.delta
    rows = (
        (answer.delta, 0.0, kept * odds / (1 + odds), kept / (1 + odds)),
        (0.0, answer.delta, kept / (1 + odds), kept * odds / (1 + odds)),
    )
    one = [math.prod(rows[0][sent] for sent in every) for every in product(range(4), repeat=answers)]
    other = [math.prod(rows[1][sent] for sent in every) for every in product(range(4), repeat=answers)]
    return math.fsum(max(a - math.exp(epsilon) * b, 0.0) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.2])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_curve_is_that_of_the_definition(epsilon: float, delta: float) -> None:
    """Over all sequences of up to five reports, between the epsilons of the theorem as well as at them."""
    for answers in (1, 2, 5):
        for share in (0.0, 0.2, 0.55, 0.9, 1.0):
            told = share * answers * epsilon
            expected = worst(Spent(epsilon, delta), answers, told)
            assert composed_delta(Spent(epsilon, delta), answers, told) == pytest.approx(
                expected, rel=1e-9, abs=1e-15
            )


@pytest.mark.parametrize(("slack", "grid"), [(0.06, 22), (0.1, 20)])
def test_the_curve_has_what_dp_accounting_publishes(slack: float, grid: int) -> None:
    """30 answers at epsilon 1 and delta 0.001, in the tests of google/differential-privacy (`accountant_test.py`).

    There the theorem is asked at every other multiple of epsilon only: the least of these that is enough.
    """
    answer = Spent(1.0, 0.001)
    assert composed_delta(answer, 30, grid) <= slack < composed_delta(answer, 30, grid - 2)
    assert grid - 2 < advanced(answer, 30, slack).epsilon <= grid


@pytest.mark.parametrize(
    ("answer", "answers", "slack", "epsilon"),
    [
        (Spent(1.0, 0.001), 30, 0.06, 21.709612625),
        (Spent(1.0, 0.001), 30, 0.1, 19.817379170),
        (Spent(1.0), 100, 1e-6, 83.530701679),
        (Spent(0.1), 365, 1e-6, 10.313864609),
    ],
)
def test_the_curve_has_what_dp_accounting_computes(answer: Spent, answers: int, slack: float, epsilon: float) -> None:
    """dp-accounting 0.6.0: `from_privacy_parameters`, `self_compose`, `get_epsilon_for_delta`, at steps of 10^-4."""
    assert advanced(answer, answers, slack).epsilon == pytest.approx(epsilon, rel=1e-8)


def test_deltas_that_are_too_large_have_no_epsilon() -> None:
    """As there: 30 answers at a delta of 0.01 are given away with a chance of 0.26 already."""
    with pytest.raises(ValueError, match="more than a slack"):
        advanced(Spent(1.0, 0.01), 30, 0.26)
    assert advanced(Spent(1.0, 0.01), 30, 0.2605).epsilon < 30


def test_no_slack_is_the_sum_and_more_is_less() -> None:
    """A year of answers at epsilon 1: 365, and 245 but for a chance of one in a million."""
    assert advanced(Spent(1.0), 365, 0.0) == Spent(365.0)
    assert advanced(Spent(1.0), 365, 1e-6).epsilon == pytest.approx(244.634, abs=5e-4)
    few = [advanced(Spent(0.1), 365, slack).epsilon for slack in (1e-12, 1e-9, 1e-6, 1e-3)]
    assert few == sorted(few, reverse=True)
    assert few[0] < 36.5


def test_sums_and_the_most_of_any() -> None:
    """Answers about one device add up; of answers by different devices each device has the most."""
    three = [Spent(1.0, 1e-6), Spent(0.5), Spent(2.0, 2e-6)]
    assert sequential(three) == Spent(3.5, 3e-6)
    assert parallel(three) == Spent(2.0, 2e-6)
    assert sequential([]) == parallel([]) == Spent(0.0)


def test_a_group_is_told_as_often_as_it_has_devices() -> None:
    """Golden: k epsilon, and deltas that the steps scale; by definition for two and three devices at a delta."""
    assert group(Spent(1.0), 4) == Spent(4.0)
    assert group(Spent(1.0, 1e-6), 3).delta == pytest.approx(1e-6 * (1 + math.e + math.e**2))
    with pytest.raises(ValueError, match="at least one"):
        group(Spent(1.0), 0)
    answer = Spent(0.3, 0.01)
    for devices in (2, 3):  # each device's answer is another one: as often as the group has devices
        told = group(answer, devices)
        assert worst(answer, devices, told.epsilon) <= told.delta


def test_a_delta_is_an_expected_number_of_people() -> None:
    """Golden: name-and-shame at a delta of 10^-6 and a million devices."""
    found = exposed(1e-6, 10**6)
    assert found.expected == pytest.approx(1.0)
    assert found.chance == pytest.approx(0.632121, abs=5e-7)
