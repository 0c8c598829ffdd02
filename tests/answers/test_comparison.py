"""Comparisons: differences, ratios and p-values, and what is said of the devices on both sides."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import Metric
from deniable_aggregator.analysis.comparison import OTHERS, UNKNOWN, Comparison, Devices, against, compared
from deniable_aggregator.analysis.discoveries import found
from deniable_aggregator.analysis.offline import accumulate
from deniable_aggregator.answers import RowId, Target, answer
from support.asked import LINKABLE, asked

BOOLEAN = asked("boolean", "epsilon = 1")
CATEGORY = asked("category", 'epsilon = 2\nvalues = ["a", "b", "c"]\nmechanism = "randomized_response"')
NUMBER = asked("number", 'epsilon = 1\nrange = [10, 20]\nunit = "min"')
REMEMBERED = asked("boolean", f"epsilon = 1\nmemoize = true\n{LINKABLE}")
RENEWED = asked("boolean", "epsilon = 1\nmemoize = true\ninstantaneous_epsilon = 0.5")
EVENTS = asked("count", 'epsilon = 1\nprivacy_unit = "event"')
COMMON = {
    "fresh": BOOLEAN,
    "remembered": REMEMBERED,
    "renewed": RENEWED,
}


def counts(*numbers: int) -> list[NDArray[np.int64]]:
    """The counters of a metric that has one column."""
    return [np.array(numbers, dtype=np.int64)]


def change(metric: Metric, before: Sequence[int], after: Sequence[int], devices: Devices = OTHERS) -> Comparison:
    """One epoch on each side."""
    return compared(metric, [counts(*before)], [counts(*after)], devices=devices)


def test_a_difference_is_after_less_before_and_turns_round_with_them() -> None:
    """What was low is high then, with the other sign; the p-value is the same."""
    there, back = (
        change(CATEGORY, (500, 300, 200), (400, 400, 200)),
        change(CATEGORY, (400, 400, 200), (500, 300, 200)),
    )
    for where, own in there.by_id.items():
        other = back.by_id[where]
        assert own.value == pytest.approx(own.after.value - own.before.value)
        assert (own.value, own.low, own.high) == pytest.approx((-other.value, -other.high, -other.low))
        assert own.p_value == pytest.approx(other.p_value)
        assert own.low < own.value < own.high
    assert [own.key for own in there.by_id.values()] == ["a", "b", "c"]


@pytest.mark.parametrize("devices", [OTHERS, UNKNOWN, Devices(changed=0.1)], ids=["others", "unknown", "same"])
@pytest.mark.parametrize("yes", [505, 530, 560, 600, 700])
def test_the_p_value_is_small_exactly_where_the_interval_leaves_nothing_out(devices: Devices, yes: int) -> None:
    """Below 5% where a 95% interval does not hold 0."""
    (own,) = change(BOOLEAN, (500, 500), (1_000 - yes, yes), devices).by_id.values()
    assert (own.p_value < 0.05) == (not own.low <= 0 <= own.high)


def test_a_reach_is_that_of_both_sides_together() -> None:
    """Of independent sides, squares of reaches add up: down of after with up of before."""
    sides = [answer(BOOLEAN, counts(*each)).rows[0] for each in ((600, 400), (300, 700))]
    (own,) = change(BOOLEAN, (600, 400), (300, 700)).by_id.values()
    down = math.hypot(sides[1].value - sides[1].low, sides[0].high - sides[0].value)
    assert own.low == pytest.approx(own.value - down)
    assert own.std_error == pytest.approx(math.hypot(sides[0].std_error, sides[1].std_error))


def test_an_end_of_what_is_possible_is_not_how_far_an_interval_reaches() -> None:
    """Estimates below 0 have intervals that begin with 0: their difference is no less uncertain for that."""
    (low,) = change(BOOLEAN, (740, 260), (740, 260)).by_id.values()
    (middle,) = change(BOOLEAN, (500, 500), (500, 500)).by_id.values()
    assert low.before.low == 0 > low.before.value
    assert low.high - low.low > 0.8 * (middle.high - middle.low)


@pytest.mark.parametrize("metric", COMMON.values(), ids=COMMON)
def test_the_less_is_known_the_wider(metric: Metric) -> None:
    """What was said to be the same is no wider than what is said to be others, and that no wider than not to know."""
    widths = []
    for devices in (Devices(changed=0.0), Devices(changed=0.02), OTHERS, UNKNOWN):
        (own,) = change(metric, (500, 500), (480, 520), devices).by_id.values()
        widths.append(own.high - own.low)
    assert widths == sorted(widths)
    assert widths[0] < widths[2] < widths[3]


def test_answers_that_are_remembered_and_unchanged_cancel() -> None:
    """Where the same reports stand on both sides, there is nothing left to be uncertain of."""
    (own,) = change(REMEMBERED, (480, 520), (480, 520), Devices(changed=0.0)).by_id.values()
    assert (own.low, own.value, own.high, own.p_value) == (0, 0, 0, 1)
    (fresh,) = change(RENEWED, (480, 520), (480, 520), Devices(changed=0.0)).by_id.values()
    (others,) = change(RENEWED, (480, 520), (480, 520)).by_id.values()
    assert 0 < fresh.high < others.high


def test_for_just_the_devices_that_reported_no_values_are_sampled() -> None:
    """Then nothing that is not known makes an interval wider."""
    side = [counts(480, 520)]
    unknown, others = (
        compared(BOOLEAN, side, side, 0.95, Target.REPORTING, devices).by_id for devices in (UNKNOWN, OTHERS)
    )
    assert unknown == others


def test_a_ratio_is_believed_where_after_may_be_so_many_times_before() -> None:
    """At either end the interval of after - r before just holds 0, as Fieller has it."""
    own = change(CATEGORY, (700, 200, 100), (500, 400, 100)).by_id[RowId("shares", "a")]
    assert own.ratio_low < own.ratio < own.ratio_high
    for ratio, squares in (
        (own.ratio_low, (own.after.value - own.after.low, own.before.high - own.before.value)),
        (own.ratio_high, (own.after.high - own.after.value, own.before.value - own.before.low)),
    ):
        distance = abs(own.after.value - ratio * own.before.value)
        assert distance == pytest.approx(math.hypot(squares[0], ratio * squares[1]))


def test_nothing_is_said_of_a_ratio_to_what_may_be_nothing() -> None:
    """Before may be 0; a difference is told all the same."""
    (own,) = change(BOOLEAN, (730, 270), (600, 400)).by_id.values()
    assert math.isnan(own.ratio)
    assert not math.isnan(own.value)


def test_a_baseline_has_no_error() -> None:
    """The interval of the difference is that of the answer, moved; the p-value is about that number."""
    (row,) = answer(BOOLEAN, counts(500, 500)).rows
    (own,) = against(BOOLEAN, {RowId("shares", "yes"): 0.4}, [counts(500, 500)]).by_id.values()
    assert (own.value, own.low, own.high) == pytest.approx((row.value - 0.4, row.low - 0.4, row.high - 0.4))
    (same,) = against(BOOLEAN, {RowId("shares", "yes"): row.value}, [counts(500, 500)]).by_id.values()
    assert same.p_value == 1
    only = against(CATEGORY, {RowId("shares", "b"): 0.3}, [counts(500, 300, 200)])
    assert [own.key for own in only.by_id.values()] == ["b"]
    with pytest.raises(ValueError, match="has no row shares/x; there are shares/yes"):
        against(BOOLEAN, {RowId("shares", "x"): 0.4}, [counts(500, 500)])


def test_a_side_without_reports_differs_by_nothing_that_is_known() -> None:
    """No difference, no p-value."""
    for sides in (((0, 0), (400, 600)), ((400, 600), (0, 0)), ((0, 0), (0, 0))):
        for devices in (UNKNOWN, OTHERS, Devices(changed=0.5)):
            (own,) = change(BOOLEAN, *sides, devices).by_id.values()
            assert math.isnan(own.value)
            assert math.isnan(own.p_value)


def test_quantities_differ_in_their_unit_and_counts_without_an_end_in_no_known_way() -> None:
    """Of events without a max no interval of a difference has an end, and no p-value is told."""
    generator = np.random.default_rng(3)
    sides = []
    for often in (0.3, 0.5):
        levels = generator.choice([0, 1], 4_000, p=[1 - often, often])
        sides.append([NUMBER.randomize(10 + 10 * int(level)) for level in levels])
    before, after = ([accumulate(NUMBER, own)] for own in sides)
    found = compared(NUMBER, before, after, devices=OTHERS).by_id
    mean = found[RowId("mean", "mean")]
    assert abs(mean.value - 2) < 5.5 * mean.std_error
    assert mean.low < mean.value < mean.high
    assert mean.p_value < 0.001
    total = found[RowId("total", "total")]
    assert total.value == pytest.approx(4_000 * mean.value)
    events = [accumulate(EVENTS, [EVENTS.randomize(3) for _ in range(200)]) for _ in range(2)]
    (mean, _) = compared(EVENTS, [events[0]], [events[1]]).by_id.values()
    assert (mean.low, mean.high) == (-math.inf, math.inf)
    assert math.isnan(mean.p_value)


def test_counts_without_an_end_are_compared_where_the_devices_are_the_same() -> None:
    """What their tail could hide is on both sides, and cancels: noise is left. Where an answer may have changed, it
    could be by any number."""
    sides = [[accumulate(EVENTS, [EVENTS.randomize(3) for _ in range(200)])] for _ in range(2)]
    (same, _) = compared(EVENTS, sides[0], sides[1], devices=Devices(changed=0.0)).by_id.values()
    (reporting, _) = compared(EVENTS, sides[0], sides[1], target=Target.REPORTING).by_id.values()
    assert reporting.low - 1e-9 <= same.low < same.value < same.high <= reporting.high + 1e-9
    assert same.high - same.low > 0.9 * (reporting.high - reporting.low)
    (other, _) = compared(EVENTS, sides[0], sides[1], devices=Devices(changed=0.01)).by_id.values()
    assert (other.low, other.high) == (-math.inf, math.inf)


def test_what_is_said_of_devices_has_to_be_possible() -> None:
    """A part is between 0 and 1, and devices are not others and the same."""
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            Devices(changed=wrong)
    with pytest.raises(ValueError, match="not both"):
        Devices(apart=True, changed=0.1)


def test_discoveries_are_those_of_benjamini_and_yekutieli() -> None:
    """The largest p-value that is at most its place times the rate, over the number and the sum of 1 / place."""
    p_values = [0.5, 0.001, math.nan, 0.02, 0.004, 0.04]
    assert found(p_values, 0.05) == [False, True, False, False, True, False]  # 5 rows: 0.00438, 0.00876, 0.0131, ...
    assert found([0.0131, 0.001, 0.0087, 0.04, 0.5], 0.05) == [True, True, True, False, False]
    assert found([], 0.05) == found([math.nan], 0.05)[:0]
    with pytest.raises(ValueError, match="between 0 and 1"):
        found([0.1], 0)


@pytest.mark.parametrize("reports", [1_000, 100_000])
def test_an_interval_that_is_cut_off_reaches_as_far_as_it_would_have(reports: int) -> None:
    """Of a value that nobody has on either side, whose intervals end at 0: each reaches up by r, and would reach down
    by (z standard errors)^2 / r. With z standard errors in its place differences are 1% wider of 1,000 reports."""
    metric = asked("category", 'epsilon = 0.5\nvalues = ["a", "b", "c"]\nmechanism = "randomized_response"')
    rate = float(metric.columns[0].mechanism.q)  # type: ignore[attr-defined]
    rare = math.floor(rate * reports)
    before = after = (reports - 2 * rare, rare, rare)
    own = change(metric, before, after).by_id[RowId("shares", "c")]
    assert own.after.low == 0
    up, error = own.after.high - own.after.value, 1.959964 * own.after.std_error
    assert up > error * 1.001
    assert own.high == pytest.approx(math.hypot(up, error**2 / up), rel=1e-6)
