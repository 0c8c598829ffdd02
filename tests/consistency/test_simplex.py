"""Norm-Sub: the nearest point of the simplex."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from deniable import Collection
from deniable_aggregator.answers import answer, consistent
from deniable_aggregator.consistency import on_simplex
from support.collection_files import head, metric

SHARES = st.lists(st.floats(-2, 2), min_size=1, max_size=40).map(np.array)


@given(SHARES)
def test_a_projection_is_on_the_simplex_and_projecting_it_again_changes_nothing(shares: NDArray[np.float64]) -> None:
    """Shares are not negative and add up to 1, to rounding."""
    once = on_simplex(shares)
    assert (once >= 0).all()
    assert once.sum() == pytest.approx(1, abs=1e-12)
    assert on_simplex(once) == pytest.approx(once, abs=1e-12)


@given(SHARES)
def test_no_point_of_the_simplex_is_nearer(shares: NDArray[np.float64]) -> None:
    """The projection's own condition: every corner of the simplex lies at an angle of at least 90 degrees."""
    once = on_simplex(shares)
    towards = (shares - once) @ np.eye(len(shares)) - (shares - once) @ once
    assert (towards <= 1e-9).all()


def test_one_amount_is_subtracted_from_what_stays() -> None:
    """0.7, 0.5, -0.1: a tenth off both, and nothing for the third."""
    assert on_simplex(np.array([0.7, 0.5, -0.1])) == pytest.approx([0.6, 0.4, 0.0])


def test_nothing_is_known_of_shares_that_are_not_known() -> None:
    """Without reports there is no consistent view."""
    assert np.isnan(on_simplex(np.array([np.nan, 0.5]))).all()


COLLECTION = Collection.loads(
    head("editor", 3.0)
    + metric("browser", "category", "The default browser", values=["chrome", "edge", "firefox"])
    + metric("crashed", "boolean", "It crashed")
    + metric("minutes", "number", "Minutes in the foreground", range=[0, 480], mechanism="laplace")
)


def test_shares_of_one_whole_are_projected_others_are_clipped_and_quantities_have_no_such_view() -> None:
    """A category adds up to 1, a boolean lies between 0 and 1, and a mean fits nothing."""
    browser = answer(COLLECTION.metrics["browser"], [np.array([1000, 0, 0])])
    assert browser.rows[0].value > 1
    assert consistent(COLLECTION.metrics["browser"], browser) == pytest.approx([1.0, 0.0, 0.0])
    crashed = answer(COLLECTION.metrics["crashed"], [np.array([1000, 0])])
    assert crashed.rows[0].value < 0
    assert consistent(COLLECTION.metrics["crashed"], crashed) == [0.0]
    nothing = answer(COLLECTION.metrics["crashed"], [np.array([0, 0])])
    assert consistent(COLLECTION.metrics["crashed"], nothing) == [None]
    minutes = answer(COLLECTION.metrics["minutes"], [np.array([1, 5, 25, 0])])
    assert set(consistent(COLLECTION.metrics["minutes"], minutes)) == {None}
