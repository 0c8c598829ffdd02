"""The lecture on a meeting: n against n - k, and deltas that are a bit larger."""

from __future__ import annotations

import pytest
from examples.lectures.meeting import EPSILON, apart, said

from deniable_aggregator.accounting import exposed


@pytest.mark.parametrize("missing", [1, 3, 7])
def test_a_group_is_told_apart_by_as_many_epsilons(missing: int) -> None:
    """From the channel of a noisy count, and from as many answers: k epsilon, both."""
    assert apart(40, missing) == pytest.approx(missing * EPSILON, rel=1e-9)
    assert said(missing) == pytest.approx(missing * EPSILON, rel=1e-9)


def test_a_delta_that_is_a_bit_larger_is_some_people() -> None:
    """1 / n gives one away on average; five times as much five, and nearly surely somebody."""
    assert exposed(1e-4, 10_000) == pytest.approx((1, 0.632), abs=5e-4)
    assert exposed(5e-4, 10_000) == pytest.approx((5, 0.993), abs=5e-4)
