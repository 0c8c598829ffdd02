"""Subset selection: exactly private, exactly uniform, and its size the best."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from scipy import stats

from deniable import randomness
from deniable.epsilon import Epsilon
from deniable.mechanisms import RandomizedResponse, SubsetSelection
from deniable.mechanisms.subset_selection import _digits, _subset
from deniable.payload import Bitmap

FALSE_ALARM = 1e-6
EPSILONS = [Epsilon.of(each) for each in ("ln 3", 0.01, 0.5, 1.0, 2.0, 5.0, 8.0)]
ONE = Epsilon.of(1.0)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_every_channel_of_up_to_seven_answers_is_private_and_spends_what_it_may(epsilon: Epsilon) -> None:
    """Rows add up to 1, and the worst ratio of two inputs is at most e^eps and at least 0.999 of it."""
    for inputs in range(2, 8):
        for size in range(1, inputs):
            channel = SubsetSelection(epsilon, inputs, size).channel()
            assert len(channel[0]) == comb(inputs, size)
            assert all(sum(row.values()) == 1 for row in channel)
            columns = [[row[payload] for row in channel] for payload in channel[0]]
            worst = max(max(column) / min(column) for column in columns)
            assert epsilon.exp * Fraction(999, 1000) <= worst <= epsilon.exp


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("inputs", [48, 49, 256, 4096])
def test_large_channels_have_two_probabilities_whose_ratio_is_private(inputs: int, epsilon: Epsilon) -> None:
    """Subsets with the own answer share one probability, those without the other; together they make 1."""
    mechanism = SubsetSelection.best(epsilon, inputs)
    size = mechanism.size
    first, last = (1 << size) - 1, (1 << size) - 1 << inputs - size
    named, missed = mechanism.probability(first, 0), mechanism.probability(last, 0)
    assert (mechanism.probability(last, inputs - 1), mechanism.probability(first, inputs - 1)) == (named, missed)
    assert comb(inputs - 1, size - 1) * named + comb(inputs - 1, size) * missed == 1
    assert epsilon.exp * Fraction(999, 1000) <= named / missed <= epsilon.exp


@pytest.mark.parametrize(("inputs", "size"), [(2, 1), (5, 2), (7, 3), (7, 6)])
def test_p_and_q_are_those_of_the_channel(inputs: int, size: int) -> None:
    """Added up over all subsets that name an answer, for the device's own answer and for every other one."""
    mechanism = SubsetSelection(ONE, inputs, size)
    for value, row in enumerate(mechanism.channel()):
        for answer in range(inputs):
            named = sum(chance for payload, chance in row.items() if payload >> answer & 1)
            assert named == (mechanism.p if answer == value else mechanism.q)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_best_is_the_best_of_all_sizes(epsilon: Epsilon) -> None:
    """The size of the least exact variance, found by trying them all."""
    for inputs in (2, 3, 4, 5, 8, 16, 48, 49, 100):
        variances = [SubsetSelection(epsilon, inputs, size).variance for size in range(1, inputs)]
        assert SubsetSelection.best(epsilon, inputs).variance == min(variances)


def test_variance_of_the_literature() -> None:
    """At eps = 1, f(1-f)-free variance a report for 8, 16, 64 and 1024 answers, with the share's own term added.

    The means over a uniform population are 2.717, 3.186, 3.553 and 3.675: q (1 - q) / (p - q)^2 plus
    (1 - p - q) / (d (p - q)).
    """
    for inputs, mean in ((8, 2.717), (16, 3.186), (64, 3.553), (1024, 3.675)):
        mechanism = SubsetSelection.best(ONE, inputs)
        p, q = mechanism.p, mechanism.q
        assert float(mechanism.variance + (1 - p - q) / (inputs * (p - q))) == pytest.approx(mean, abs=6e-4)


def test_a_subset_of_one_is_randomized_response() -> None:
    """With size 1 the channel is that of k-ary randomized response, to the last digit."""
    for inputs in (2, 5, 16):
        subset, response = SubsetSelection(ONE, inputs, 1), RandomizedResponse(ONE, inputs)
        for value in range(inputs):
            for payload in range(inputs):
                assert subset.probability(1 << payload, value) == response.probability(payload, value)


def test_reports_are_bitmaps_of_one_weight() -> None:
    """Every report has exactly `size` bits set, in narrow rows and in wide ones, whatever the value."""
    for inputs in (2, 5, 48, 49, 300, 4096):
        mechanism = SubsetSelection.best(ONE, inputs)
        assert mechanism.shape == Bitmap(inputs, mechanism.size)
        for value in (0, 1, inputs // 2, inputs - 1):
            for _ in range(20):
                payload = mechanism.randomize(value)
                assert payload.bit_count() == mechanism.size
                assert payload >> inputs == 0


def test_payloads_are_all_subsets() -> None:
    """The payloads are every bitmap of the weight, once."""
    mechanism = SubsetSelection(ONE, 7, 3)
    assert sorted(mechanism.payloads()) == [bits for bits in range(1 << 7) if bits.bit_count() == 3]


@pytest.mark.parametrize(("inputs", "size"), [(5, 2), (48, 13), (100, 27)])
def test_what_is_drawn_depends_on_no_value(inputs: int, size: int) -> None:
    """From the same random words, every value takes equally many: no time tells one from another."""
    mechanism = SubsetSelection(ONE, inputs, size)
    for _ in range(20):
        words = [randomness.word() for _ in range(400)]
        left = set()
        for value in range(inputs):
            randomness._buffer[:] = words
            mechanism.randomize(value)
            left.add(len(randomness._buffer))
        assert len(left) == 1
    randomness._buffer.clear()


@pytest.mark.parametrize("value", [0, 2, 5])
def test_randomize_follows_the_channel(value: int) -> None:
    """A chi-squared test over all 15 subsets; it rejects one time in a million.

    A channel of an epsilon that is 15% too large would be rejected with a probability of more than 0.999.
    """
    reports, mechanism = 40_000, SubsetSelection(ONE, 6, 2)
    row = mechanism.channel()[value]
    drawn = Counter(mechanism.randomize(value) for _ in range(reports))
    expected = [float(chance) * reports for chance in row.values()]
    limit = stats.chi2.isf(FALSE_ALARM, len(row) - 1)
    assert stats.chisquare([drawn[payload] for payload in row], expected).statistic < limit
    broken = SubsetSelection(Epsilon.of(1.15), 6, 2).channel()[value]
    shift = sum(
        (float(broken[payload] - row[payload]) * reports) ** 2 / (float(row[payload]) * reports) for payload in row
    )
    assert stats.ncx2.sf(limit, len(row) - 1, shift) > 0.999


@pytest.mark.parametrize(("size", "weight"), [(8, 3), (10, 4), (11, 9)])
def test_all_subsets_are_equally_likely(size: int, weight: int) -> None:
    """A chi-squared test over all subsets of one weight; it rejects one time in a million.

    Half of the subsets 15% likelier than the others would be rejected with a probability of more than 0.999.
    """
    cells = [sum(1 << bit for bit in bits) for bits in combinations(range(size), weight)]
    draws = 200 * len(cells) + 20_000
    drawn = Counter(_subset(size, weight, _digits(weight, size)) for _ in range(draws))
    limit = stats.chi2.isf(FALSE_ALARM, len(cells) - 1)
    assert stats.chisquare([drawn[cell] for cell in cells]).statistic < limit
    assert drawn.total() == sum(drawn[cell] for cell in cells)
    assert stats.ncx2.sf(limit, len(cells) - 1, draws * (0.15 / 2.15) ** 2) > 0.999


@pytest.mark.parametrize("inputs", [48, 100])
def test_large_subsets_name_every_answer_as_often_as_they_should(inputs: int) -> None:
    """Counts of each answer and of each neighbouring pair follow p and q: each test rejects in less than 1e-6 / 200.

    An answer that is named 10% too often or too rarely is seen with a probability of more than 0.999.
    """
    mechanism, reports, value = SubsetSelection.best(ONE, inputs), 30_000, inputs // 3
    drawn = [mechanism.randomize(value) for _ in range(reports)]
    for answer in range(inputs):
        chance = float(mechanism.p if answer == value else mechanism.q)
        count = sum(payload >> answer & 1 for payload in drawn)
        assert stats.binomtest(count, reports, chance).pvalue > FALSE_ALARM / 200
        spread = (chance * (1 - chance) / reports) ** 0.5
        assert stats.norm.sf((0.1 * chance - stats.norm.isf(FALSE_ALARM / 400) * spread) / spread) < 1e-3
    size, others = mechanism.size, inputs - 1
    pair = sum(
        chance * kept * (kept - 1) / (others * (others - 1))
        for chance, kept in ((mechanism.p, size - 1), (1 - mechanism.p, size))
    )
    for answer in range(value + 1, inputs - 1):
        count = sum(payload >> answer & 3 == 3 for payload in drawn)
        assert stats.binomtest(count, reports, float(pair)).pvalue > FALSE_ALARM / 200


def test_impossible_parameters_are_refused() -> None:
    """One answer, no subset, the whole set."""
    for inputs, size in ((1, 1), (5, 0), (5, 5), (0, 1)):
        with pytest.raises(ValueError, match="answers, not"):
            SubsetSelection(ONE, inputs, size)
    with pytest.raises(ValueError, match="at least 2 answers, not 1"):
        SubsetSelection.best(ONE, 1)
