"""The lecture on naive Bayes: what noise its counts take, and models that are told by devices."""

from __future__ import annotations

from fractions import Fraction

import pytest
from examples.lectures.naive_bayes import fleet, from_counts, from_devices, gains, right, scales


def test_the_scale_is_fifty_by_both_routes() -> None:
    """Golden: five features at epsilon .1: 50, at once and each at a fifth; where a person is replaced, 100."""
    found = scales(5, Fraction(1, 10))
    assert found["one person more or less"] == pytest.approx((50, 50), rel=1e-15)
    assert found["one person replaced"] == pytest.approx((100, 100), rel=1e-15)


def test_devices_tell_the_model_that_counts_tell() -> None:
    """100,000 devices at epsilon 1 (draws that are known): within half a point of the model without noise, and the
    same first question of a decision tree. One feature that hardly tells anything is last."""
    often = fleet(100_000, 1)
    plain, own = from_counts(often, 1e6, 1), from_devices(often, 3)
    assert right(own) >= right(plain) - 0.005 > 0.79
    for model in (plain, own):
        asked = gains(model)
        assert sorted(asked, key=lambda name: -asked[name]) == ["moves", "wears", "sleeps"]
