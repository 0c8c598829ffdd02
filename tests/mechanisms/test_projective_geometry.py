"""Projective geometry response: exactly private, a geometry indeed, and the best of those that fit."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from scipy import stats

from deniable import randomness
from deniable.epsilon import Epsilon
from deniable.mechanisms import ProjectiveGeometryResponse
from deniable.payload import Symbol

FALSE_ALARM = 1e-6
EPSILONS = [Epsilon.of(each) for each in ("ln 3", 0.01, 0.5, 1.0, 2.0, 5.0, 8.0)]
ONE = Epsilon.of(1.0)
SMALL = [(2, 3), (2, 5), (3, 3), (3, 4), (5, 3), (7, 3)]
"""Orders and dimensions of geometries of up to 57 points."""
PRIMES = [number for number in range(2, 1024) if all(number % divisor for divisor in range(2, number))]


def polynomial(number: int, order: int, dimensions: int) -> list[int]:
    """The coefficients of a number's monic polynomial, the lowest first: number(x a + b) = q number(a) + b + 1."""
    coefficients = []
    while number:
        number, coefficient = divmod(number - 1, order)
        coefficients.append(coefficient)
    return [*coefficients, 1, *[0] * (dimensions - len(coefficients) - 1)]


def supports(payload: int, answer: int, order: int, dimensions: int) -> bool:
    """Whether the product of the two has no x^(t-1)."""
    pairs = zip(polynomial(payload, order, dimensions), reversed(polynomial(answer, order, dimensions)), strict=True)
    return sum(v * u for v, u in pairs) % order == 0


def full(epsilon: Epsilon, order: int, dimensions: int) -> ProjectiveGeometryResponse:
    """The mechanism with an answer for every point."""
    return ProjectiveGeometryResponse(epsilon, (order**dimensions - 1) // (order - 1), order, dimensions)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize(("order", "dimensions"), SMALL)
def test_every_small_channel_is_private_and_spends_what_it_may(order: int, dimensions: int, epsilon: Epsilon) -> None:
    """Rows add up to 1, and the worst ratio of two inputs is at most e^eps and at least 0.999 of it."""
    mechanism = full(epsilon, order, dimensions)
    channel = mechanism.channel()
    assert mechanism.shape == Symbol(len(channel[0])) == Symbol(mechanism.inputs)
    assert all(sum(row.values()) == 1 for row in channel)
    worst = max(max(column) / min(column) for column in zip(*(row.values() for row in channel), strict=True))
    assert epsilon.exp * Fraction(999, 1000) <= worst <= epsilon.exp


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("inputs", [49, 1024, 65536])
def test_large_channels_have_two_probabilities_whose_ratio_is_private(inputs: int, epsilon: Epsilon) -> None:
    """Payloads that support the own answer share one probability, all others another; together they make 1."""
    mechanism = ProjectiveGeometryResponse.best(epsilon, inputs)
    for value in (0, 1, inputs - 1):
        payloads = [*range(50), *range(mechanism.points - 50, mechanism.points)]
        found = {mechanism.probability(payload, value) for payload in payloads}
        low, high = sorted(found)
        assert mechanism.supporting * high + (mechanism.points - mechanism.supporting) * low == 1
        assert epsilon.exp * Fraction(999, 1000) <= high / low <= epsilon.exp


@pytest.mark.parametrize(("order", "dimensions"), SMALL)
def test_payloads_support_answers_as_documented(order: int, dimensions: int) -> None:
    """A payload is likelier exactly where the product of its polynomial and the answer's has no x^(t-1)."""
    mechanism = full(ONE, order, dimensions)
    for value, row in enumerate(mechanism.channel()):
        high = max(row.values())
        for payload, chance in row.items():
            assert (chance == high) == supports(payload, value, order, dimensions)


@pytest.mark.parametrize(("order", "dimensions"), SMALL)
def test_p_and_q_are_those_of_the_channel(order: int, dimensions: int) -> None:
    """Added up over all payloads that support an answer, for the device's own answer and for every other one."""
    mechanism = full(ONE, order, dimensions)
    for value, row in enumerate(mechanism.channel()):
        for answer in range(mechanism.inputs):
            total = sum(chance for payload, chance in row.items() if supports(payload, answer, order, dimensions))
            assert total == (mechanism.p if answer == value else mechanism.q)


def test_variance_of_the_paper() -> None:
    """The estimator alpha C + beta n of the paper has, for a rare answer, the variance alpha^2 q (1 - q) a report.

    alpha = ((e^eps - 1) c_set + K) / ((e^eps - 1) (c_set - c_int)), for 1,024 answers at eps = 1: q = 3, t = 7.
    """
    mechanism = ProjectiveGeometryResponse.best(ONE, 1024)
    assert (mechanism.order, mechanism.dimensions, mechanism.points) == (3, 7, 1093)
    c_set, c_int, gain = 364, 121, ONE.exp - 1
    alpha = (gain * c_set + 1093) / (gain * (c_set - c_int))
    beta = -(gain * c_int + c_set) / (gain * (c_set - c_int))
    assert float(mechanism.variance) == pytest.approx(float(alpha**2 * mechanism.q * (1 - mechanism.q)), rel=1e-12)
    assert float(mechanism.q / (mechanism.p - mechanism.q)) == pytest.approx(float(-beta), rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_best_is_the_best_of_all_geometries_that_fit(epsilon: Epsilon) -> None:
    """Of every prime order with an eight-fold of counters at most, the least variance, found by trying them all."""
    for inputs in (2, 7, 49, 256, 1024):
        fitting = [
            float(ProjectiveGeometryResponse(epsilon, inputs, order, dimensions).variance)
            for order in PRIMES
            for dimensions in range(3, 14)
            if inputs <= (order**dimensions - 1) // (order - 1) <= 8 * inputs
        ]
        best = ProjectiveGeometryResponse.best(epsilon, inputs)
        assert best.points <= 8 * inputs
        assert float(best.variance) == pytest.approx(min(fitting), rel=1e-12)


@pytest.mark.parametrize(("order", "dimensions"), SMALL)
def test_ranks_are_the_payloads(order: int, dimensions: int) -> None:
    """For every answer, the ranks run once through all payloads, through those that support it first."""
    mechanism = full(ONE, order, dimensions)
    for value in range(mechanism.inputs):
        ranked = [mechanism._ranked(value, rank) for rank in range(mechanism.points)]
        assert sorted(ranked) == list(mechanism.payloads())
        chances = [supports(payload, value, order, dimensions) for payload in ranked]
        assert chances == [rank < mechanism.supporting for rank in range(mechanism.points)]


@pytest.mark.parametrize("value", [0, 1, 5, 12])
def test_randomize_follows_the_channel(value: int) -> None:
    """A chi-squared test over all 13 payloads of q = t = 3; it rejects one time in a million.

    A channel of an epsilon that is 15% too large would be rejected with a probability of more than 0.999.
    """
    reports, mechanism = 40_000, full(ONE, 3, 3)
    row = mechanism.channel()[value]
    drawn = Counter(mechanism.randomize(value) for _ in range(reports))
    assert drawn.keys() <= row.keys()
    expected = [float(chance) * reports for chance in row.values()]
    limit = stats.chi2.isf(FALSE_ALARM, len(row) - 1)
    assert stats.chisquare([drawn[payload] for payload in row], expected).statistic < limit
    broken = full(Epsilon.of(1.15), 3, 3).channel()[value]
    shift = sum(reports * float((broken[payload] - row[payload]) ** 2 / row[payload]) for payload in row)
    assert stats.ncx2.sf(limit, len(row) - 1, shift) > 0.999


@pytest.mark.parametrize(("inputs", "epsilon"), [(100, 1.0), (1024, 0.25), (65536, 5.0)])
def test_what_is_drawn_depends_on_no_value(inputs: int, epsilon: float) -> None:
    """From the same random words, every value takes equally many: no time tells one from another."""
    mechanism = ProjectiveGeometryResponse.best(Epsilon.of(epsilon), inputs)
    for _ in range(20):
        words = [randomness.word() for _ in range(40)]
        left = set()
        for value in range(0, inputs, inputs // 50):
            randomness._buffer[:] = words
            assert mechanism.randomize(value) < mechanism.points
            left.add(len(randomness._buffer))
        assert len(left) == 1
    randomness._buffer.clear()


def test_impossible_geometries_are_refused() -> None:
    """An order that is no prime, too few dimensions, more answers than points, more counters than there may be."""
    for inputs, order, dimensions, why in (
        (5, 4, 3, "a prime, not 4"),
        (5, 1, 3, "a prime, not 1"),
        (5, 5, 2, "at least 3 dimensions, not 2"),
        (14, 3, 3, "takes 2 to 13 answers, not 14"),
        (1, 3, 3, "takes 2 to 13 answers, not 1"),
        (5, 2, 21, "2097151 counters; at most 1048576"),
    ):
        with pytest.raises(ValueError, match=why):
            ProjectiveGeometryResponse(ONE, inputs, order, dimensions)
    for inputs in (0, 1, 1 << 20):
        with pytest.raises(ValueError, match="answers, not"):
            ProjectiveGeometryResponse.best(ONE, inputs)
