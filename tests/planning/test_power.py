"""The least change that is seen is seen in eight of ten cases: by pairs of fleets of which the second has changed."""

from __future__ import annotations

from statistics import fmean

import pytest
from tools.plan_power import DEVICES, EPSILONS, PAGE, ROWS, found, looked_at

from deniable.kinds import KINDS
from deniable.mechanisms import MECHANISMS
from deniable_aggregator.answers import Measure, RowId
from deniable_aggregator.planning.population import Shares
from deniable_aggregator.planning.power import POWER, seen
from deniable_aggregator.planning.widths import MOST, widths
from support.asked import asked

CASES = {case.name: case for case in looked_at("4")}
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "devices", "pairs"),
    [
        ("boolean", 1_000, 200),
        ("count of events", 1_000, 300),
        ("flags by bitwise_response, renewed", 100_000, 200),
        ("tree of 5", 1_000, 300),
    ],
)
def test_changes_are_seen_as_often_as_is_said(name: str, devices: int, pairs: int) -> None:
    """Whether or not it is said that the devices are others: 80% to two points, and another five standard errors for
    how well so many pairs know it, 10^-6: four to six points in all. A change that is a tenth smaller would be seen
    in 71%, and fail."""
    _, often = found(CASES[name], devices, pairs)
    for told in often:
        assert told.error < 0.0085, often
        assert abs(told.chance - POWER) <= 0.02 + 5 * told.error, often


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted({*ROWS} - {"text, any word"}))
def test_changes_are_seen_as_often_as_is_said_by_many_pairs(name: str) -> None:
    """The same, of 4,000 pairs of a thousand devices of every kind, by every mechanism: to two points and a half more
    or so."""
    _, often = found(CASES[name], 1_000, 4_000)
    for told in often:
        assert abs(told.chance - POWER) <= 0.02 + 5 * told.error, often


def test_every_kind_and_mechanism_is_looked_at() -> None:
    """At every epsilon, whatever `auto` chooses there."""
    for epsilon in EPSILONS:
        metrics = [case.metric for case in looked_at(epsilon)]
        assert {metric.kind.name for metric in metrics} == {*KINDS}
        assert {column.mechanism.name for metric in metrics for column in metric.columns} == {*MECHANISMS}


def test_changes_are_of_rows_and_no_smaller_than_what_is_uncertain() -> None:
    """Of every row but totals and p-values; it takes more where nothing is known of the devices."""
    metric = asked("number", "range = [0, 60]\nepsilon = 1")
    rows, found_ = widths(metric, 10_000), seen(metric, 10_000)
    assert set(found_) == {own.where for own in rows if own.heading.measure is not Measure.TOTAL}
    for own in rows:
        if own.where in found_:
            assert own.half < found_[own.where].apart <= found_[own.where].change


def test_a_node_that_grows_is_as_uncertain_as_it_is_then() -> None:
    """A tree of one level asks as a category does, of which every share's error after a change is known: the least
    changes are the same to 3% on average, and each to 5%, which is what eight answers leave open. By the error before
    they were 7% less."""
    names = [f"v{place}" for place in range(16)]
    listed = ", ".join(f'"{name}"' for name in names)
    tree = asked("tree", f"paths = [{listed}]\nepsilon = 2")
    category = asked("category", f"values = [{listed}]\nepsilon = 2")
    assert [column.mechanism for column in tree.columns] == [column.mechanism for column in category.columns]
    found, known = seen(tree, 1_000), seen(category, 1_000)
    for part in ("change", "apart"):
        where = [RowId("shares", name) for name in names]
        ratios = [getattr(found[each], part) / getattr(known[each], part) for each in where]
        assert fmean(ratios) == pytest.approx(1, abs=0.03)
        assert ratios == pytest.approx([1] * len(names), abs=0.05)


def test_a_change_is_planned_where_but_one_of_some_values_occurs() -> None:
    """Of a truth that gives a value no weight: the same as if it were one in a billion."""
    tree = asked("tree", 'paths = ["a", "b", "c"]\nepsilon = 2')
    found, known = (seen(tree, 1_000, Shares.of(["a", "b"], [1.0, rare])) for rare in (0.0, 1e-9))
    for where, own in known.items():
        assert found[where].change == pytest.approx(own.change, rel=1e-3), where
        assert found[where].apart == pytest.approx(own.apart, rel=1e-3), where


def test_four_times_as_many_devices_see_half_of_it() -> None:
    """Also beyond those that are drawn."""
    metric = asked("distribution", "range = [0, 4]\nbuckets = 4\nepsilon = 1")
    few, many = seen(metric, MOST), seen(metric, 4 * MOST)
    shares = [where for where in few if where.series in {"curve", "histogram"}]
    assert shares
    for where in shares:
        assert many[where].change == pytest.approx(few[where].change / 2, rel=0.05), where


def test_the_page_has_what_was_measured() -> None:
    """Of every metric that is looked at, at every epsilon, of a thousand devices and of a hundred thousand; and what
    it has is within two points, and three standard errors."""
    for epsilon in EPSILONS:
        for name in ROWS:
            for devices in DEVICES:
                begin = f"\n| {epsilon} | {name} | {devices:,} |"
                assert begin in TEXT, begin
                *_, unknown, more, _, apart, most, _ = TEXT.partition(begin)[2].partition("\n")[0].split("|")
                if "%" in unknown:
                    for told, sure in ((unknown, more), (apart, most)):
                        off = abs(float(told.strip(" %")) - 80)
                        assert off <= 2 + 3 * float(sure.strip(" %")) / 1.96, begin
