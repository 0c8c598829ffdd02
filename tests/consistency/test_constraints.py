"""What is known from elsewhere put upon estimates."""

from __future__ import annotations

import numpy as np
import pytest

from deniable_aggregator import Estimate, Heading, Known, Measure, Row, RowId, Series, Target, knowing
from deniable_aggregator.consistency import on_simplex
from deniable_aggregator.consistency.constraints import Between, constrained

ONE = Between(np.ones(3), 1.0, 1.0)
NONE_NEGATIVE = [Between(row, 0.0, np.inf) for row in np.eye(3)]


def test_where_all_errors_are_equal_it_is_the_projection_onto_the_simplex() -> None:
    """What Norm-Sub finds by sorting, and what this finds for any constraints, are one point."""
    raw = np.array([0.7, 0.5, -0.1])
    assert constrained(raw, np.full(3, 0.02), [ONE, *NONE_NEGATIVE]) == pytest.approx(on_simplex(raw), abs=1e-9)


def test_what_is_over_is_taken_by_the_squares_of_errors() -> None:
    """0.4, 0.3 and 0.2 are short of 1 by a tenth; the last has twice the others' error: it takes 4 of 6 parts."""
    found = constrained(np.array([0.4, 0.3, 0.2]), np.array([0.01, 0.01, 0.02]), [ONE])
    assert found == pytest.approx([0.4 + 0.1 / 6, 0.3 + 0.1 / 6, 0.2 + 0.4 / 6], abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_never_farther_from_a_truth_that_fits(seed: int) -> None:
    """Of random sums that are known, exactly or within bounds, and random noise: in units of standard errors what is
    found is no farther from the truth than the estimates were, every single time, and fits what is known."""
    generator = np.random.default_rng(seed)
    for _ in range(30):
        truth = generator.dirichlet(np.ones(8))
        errors = generator.uniform(0.01, 0.1, 8)
        raw = truth + errors * generator.normal(size=8)
        factors = generator.integers(-1, 3, (4, 8)).astype(np.float64)
        slack = generator.choice([0.0, 0.02], (4, 2))
        known = [
            Between(row, row @ truth - less, row @ truth + more)
            for row, (less, more) in zip(factors, slack, strict=True)
        ]
        found = constrained(raw, errors, [*known, *(Between(row, 0.0, np.inf) for row in np.eye(8))])
        assert (((found - truth) / errors) ** 2).sum() <= (((raw - truth) / errors) ** 2).sum() + 1e-9
        assert found.min() > -1e-8
        for each in known:
            assert each.low - 1e-8 <= each.factors @ found <= each.high + 1e-8


def test_what_cannot_all_be_so_is_refused() -> None:
    """Three shares that are one together, and two of them one and a half."""
    with pytest.raises(ValueError, match="nothing fits"):
        constrained(np.ones(3) / 3, np.ones(3), [ONE, *NONE_NEGATIVE, Between(np.array([1.0, 1.0, 0.0]), 1.5, 1.5)])


def test_what_is_not_known_is_refused() -> None:
    """Without reports there is nothing to fit."""
    with pytest.raises(ValueError, match="has to be known"):
        constrained(np.full(3, np.nan), np.ones(3), [ONE])


def browsers(heading: Heading) -> Estimate:
    """An answer of three rows."""
    rows = [("chrome", 0.58), ("edge", 0.15), ("firefox", 0.29)]
    lines = tuple(Row(key, value, value - 0.04, value + 0.04, 0.02) for key, value in rows)
    return Estimate("browser", 10_000, (Series(heading, lines),), 0.95, Target.POPULATION)


def test_an_answer_is_told_what_is_known_by_its_keys() -> None:
    """A share that somebody else has counted is that, the others are one together with it, and no row changes."""
    found = browsers(Heading("shares", Measure.SHARE, adds_up=True))
    fitted = knowing(found, [Known({"chrome": 1}, 0.55, 0.55), Known({"firefox": 1, "edge": -2}, 0.0, np.inf)])
    assert fitted[RowId("shares", "chrome")] == pytest.approx(0.55, abs=1e-9)
    assert fitted[RowId("shares", "edge")] == pytest.approx(0.15, abs=1e-8)
    assert fitted[RowId("shares", "firefox")] == pytest.approx(0.30, abs=1e-8)
    assert [row.value for row in found.rows] == [0.58, 0.15, 0.29]


def test_a_quantity_may_be_anything_unless_it_is_said() -> None:
    """Only shares are known not to be negative."""
    found = browsers(Heading("totals", Measure.TOTAL))
    assert knowing(found, [Known({"edge": 1}, -3.0, -3.0)], "totals")[RowId("totals", "edge")] == pytest.approx(-3)


def test_rows_that_there_are_not_are_refused() -> None:
    """A key that is misspelt says so, and so does a series."""
    found = browsers(Heading("shares", Measure.SHARE))
    with pytest.raises(LookupError, match="no row 'chrom'"):
        knowing(found, [Known({"chrom": 1}, 0.5, 0.5)])
    with pytest.raises(LookupError, match="no series 'mean'"):
        knowing(found, [], "mean")
