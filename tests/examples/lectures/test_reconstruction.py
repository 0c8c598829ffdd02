"""The lecture on reconstruction: what sums give away, and what sums of randomised bits do not."""

from __future__ import annotations

from statistics import fmean

import pytest
from examples.lectures.reconstruction import AGES, PEOPLE, ages, best, recovered


def test_many_sums_with_small_errors_give_everybody_away() -> None:
    """Off by a quarter of sqrt(n): 3,072 sums (n log(n)^2) give back all of 128 bits. Off by four times sqrt(n), a
    third of the people at least are got wrong by 256."""
    root = PEOPLE**0.5
    assert recovered(3_072, root / 4, 1) == 1
    assert recovered(256, 4 * root, 1) < 2 / 3


def test_more_sums_of_randomised_bits_do_not_help() -> None:
    """Exact sums of reports at ln 3 give the reports back, and these are right of three in four: of 12 tables of 128
    people .75 with a deviation of .011 (six of them would be found once in 10^9 times). Twelve times as many
    questions give the very same."""
    some, more = ([recovered(number, 0.0, seed, True) for seed in range(12)] for number in (256, 3_072))
    assert some == more
    assert fmean(more) == pytest.approx(0.75, abs=6 * 0.0111)


def test_the_most_that_a_report_lets_anybody_get_right() -> None:
    """The chance of the truth, where both are as likely; where one is rarer than lies, no report changes a mind."""
    assert best(0.5) == pytest.approx(0.75)
    assert best(0.1) == pytest.approx(0.9)
    assert best(0.3) == pytest.approx(0.7 * 0.75 + 0.3 * 0.75)


def test_each_exact_release_leaves_fewer_tables() -> None:
    """Golden: ages of 30.4, 34 and 28; and what they leave, by counting: nine tables after six releases."""
    women, men = AGES.values()
    assert (fmean(women + men), fmean(men), fmean(women)) == (30.4, 34, 28)
    left = [number for _, number in ages()]
    assert ages()[0][0] == "means: all 30.4, men 34, women 28"
    assert left == sorted(left, reverse=True)
    assert left[0] > 10_000 > 10 > left[-1] >= 1
