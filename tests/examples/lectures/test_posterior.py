"""What an answer lets somebody believe: the golden chances, and bounds beside bounds."""

from __future__ import annotations

import pytest

from deniable_aggregator.accounting import belief
from examples.lectures import posterior


def test_by_the_answers_of_the_survey() -> None:
    """Golden: 2% becomes .057692 by a yes, and .006757 by a no."""
    assert posterior.by_answers(0.02) == pytest.approx((0.006757, 0.057692), abs=5e-7)


def test_the_exact_bounds_lie_within_the_usual_ones() -> None:
    """Golden: .376257 to .424222 within .361935 to .442068, at a prior of .4 and epsilon .1; and everywhere."""
    own = belief(0.4, 0.1)
    assert own[1:] == pytest.approx((0.376257, 0.424222, 0.361935, 0.442068), abs=5e-7)
    for prior in (0.001, 0.02, 0.4, 0.9):
        for _, epsilon in posterior.EPSILONS:
            each = belief(prior, epsilon)
            assert each.loose_least < each.least < prior < each.most < each.loose_most


def test_it_says_where_the_usual_bound_says_nothing() -> None:
    """Above 1."""
    line = next(line for line in posterior.told().splitlines() if "40%" in line and "ln 3" in line)
    assert "which says nothing" in line
    assert "0.1818" in line
