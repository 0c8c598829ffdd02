"""Slips of the notes: each is something else than what is right."""

from __future__ import annotations

import math

import pytest

from examples.lectures import errata


def test_each_slip_is_one_and_each_line_has_one() -> None:
    """What is printed is not what is right, for every line that the lecture shows."""
    found = errata.slips()
    assert {slip.line for slip in found} == set(errata.SHOWS)
    assert all(slip.printed != slip.right for slip in found)


def test_laplace_is_steep_by_epsilon_whatever_the_sensitivity() -> None:
    """Not by e^(sensitivity/epsilon), nor by epsilon."""
    for sensitivity in (0.5, 1.0, 7.0):
        assert math.log(errata.steepest(sensitivity, 0.5)) == pytest.approx(0.5)


def test_norms_products_and_terms() -> None:
    """A norm without sizes can be 0, a product that ends early adds up to more than 1, and the term of name and
    shame that is left out is the chance of being printed."""
    assert errata.norm((1, -1), 1, sizes=False) == 0 < errata.norm((1, -1), 1, sizes=True) == 2
    assert errata.norm((3, -4), 2, sizes=True) == 5
    assert (errata.lists_sum(3, 2), errata.lists_sum(3, 3)) == pytest.approx((2, 1))
    assert errata.shame_terms(0.1, 3) == pytest.approx((0.81, 0.729))
