"""The nearest curve that never falls."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.consistency import monotone

numbers = st.lists(st.floats(-2, 3), min_size=1, max_size=30)


def test_where_a_curve_falls_it_becomes_the_mean() -> None:
    """Neighbours are pooled until it rises, and what is impossible is cut off."""
    found = monotone(np.array([-0.2, 0.3, 0.1, 0.5, 1.2]))
    assert found.tolist() == [0.0, 0.2, 0.2, 0.5, 1.0]


@given(numbers, st.data())
def test_no_rising_curve_is_farther_from_it_than_from_what_it_is_made_of(
    raw: list[float], data: st.DataObject
) -> None:
    """A projection onto a convex set: whatever the truth is, if it rises, it comes nearer."""
    found = monotone(np.array(raw))
    assert (np.diff(found) >= 0).all()
    assert 0 <= found[0] <= found[-1] <= 1
    truth = np.sort(data.draw(st.lists(st.floats(0, 1), min_size=len(raw), max_size=len(raw))))
    assert ((found - truth) ** 2).sum() <= ((np.array(raw) - truth) ** 2).sum() + 1e-9


def test_what_is_not_known_stays_so() -> None:
    """Without reports there is no curve."""
    assert np.isnan(monotone(np.array([0.1, np.nan]))).all()
    assert len(monotone(np.array([]))) == 0
