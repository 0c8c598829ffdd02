"""The answers of trees: every node's share, and whole numbers of devices that add up."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import Metric
from deniable_aggregator import whole_numbers
from deniable_aggregator.answers import Estimate, RowId, answer, consistent, row_count, truth
from deniable_aggregator.planning.simulate import simulate
from support.asked import asked

PATHS = ["west/c/d", "north/a", "south", "north/b", "west/f", "west/c/e"]
DEVICES = dict(zip(PATHS, [900, 40, 0, 1_500, 7, 53], strict=True))
VALUES = [leaf for leaf, count in DEVICES.items() for _ in range(count)]


def metric(epsilon: float = 1.0, more: str = "") -> Metric:
    """A ragged tree."""
    return asked("tree", f"paths = {PATHS}\nepsilon = {epsilon}\n".replace("'", '"') + more)


def simulated(own: Metric, seed: int) -> list[NDArray[np.int64]]:
    """What the devices send."""
    return simulate(own, VALUES, np.random.default_rng(seed))


def fitted(own: Metric, found: Estimate) -> dict[RowId, float | None]:
    """The consistent view."""
    return dict(zip(found.ids, consistent(own, found), strict=True))


def devices_of(own: Metric, found: Estimate) -> dict[str, int]:
    """The whole numbers of the consistent view, by node."""
    numbers = {where.key: number for where, number in fitted(own, found).items() if where.series == "devices"}
    assert all(number is not None and number == int(number) >= 0 for number in numbers.values())
    return {node: int(number or 0) for node, number in numbers.items()}


def test_a_row_a_node_below_its_parent() -> None:
    """Keys are paths, once each, those below a node after it; both series have them all."""
    found = answer(metric(), simulated(metric(), 1))
    for series in found.series:
        assert [(row.key, row.parent) for row in series.rows] == [
            ("west", ""),
            ("west/c", "west"),
            ("west/c/d", "west/c"),
            ("west/c/e", "west/c"),
            ("west/f", "west"),
            ("north", ""),
            ("north/a", "north"),
            ("north/b", "north"),
            ("south", ""),
        ]
    assert row_count(metric()) == len(found.rows) == 18
    assert found.reports == len(VALUES)


def test_estimates_add_up_and_devices_are_shares_of_the_reports() -> None:
    """Children to their parents, the first level to all; of devices all is as many times more."""
    found = answer(metric(), simulated(metric(), 2))
    shares, devices = (dict(zip([row.key for row in own.rows], own.rows, strict=True)) for own in found.series)
    sums: Counter[str] = Counter()
    for row in shares.values():
        sums[row.parent] += row.value  # type: ignore[assignment]
    assert sums[""] == pytest.approx(1)
    assert all(sums[node] == pytest.approx(shares[node].value) for node in ("west", "west/c", "north"))
    for key, row in shares.items():
        own = devices[key]
        assert [own.value, own.low, own.high, own.std_error] == pytest.approx(
            [len(VALUES) * number for number in (row.value, row.low, row.high, row.std_error)]
        )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_devices_are_whole_numbers_that_add_up(epsilon: float) -> None:
    """Whatever the noise: none is negative, children add up to their parents, the first level to the reports; and
    shares are these numbers' parts of them."""
    own = metric(epsilon)
    for seed in range(10):
        found = answer(own, simulated(own, seed))
        view = fitted(own, found)
        sums: Counter[str] = Counter()
        for series, row in ((each.heading.name, row) for each in found.series for row in each.rows):
            number = view[RowId(series, row.key)]
            assert number is not None
            if series == "devices":
                assert number == int(number) >= 0
                sums[row.parent] += int(number)
                share = view[RowId("shares", row.key)]
                assert share is not None
                assert share * len(VALUES) == pytest.approx(number)
        assert sums[""] == len(VALUES)
        assert all(sums[node] == view[RowId("devices", node)] for node in ("west", "west/c", "north"))


def test_estimates_are_right_on_average_and_fitted_ones_nearer() -> None:
    """120 fleets: each row's mean is within 5.5 standard errors of the truth (of 9 rows by chance less than once in a
    million times). The consistent numbers' squared error is less by 6 standard errors over all nodes, and at no level
    more by 5."""
    own, true = metric(), truth(metric(), VALUES)
    raw, whole = [], []
    for seed in range(120):
        found = answer(own, simulated(own, 1_000 + seed))
        view = fitted(own, found)
        rows = found.series[1].rows
        raw.append([row.value - true[RowId("devices", row.key)] for row in rows])
        whole.append([(view[RowId("devices", row.key)] or 0) - true[RowId("devices", row.key)] for row in rows])
    errors, fits = np.array(raw), np.array(whole)
    assert (np.abs(errors.mean(axis=0)) < 5.5 * errors.std(axis=0) / np.sqrt(len(errors))).all()
    depths = np.array([row.key.count("/") for row in found.series[1].rows])
    gains = errors**2 - fits**2
    for depth in range(3):
        own_level = gains[:, depths == depth].mean(axis=1)
        assert own_level.mean() > -5 * own_level.std() / np.sqrt(len(gains))
    total = gains.mean(axis=1)
    assert total.mean() > 6 * total.std() / np.sqrt(len(total))


def test_what_is_known_of_nodes_is_kept_and_all_else_fits_it() -> None:
    """Nobody in the south, 950 below west/c: whole numbers with these, which add up at every node."""
    own = metric()
    found = answer(own, simulated(own, 3))
    devices = whole_numbers(found, {"south": 0, "west/c": 950})
    assert (devices["south"], devices["west/c"]) == (0, 950)
    assert devices["west/c/d"] + devices["west/c/e"] == 950
    assert devices["west"] == 950 + devices["west/f"]
    assert devices["west"] + devices["north"] == len(VALUES)
    assert list(whole_numbers(found).values()) == consistent(own, found)[9:]


KNOWN = 'known = { west = 0.384, south = 0, "west/c" = 0.3812, "west/c/d" = 0.36 }\n'


def test_what_a_collection_knows_of_nodes_is_in_the_consistent_view() -> None:
    """Of all reports, in whole numbers that fit together however many there are; of a segment where nobody is."""
    own = metric(more=KNOWN)
    for seed, leave_out in ((1, 0), (2, 7), (3, 333)):
        counters = simulate(own, VALUES[leave_out:], np.random.default_rng(seed))
        found = answer(own, counters)
        devices = devices_of(own, found)
        for node, share in dict(own.kind.known).items():  # type: ignore[attr-defined]
            assert abs(devices[node] - float(share) * found.reports) <= 1
        sums: Counter[str] = Counter()
        for row in found.series[1].rows:
            sums[row.parent] += devices[row.key]
        assert sums.pop("") == found.reports
        assert all(total == devices[node] for node, total in sums.items())
        part = dict(zip(found.ids, consistent(own, found, part=True), strict=True))
        assert list(part.values())[9:] == list(whole_numbers(found, {"south": 0}).values())


def test_shares_that_are_known_add_up_to_whole_numbers() -> None:
    """Thirds of a hundred: every leaf is known, and they are a hundred."""
    own = asked(
        "tree",
        'paths = ["a/x", "a/y", "b"]\nepsilon = 1\nknown = { a = 0.67, "a/x" = 0.335, "a/y" = 0.335, b = 0.33 }',
    )
    found = answer(own, simulate(own, ["a/x"] * 34 + ["a/y"] * 33 + ["b"] * 34, np.random.default_rng(1)))
    devices = devices_of(own, found)
    assert devices["a"] == devices["a/x"] + devices["a/y"] == 101 - devices["b"]
    assert all(abs(devices[node] - 101 * share) <= 1 for node, share in (("a", 0.67), ("a/x", 0.335), ("b", 0.33)))


def test_where_totals_are_known_no_level_is_farther_from_the_truth() -> None:
    """Of a hierarchy of mostly empty leaves, where what may not be negative is biased upwards: no error at the first
    level, which is known, and less than half of the squared error below it (60 fleets; 6 standard errors)."""
    paths = [f"{first}/{second}" for first in "abcd" for second in range(12)]
    devices = {"a/0": 700, "a/1": 200, "b/1": 60, "c/1": 30, "d/1": 10}
    values = [leaf for leaf, count in devices.items() for _ in range(count)]
    text = f"paths = {paths}\nepsilon = 1\nknown = {{ a = 0.9, b = 0.06, c = 0.03, d = 0.01 }}"
    own = asked("tree", text.replace("'", '"'))
    gains: list[float] = []
    true = truth(own, values)
    for seed in range(60):
        found = answer(own, simulate(own, values, np.random.default_rng(2_000 + seed)))
        ids = [RowId("devices", row.key) for row in found.series[1].rows]
        raw = np.array([found.row(where).value - true[where] for where in ids])
        view = devices_of(own, found)
        known = np.array([view[where.key] - true[where] for where in ids])
        inner = np.array(["/" not in where.key for where in ids])
        assert not known[inner].any()
        gains.append(float(np.mean(raw[~inner] ** 2 / 2 - known[~inner] ** 2)))
    assert np.mean(gains) > 6 * np.std(gains) / np.sqrt(len(gains))


def test_what_cannot_be_known_is_refused() -> None:
    """A node that is not there, a part that is more than the whole, and an answer that is no tree's."""
    own = metric()
    found = answer(own, simulated(own, 3))
    with pytest.raises(LookupError, match="no node 'east'"):
        whole_numbers(found, {"east": 0})
    with pytest.raises(ValueError, match="'west/c' is known to be 3, and what is known below it 4"):
        whole_numbers(found, {"west/c": 3, "west/c/d": 4})
    with pytest.raises(ValueError, match="all of it is known to be 2500, and what is known below it 2501"):
        whole_numbers(found, {"north": 2501})
    yes = asked("boolean", "epsilon = 1")
    with pytest.raises(ValueError, match="is no tree"):
        whole_numbers(answer(yes, [np.array([40, 60])]))


def test_without_reports_nothing_is_known() -> None:
    """Every share is between none and all, and there is no consistent view."""
    own = metric()
    found = answer(own, [np.zeros(column.shape.counters, dtype=np.int64) for column in own.columns])
    assert {(row.low, row.high) for row in found.series[0].rows} == {(0.0, 1.0)}
    assert all(np.isnan(row.value) for row in found.rows)
    assert set(consistent(own, found)) == {None}


def test_a_level_that_nobody_has_drawn_is_none_of_a_few_reports() -> None:
    """Of three reports two levels may have none: what is known of these nodes is next to nothing, and it adds up."""
    own = metric()
    found = answer(own, simulate(own, VALUES[:3], np.random.default_rng(1)))
    assert sum(row.value for row in found.series[0].rows if not row.parent) == pytest.approx(1)
    assert all(row.high >= row.low for row in found.rows)


def test_the_truth_is_what_devices_have() -> None:
    """At every node, of itself and all below it."""
    found = truth(metric(), VALUES)
    assert found[RowId("devices", "west/c")] == 953
    assert found[RowId("devices", "south")] == 0
    assert found[RowId("shares", "north")] == pytest.approx(1_540 / 2_500)
