"""The lecture on what is known for certain: both bounds on how far fitting goes, and what fitting costs."""

from __future__ import annotations

import pytest
from examples.lectures.known import below_zero, farther, rounded


@pytest.mark.parametrize("weighed", [True, False])
def test_nothing_is_farther_as_it_was_weighed(weighed: bool) -> None:
    """40 draws: the ratio of distances is never above 1. Measured otherwise it is above 1 in some."""
    assert farther(weighed, weighed, 40).most <= 1 + 1e-6
    assert farther(weighed, not weighed, 40).often > 0


def test_whole_numbers_are_no_farther_than_twice() -> None:
    """And some are farther than once: they are not convex."""
    found = rounded(300)
    assert 1.3 < found.most <= 2


def test_what_can_not_be_negative_is_too_large_on_average() -> None:
    """Over every number of yeses among 1,000: raw estimates are below zero in half of all fleets and right on
    average; told as zero, they are .0109 too large (the deviation over sqrt(2 pi))."""
    below, raw, fitted = below_zero(1_000)
    assert below == pytest.approx(0.5, abs=0.02)
    assert raw == pytest.approx(0, abs=1e-12)
    assert fitted == pytest.approx(0.0109, abs=1e-4)
