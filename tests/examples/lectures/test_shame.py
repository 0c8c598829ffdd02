"""Name and shame: what it keeps, whom it names, and that the system refuses it."""

from __future__ import annotations

import math

import pytest

from deniable_aggregator.accounting import exposed
from examples.lectures import shame


@pytest.mark.parametrize("people", [1, 2, 3])
def test_it_keeps_a_delta_and_no_epsilon(people: int) -> None:
    """Over all tables of so many bits, and all prints."""
    epsilon, delta = shame.kept(0.01, people)
    assert epsilon == math.inf
    assert delta == pytest.approx(0.01)


def test_it_names_people() -> None:
    """Golden: one of a million at 10^-6 on average, anybody at all with .632121."""
    assert exposed(1e-6, 10**6) == pytest.approx((1.0, 0.632121), abs=5e-7)


def test_the_system_refuses_a_delta_that_would_name_somebody() -> None:
    """A millionth is refused for a million devices, and a billionth is taken."""
    assert "may expose 1" in shame.refused("1e-6", 10**6)
    assert shame.refused("1e-9", 10**6) == ""
