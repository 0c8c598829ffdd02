"""The survey with two coins: the matrix, unbiasing, the variance, and how far off it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from examples.lectures._tables import asked, matrix, worst

from examples.lectures import survey


def test_two_coins_are_randomized_response_at_ln_3() -> None:
    """Golden: [[3/4, 1/4], [1/4, 3/4]], and an epsilon of 1.098612."""
    table = matrix(asked("boolean", '"ln 3"'))
    assert table.tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert worst(table) == pytest.approx(1.098612, abs=5e-7)


@pytest.mark.parametrize("people", [1, 2, 4])
def test_lists_of_answers_keep_the_epsilon_of_one(people: int) -> None:
    """Exactly 3, over all tables and all lists; no set of lists has a greater ratio than its worst list."""
    assert survey.worst_list(people) == 3


def test_no_set_of_lists_has_a_greater_ratio() -> None:
    """All sets of lists of three answers, for all tables and neighbours: between 1/3 and 3, and both are there."""
    one = np.array([[0.75, 0.25], [0.25, 0.75]])
    every = np.kron(np.kron(one, one), one)
    sets = np.arange(1, 256)[:, None] >> np.arange(8) & 1
    chances = sets @ every.T
    ratios = [chances[:, table] / chances[:, table ^ 1 << bit] for table in range(8) for bit in range(3)]
    assert np.max(ratios) == pytest.approx(3)
    assert np.min(ratios) == pytest.approx(1 / 3)


def test_answers_are_undone_without_bias() -> None:
    """Golden: -1/2 and 3/2 at ln 3, -.581977 and 1.581977 at epsilon 1; on average the truth, at every epsilon."""
    assert survey.undone(math.log(3)) == pytest.approx((-0.5, 1.5))
    assert survey.undone(1.0) == pytest.approx((-0.581977, 1.581977), abs=5e-7)
    for epsilon in (0.01, 0.1, 1.0, 4.0):
        no, yes = survey.undone(epsilon)
        truth = 1 / (1 + math.exp(-epsilon))
        assert truth * yes + (1 - truth) * no == pytest.approx(1)
        assert truth * no + (1 - truth) * yes == pytest.approx(0, abs=1e-12)


def test_the_system_reads_a_survey() -> None:
    """Golden: 4,000 yeses of 10,000 are a share of .3 with a standard error of .009798; the usual interval is .280796
    to .319204, and that of the system is within .0001 of it."""
    row = survey.read(6_000, 4_000)
    assert (row.value, row.std_error) == pytest.approx((0.3, 0.009798), abs=5e-7)
    usual = [row.value + side * 1.959964 * row.std_error for side in (-1, 1)]
    assert usual == pytest.approx([0.280796, 0.319204], abs=5e-7)
    assert (row.low, row.high) == pytest.approx(usual, abs=1e-4)


def test_what_a_survey_costs() -> None:
    """Golden: 4 times the variance of plain answers at a half, 39.265 at .02; the noise is .75 at ln 3, .920674 at 1,
    which is what undone answers vary by where all have the same."""
    plain = survey.variance(0.5, None), survey.variance(0.02, None)
    assert survey.variance(0.5, math.log(3)) / plain[0] == pytest.approx(4)
    assert survey.variance(0.02, math.log(3)) / plain[1] == pytest.approx(39.265, abs=5e-4)
    assert survey.variance(0.0, math.log(3)) == pytest.approx(0.75)
    assert survey.variance(0.0, 1.0) == pytest.approx(0.920674, abs=5e-7)
    no, yes = survey.undone(1.0)
    truth = 1 / (1 + math.exp(-1))
    assert truth * no**2 + (1 - truth) * yes**2 == pytest.approx(0.920674, abs=5e-7)


def test_the_error_falls_with_the_root_of_answers_and_with_small_epsilons() -> None:
    """Hoeffding's bound: a slope of -1/2 against n, of -1 against small epsilons; wider than the usual interval."""
    far = [survey.hoeffding(0.01, number) for number in (100, 10_000, 1_000_000)]
    assert np.diff(np.log10(far)) == pytest.approx([-1, -1])
    small = [survey.hoeffding(epsilon, 1_000) for epsilon in (0.001, 0.01, 0.1)]
    assert np.diff(np.log10(small)) == pytest.approx([-1, -1], abs=2e-3)
    assert survey.hoeffding(1.0, 1_000) > 1.96 * math.sqrt(survey.variance(0.5, 1.0) / 1_000)
