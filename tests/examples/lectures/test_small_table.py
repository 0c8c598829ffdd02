"""The lecture on small tables: its golden numbers, and the exponential mechanism on one that is tiny enough."""

from __future__ import annotations

import math

import numpy as np
import pytest
from examples.lectures.small_table import chosen, drawn_rows, error, exactly, questions, rows

from deniable_aggregator.telling.synthesis import reach, rows_for


def test_a_thousand_rows_for_a_thousand_questions() -> None:
    """Golden: 1,000 rows for 1,024 questions to within a tenth; off by .2387 at most, of rows of ten bits."""
    assert rows(1024, 0.1) == 1_000 == rows_for(1024, 0.1)
    assert error(1024, 0.1, 10, 1e5, 0.05) == pytest.approx(0.2387, abs=5e-5)


def test_questions_are_exponential_in_people() -> None:
    """Ten times the people, ten times the logarithm, but for what delta takes; it is the error turned around."""
    few, many = (questions(people, 1.0, 0.2, 10, 0.05) for people in (100_000, 1_000_000))
    assert many / few == pytest.approx(10, rel=0.02)
    number = 2 ** questions(100_000, 1.0, 0.2, 10, 0.05)
    assert error(math.floor(number), 0.1, 10, 1e5, 0.05) == pytest.approx(0.2, abs=1e-3)


def test_the_choice_keeps_epsilon_and_uses_it() -> None:
    """Every table of three people and every neighbour, every choice: at most 1, and most of it. Without the 2 in the
    exponent it would be more than 1."""
    kept = exactly(3, 4, 1.0)
    assert 0.6 < kept <= 1
    assert exactly(3, 4, 2.0) > 1


def test_what_is_chosen_is_off_by_the_bound_at_most() -> None:
    """But for a chance of 5%, computed from every chance; for few people and for many."""
    for counts in ((4, 2, 2, 0), (20, 10, 10, 0), (100, 60, 30, 10)):
        own = chosen(counts, 4, 1.0)
        assert own.chances[own.losses > own.bound].sum() <= 0.05
        assert np.isclose(own.chances.sum(), 1)


def test_rows_of_an_answer_are_as_near_to_it_as_is_said() -> None:
    """20,000 devices: rows within the promise of the answer, which is within its intervals of the fleet (where both
    fail together less than once in 20 draws; this draw is known)."""
    made, off, from_truth = drawn_rows(20_000, 0.02, 1)
    assert off <= reach(made.told, rows_for(made.told, 0.02)) <= 0.02
    assert from_truth <= off + made.error
