"""Answers about joints: what rows there are, and what they say of fleets that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Joint
from deniable_aggregator import RowId
from deniable_aggregator.analysis.comparison import compared
from deniable_aggregator.analysis.prices import estimating
from deniable_aggregator.analysis.weighting import weighted
from deniable_aggregator.analysis.windows import added, scaled, windowed
from deniable_aggregator.answers import Target, answer, consistent, headings, row_count, truth
from deniable_aggregator.planning.population import Population
from deniable_aggregator.planning.simulate import simulate
from support.counting import calls
from support.joints import associated, exactly, joint, recorded

SERIES = ["table", "marginals", "conditionals", "association", "independence"]
TWO, THREE = {"theme": 2, "platform": 3}, {"theme": 2, "platform": 3, "mood": 4}
SHARES = associated([6, 4], [5, 3, 2], 0.4)
CUBE = SHARES[:, :, np.newaxis] * np.array([4, 3, 2, 1]) / 10


def fleet(metric: Metric, shares: NDArray[np.float64], devices: int, seed: int = 1) -> Population:
    """Devices that are drawn from a table of all sources."""
    places = np.random.default_rng(seed).choice(shares.size, size=devices, p=shares.ravel())
    return Population(recorded(metric), places)


@pytest.mark.parametrize(
    ("sizes", "more", "shares"),
    [(TWO, "", SHARES), (THREE, "", CUBE), (THREE, 'pairs = "theme"', CUBE), (THREE, 'pairs = "mood"', CUBE)],
)
def test_what_devices_have_on_average_is_what_is_told(
    sizes: dict[str, int], more: str, shares: NDArray[np.float64]
) -> None:
    """Of a billion devices whose reports are as often as is expected: every row is the truth, to a thousandth."""
    metric = joint(sizes, 2, more)
    found = answer(metric, exactly(metric, shares))
    everybody = Population(
        recorded(metric), np.repeat(np.arange(shares.size), np.rint(shares * 10_000).astype(int).ravel())
    )
    known = truth(metric, everybody)
    assert [series.heading.name for series in found.series] == SERIES
    assert len(found.rows) == row_count(metric) == len(found.by_id)
    assert found.reports == pytest.approx(10**9)
    for where, row in found.by_id.items():
        if where.series == "independence":
            assert row.key == "theme / platform" or more or row.value > 1e-6
        else:
            assert row.value == pytest.approx(known[where], abs=2e-3), where
            assert row.low - 1e-9 <= row.value <= row.high + 1e-9
    fits = consistent(metric, found)
    shown = [fit for fit, where in zip(fits, found.ids, strict=True) if where.series in SERIES[:3]]
    assert shown == pytest.approx([known[where] for where in found.ids if where.series in SERIES[:3]], abs=2e-3)


def test_rows_are_called_by_their_values() -> None:
    """A cell, a marginal, a conditional, a pair of sources."""
    metric = joint(TWO)
    keys = answer(metric, exactly(metric, SHARES)).keys
    assert keys["table"][1] == "theme0 / platform1"
    assert keys["marginals"] == [
        "theme: theme0", "theme: theme1", "platform: platform0", "platform: platform1", "platform: platform2",
    ]  # fmt: skip
    assert keys["conditionals"][:3] == [
        "theme: theme0 given platform: platform0", "theme: theme1 given platform: platform0",
        "theme: theme0 given platform: platform1",
    ]  # fmt: skip
    assert len(keys["conditionals"]) == 12
    assert keys["association"] == keys["independence"] == ["theme / platform"]


def test_sums_are_sums_of_cells_whatever_was_reported() -> None:
    """Marginals add up cells, a conditional is a cell over a marginal, and the table adds up to 1: of raw estimates,
    and of the consistent ones, which are no less than 0."""
    metric = joint(THREE, 1)
    found = answer(metric, simulate(metric, fleet(metric, CUBE, 3_000), np.random.default_rng(2)))
    for values in ([row.value for row in found.rows], consistent(metric, found)):
        by = dict(zip(found.ids, values, strict=True))
        cells = np.array([by[RowId("table", key)] for key in found.keys["table"]], dtype=float).reshape(2, 3, 4)
        assert cells.sum() == pytest.approx(1)
        assert [by[RowId("marginals", f"platform: platform{place}")] for place in range(3)] == pytest.approx(
            cells.sum(axis=(0, 2)).tolist()
        )
        given = by[RowId("conditionals", "mood: mood1 given theme: theme0")]
        assert given == pytest.approx(cells[0, :, 1].sum() / cells[0].sum())
    assert min(cells.ravel()) >= 0


def test_a_target_is_told_by_all_tables() -> None:
    """Its marginals are known better than by any one pair: by about as much as if the reports were of one table."""
    metric = joint(THREE, 1, 'pairs = "theme"')
    assert isinstance(metric.kind, Joint)
    found = answer(metric, exactly(metric, CUBE, 10**6)).by_id
    target, feature = found[RowId("marginals", "theme: theme0")], found[RowId("marginals", "mood: mood0")]
    assert target.std_error < 0.8 * feature.std_error
    assert target.value == pytest.approx(0.6, abs=1e-3)


def test_nothing_is_known_without_reports() -> None:
    """No value, all that is possible as an interval, and p-values that nobody knows."""
    for more in ("", 'pairs = "theme"'):
        metric = joint(THREE, 1, more)
        found = answer(metric, [np.zeros(column.shape.counters, dtype=np.int64) for column in metric.columns])
        assert found.reports == 0
        assert all(math.isnan(row.value) and (row.low, row.high) == (0.0, 1.0) for row in found.rows)
        assert consistent(metric, found) == [None] * len(found.rows)


def test_a_conditional_of_nobody_leaves_nothing_out() -> None:
    """A value that no device has: its conditionals may be anything, and where the reports say less than none, have no
    value."""
    shares = np.array([[0.5, 0.3, 0.0], [0.1, 0.1, 0.0]])
    metric = joint(TWO, 1)
    found = answer(metric, simulate(metric, fleet(metric, shares, 20_000), np.random.default_rng(4))).by_id
    for theme in ("theme0", "theme1"):
        row = found[RowId("conditionals", f"theme: {theme} given platform: platform2")]
        assert (row.low, row.high) == (0.0, 1.0)
    assert found[RowId("conditionals", "theme: theme0 given platform: platform0")].low > 0.5


def test_small_noise_makes_an_association_that_is_seen() -> None:
    """At epsilon 8 and 2,000 devices V is known to a few hundredths, and independence is ruled out; where sources are
    independent, that is within what is believed."""
    metric = joint(TWO, 8)
    found = answer(metric, simulate(metric, fleet(metric, SHARES, 2_000), np.random.default_rng(5))).by_id
    row = found[RowId("association", "theme / platform")]
    assert row.low <= 0.429 <= row.high
    assert row.high - row.low < 0.12
    assert found[RowId("independence", "theme / platform")].value < 1e-9
    alone = associated([6, 4], [5, 3, 2], 0.0)
    found = answer(metric, simulate(metric, fleet(metric, alone, 2_000), np.random.default_rng(6))).by_id
    assert found[RowId("association", "theme / platform")].low < 0.05


def test_a_window_finds_nothing_that_one_epoch_would_not() -> None:
    """The same devices in every one of ten epochs: the p-value is of as many reports as these are worth, and so are
    intervals. By all reports, as if they were of different devices, it would be a hundredth of that, or less."""
    metric = joint(TWO, 1)
    counters = simulate(metric, fleet(metric, SHARES, 10_000), np.random.default_rng(7))
    alone, window = answer(metric, counters).by_id, windowed(metric, [counters] * 10, 0.95, Target.POPULATION)
    pooled = answer(metric, [10 * own for own in counters]).by_id
    where = RowId("independence", "theme / platform")
    found = window.estimate.by_id
    assert found[where].value >= 0.9 * alone[where].value
    assert pooled[where].value < 0.01 * alone[where].value
    size = RowId("association", "theme / platform")
    assert found[size].low <= alone[size].low + 0.02
    assert found[size].high >= alone[size].high - 0.02


def test_what_devices_keep_is_no_more_than_all() -> None:
    """Intervals of a window lie between those of all reports and those of one epoch's, row by row; those of
    associations, and where a table is remembered of conditionals, are as wide as those of one epoch's."""
    for more in ("", 'pairs = "theme"', "memoize = true"):
        metric = joint(THREE, 2, more)
        generator = np.random.default_rng(8)
        epochs = [simulate(metric, fleet(metric, CUBE, 4_000), generator) for _ in range(4)]
        found = windowed(metric, epochs, 0.95, Target.POPULATION).estimate
        pooled, columns = answer(metric, added(epochs)), zip(added(epochs), metric.columns, strict=True)
        single = answer(metric, [scaled(own, column.shape, 1 / len(epochs)) for own, column in columns])
        for (where, row), tight, wide in zip(found.by_id.items(), pooled.rows, single.rows, strict=True):
            assert min(wide.low, tight.low) <= row.low <= tight.low
            assert max(wide.high, tight.high) >= row.high >= tight.high
            if where.series == "association" or (metric.memoize and where.series == "conditionals"):
                assert (row.low, row.high) == (min(wide.low, tight.low), max(wide.high, tight.high)), where


def test_nobody_is_told_that_a_p_value_has_changed() -> None:
    """Comparisons do not have it; what it is about, the association, they have."""
    metric = joint(TWO, 4)
    alone = associated([6, 4], [5, 3, 2], 0.0)
    before, after = (simulate(metric, fleet(metric, own, 5_000), np.random.default_rng(9)) for own in (alone, SHARES))
    changes = compared(metric, [before], [after]).by_id
    assert RowId("independence", "theme / platform") not in changes
    assert changes[RowId("association", "theme / platform")].p_value < 1e-6


def test_headings_say_what_the_numbers_are() -> None:
    """Cells add up to 1, unless there is a table a feature; p-values are chances."""
    found = {heading.name: heading for heading in headings(joint(THREE))}
    assert found["table"].adds_up
    assert not headings(joint(THREE, 1, 'pairs = "theme"'))[0].adds_up
    assert [name for name, heading in found.items() if heading.chance] == ["independence"]
    assert found["association"].span == found["independence"].span == (0.0, 1.0)


def test_a_weighted_answer_has_what_is_a_mean() -> None:
    """Of two strata cells and marginals, added up by their shares; no ratio of these is the whole population's."""
    metric = joint(TWO, 4)
    alone = associated([6, 4], [5, 3, 2], 0.0)
    strata = [(0.75, [exactly(metric, SHARES, 10**6)]), (0.25, [exactly(metric, alone, 10**5)])]
    found, _ = weighted(metric, strata)
    assert [series.heading.name for series in found.series] == ["table", "marginals"]
    whole = (0.75 * SHARES + 0.25 * alone).ravel().tolist()
    assert [row.value for row in found.series[0].rows] == pytest.approx(whole, abs=1e-3)


def test_a_row_that_is_asked_for_is_made_alone() -> None:
    """Of one association in a trend no other one is made: they are what takes long where sources are many."""
    sizes = {f"flag{number}": 2 for number in range(8)}
    metric = joint(sizes, 2)
    counters = exactly(metric, np.full((2,) * 8, 1 / 256), 10**6)
    whole = answer(metric, counters)
    wanted = {"association": ["flag1 / flag2"], "marginals": ["flag3: flag31", "flag3: flag30"]}
    found = answer(metric, counters, keys=wanted)
    assert [len(series.rows) for series in found.series] == [2, 1]
    assert all(row == whole.by_id[where] for where, row in found.by_id.items())
    alone = calls(lambda: answer(metric, counters, keys=wanted))
    assert alone < calls(lambda: answer(metric, counters, keys=whole.keys)) / 5
    assert estimating(metric) > estimating(joint({"flag1": 2, "flag2": 128}, 2)) + 27 * 70_000 - 10_000
