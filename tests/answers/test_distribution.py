"""Answers about distributions: what rows there are, what they say of fleets that are known, what can be asked for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from deniable import Metric, Report
from deniable.kinds import Distribution
from deniable_aggregator import RowId, estimate
from deniable_aggregator.analysis.windows import windowed
from deniable_aggregator.answers import (
    Estimate,
    Target,
    _curve,
    answer,
    check_asked,
    consistent,
    headings,
    leading,
    quantile_key,
    row_count,
    share_key,
    truth,
)  # fmt: skip
from deniable_aggregator.answers.distribution import tree_of
from deniable_aggregator.estimators import expected
from deniable_aggregator.planning.simulate import simulate
from support.asked import asked

SERIES = ["quantiles", "curve", "histogram", "shares", "mean", "standard deviation"]


def load(buckets: int = 100, more: str = "epsilon = 4") -> Metric:
    """A range of so many buckets of width 1."""
    return asked("distribution", f'range = [0, {buckets}]\nbuckets = {buckets}\nunit = "ms"\n{more}')


def exactly(metric: Metric, values: list[float], reports: int = 10**7) -> list[np.ndarray]:
    """The counters that so many devices with these values make on average, to whole reports."""
    kind = metric.kind
    assert isinstance(kind, Distribution)
    buckets = np.bincount([kind.bucket(value) for value in values], minlength=kind.buckets) / len(values)
    counters = []
    for level, (column, share) in enumerate(
        zip(metric.columns, kind.allotment([c.mechanism for c in metric.columns]), strict=True)
    ):
        nodes = [kind.node(level, bucket) for bucket in range(kind.buckets)]
        shares = np.bincount(nodes, buckets)
        p, q, own = float(column.mechanism.p), float(column.mechanism.q), round(reports * share)  # type: ignore[attr-defined]
        supports = own * (q + (p - q) * shares)
        counters.append(
            np.rint(supports if column.shape.counters == len(shares) else [own, *supports]).astype(np.int64)
        )
    return counters


def told(found: Estimate, metric: Metric, values: list[float]) -> dict[str, tuple[float, float, float, float]]:
    """Of every row its truth, value, low and high, by its key."""
    true = truth(metric, values)
    return {row.key: (true[where], row.value, row.low, row.high) for where, row in found.by_id.items()}


VALUES = [float(value) for value in np.random.default_rng(5).gamma(4, 6, 4000).round(1)]


def test_an_answer_has_six_series_and_the_median_leads() -> None:
    """Those that `headings` tells; the rows of shares are those that are asked for."""
    metric = load()
    found = answer(metric, exactly(metric, VALUES))
    assert [series.heading for series in found.series] == list(headings(metric))
    assert [series.heading.name for series in found.series] == SERIES
    assert leading(metric, found) == RowId("quantiles", "p50")
    assert not found.series[3].rows
    assert len(found.rows) <= row_count(metric)
    assert [row.key for row in found.series[0].rows] == ["p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"]


def test_what_is_told_without_noise_is_the_truth() -> None:
    """Every row's interval holds it; quantiles are in the right bucket, shares right to what whole reports leave."""
    metric = load()
    rows = told(answer(metric, exactly(metric, VALUES)), metric, VALUES)
    for key, (true, value, low, high) in rows.items():
        assert low <= true <= high, key
        if key.startswith("p"):
            assert abs(value - true) <= 1
        elif key not in {"mean", "standard deviation"}:
            assert value == pytest.approx(true, abs=1e-4), key
    assert rows["mean"][1] == pytest.approx(rows["mean"][0], abs=0.1)
    assert rows["standard deviation"][1] == pytest.approx(rows["standard deviation"][0], abs=0.1)


def test_any_quantile_and_any_range_can_be_asked_for() -> None:
    """Rows besides those that there are; of a range that cuts buckets the interval reaches over all of them."""
    metric = load()
    rows = [RowId("quantiles", quantile_key(0.375)), RowId("shares", share_key(above=20)),
            RowId("shares", share_key(below=12.5)), RowId("shares", share_key(10, 20))]  # fmt: skip
    check_asked(metric, rows)
    counters = exactly(metric, VALUES)
    found = answer(metric, counters, more=rows)
    true = truth(metric, VALUES)
    assert [found.row(row).key for row in rows] == ["p37.5", "above 20", "below 12.5", "10 to 20"]
    for row in rows:
        assert found.row(row).low <= true[row] <= found.row(row).high
    above, cut = found.row(rows[1]), found.row(rows[2])
    assert above.value == pytest.approx(true[rows[1]], abs=1e-4)
    ends = answer(metric, counters, more=[RowId("shares", "below 12"), RowId("shares", "below 13")])
    lower, upper = (ends.row(RowId("shares", key)) for key in ("below 12", "below 13"))
    assert cut.low == pytest.approx(lower.low, abs=1e-9)
    assert cut.high == pytest.approx(upper.high, abs=1e-9)
    assert cut.value == pytest.approx((lower.value + upper.value) / 2, abs=1e-9)
    assert found.series[0].rows[:8] == answer(metric, counters).series[0].rows


@pytest.mark.parametrize(
    ("series", "key", "complaint"),
    [
        ("quantiles", "p0", "a percentage between 0 and 100"),
        ("quantiles", "p100", "a percentage between 0 and 100"),
        ("quantiles", "median", "a percentage between 0 and 100"),
        ("shares", "over 20", '"above 200", "below 200" or "200 to 2000"'),
        ("shares", "20 to 10", "goes up"),
        ("curve", "20", "has no row '20' of 'curve' to ask for"),
        ("means", "20", "has no row '20' of 'means' to ask for"),
    ],
)
def test_what_can_not_be_asked_for_is_said(series: str, key: str, complaint: str) -> None:
    """Before anything is read, and by `answer` as well."""
    metric = load()
    with pytest.raises(ValueError, match=complaint):
        check_asked(metric, [RowId(series, key)])
    with pytest.raises(ValueError, match=complaint):
        answer(metric, exactly(metric, VALUES), more=[RowId(series, key)])
    with pytest.raises(ValueError, match="to ask for"):
        check_asked(asked("boolean", "epsilon = 1"), [RowId("shares", "above 2")])


def test_an_estimate_of_reports_at_hand_can_be_asked_for_more() -> None:
    """`share(above=...)` and `quantile(...)`; without the reports it says so, as does another kind."""
    metric = load(8)
    reports = [metric.randomize(value % 8) for value in range(4000)]
    found = estimate(metric, reports)
    above, between = found.share(above=6), found.share(above=2, below=6)
    for row, true in ((above, 0.25), (between, 0.5)):
        assert abs(row.value - true) < 5.5 * row.std_error
        assert row.low < row.value < row.high
    assert 3 <= found.quantile(0.5).value <= 5
    assert found.quantile(0.5) == found.row(RowId("quantiles", "p50"))
    with pytest.raises(ValueError, match="above a number"):
        found.share()
    with pytest.raises(ValueError, match="between 0 and 1"):
        found.quantile(50)
    with pytest.raises(LookupError, match="not at hand"):
        answer(metric, simulate(metric, [1.0] * 9, np.random.default_rng(1))).share(above=6)
    plain = asked("boolean", "epsilon = 1")
    with pytest.raises(ValueError, match="to ask for"):
        estimate(plain, [plain.randomize(True)]).share(above=6)


@pytest.mark.parametrize("seed", range(3))
def test_the_consistent_curve_never_falls_and_its_bars_add_up(seed: int) -> None:
    """However noisy the raw one is; quantiles, which lie on it, do not fall either, and each is in its interval."""
    metric = load(64, "epsilon = 0.5")
    found = answer(metric, simulate(metric, VALUES[:1500], np.random.default_rng(seed)))
    fitted = dict(zip(found.ids, consistent(metric, found), strict=True))
    curve = [fit for where, fit in fitted.items() if where.series == "curve"]
    bars = [fit for where, fit in fitted.items() if where.series == "histogram"]
    assert all(fit is not None and 0 <= fit <= 1 for fit in [*curve, *bars])
    assert curve == sorted(curve)  # type: ignore[type-var]
    assert sum(bar or 0.0 for bar in bars) == pytest.approx(1)
    raw = [row.value for row in found.series[1].rows]
    assert raw != sorted(raw)
    quantiles = found.series[0].rows
    assert [row.value for row in quantiles] == sorted(row.value for row in quantiles)
    assert all(row.low <= row.value <= row.high for row in quantiles)


def test_without_reports_nothing_is_known() -> None:
    """Intervals are all that is possible; a single report does not change much."""
    metric = load()
    nothing = answer(metric, [np.zeros(column.shape.counters, dtype=np.int64) for column in metric.columns])
    assert nothing.reports == 0
    assert all(math.isnan(row.value) for row in nothing.rows)
    assert (nothing.rows[0].low, nothing.rows[0].high) == (0.0, 100.0)
    assert all(fit is None for fit in consistent(metric, nothing))
    one = estimate(metric, [Report(metric.columns[0].number, 1)])
    assert all(row.low <= row.high for row in one.rows)
    assert one.row(RowId("quantiles", "p5")).high == 100.0


def test_more_reports_make_finer_bars_and_never_more_than_they_carry() -> None:
    """The error of a bar is at most half of an average bar's share; two answers to as many reports have the same."""
    metric = load(512, 'epsilon = 1\nmechanism = "subset_selection"')
    kind = metric.kind
    assert isinstance(kind, Distribution)
    mechanisms = [column.mechanism for column in metric.columns]
    before = 2
    for reports in (100, 10_000, 1_000_000):
        found = answer(metric, exactly(metric, VALUES, reports))
        bars = found.series[2].rows
        assert len(bars) >= before
        before = len(bars)
        assert max(bar.std_error for bar in bars) <= 0.55 / len(bars) or len(bars) == 2
        again = answer(metric, exactly(metric, [7.0] * 10, reports))
        assert [row.key for row in again.series[2].rows] == [bar.key for bar in bars]
    assert before == 64
    tree = tree_of(kind)
    fleet = expected(mechanisms, tree, kind.allotment(mechanisms), 10**6)
    assert fleet.reports == pytest.approx(10**6, abs=10)


@pytest.mark.parametrize(("buckets", "reports"), [(512, 1_000), (1_000, 10_000), (1_024, 10_000)])
def test_quantiles_are_those_that_exact_errors_of_every_boundary_make(
    buckets: int, reports: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rough errors only say of which boundaries exact ones are not needed."""
    metric, generator = load(buckets, "epsilon = 1"), np.random.default_rng(buckets + reports)
    values = np.clip(generator.lognormal(np.log(buckets / 5), 0.7, reports), 0, buckets - 1)
    counters = simulate(metric, values.tolist(), generator)
    keys = {"quantiles": [quantile_key(share / 100) for share in range(1, 100)]}
    some = answer(metric, counters, 0.95, Target.POPULATION, keys=keys)
    monkeypatch.setattr(_curve, "_FEW", buckets)
    assert some.rows == answer(metric, counters, 0.95, Target.POPULATION, keys=keys).rows


def test_values_that_all_are_one_have_the_quantiles_of_their_bucket() -> None:
    """Where the curve rises in one bucket, every quantile is in it."""
    metric = load()
    found = answer(metric, exactly(metric, [42.0] * 10))
    for row in found.series[0].rows:
        assert (row.low, row.high) == (42.0, 43.0), row


def test_a_window_of_the_same_devices_is_wider_than_one_of_others() -> None:
    """By what values are of the variance: hardly where noise is everything, and as one epoch where it is little."""
    for more, least, most in (("epsilon = 0.2", 1.0, 1.3), ("epsilon = 8", 2.0, math.sqrt(30))):
        metric = load(16, more)
        epochs = [exactly(metric, VALUES, 10_000)] * 30
        key = RowId("curve", "8")
        window = windowed(metric, epochs, 0.95, Target.POPULATION).estimate.row(key)
        others = answer(metric, [np.stack(own).sum(axis=0) for own in zip(*epochs, strict=True)]).row(key)
        alone = answer(metric, epochs[0]).row(key)
        wider = window.std_error / others.std_error
        assert least <= wider <= most
        assert window.std_error <= alone.std_error * 1.05


def test_rows_that_are_asked_for_have_a_window_too() -> None:
    """With the same key in every window and epoch."""
    metric = load(16)
    more: list[Any] = [RowId("shares", "above 8"), RowId("quantiles", "p33")]
    epochs = [exactly(metric, VALUES, 5_000)] * 3
    found = windowed(metric, epochs, 0.95, Target.POPULATION, more=more).estimate
    assert all(found.row(row).low <= truth(metric, VALUES)[row] <= found.row(row).high for row in more)


def test_some_series_can_be_told_alone() -> None:
    """With the rows that they have otherwise; one that there is not is said."""
    metric = load()
    counters = exactly(metric, VALUES)
    whole, some = answer(metric, counters), answer(metric, counters, only=["quantiles", "mean"])
    assert [series.heading.name for series in some.series] == ["quantiles", "mean"]
    assert some.rows == tuple(
        row for row, where in zip(whole.rows, whole.ids, strict=True) if where.series in {"quantiles", "mean"}
    )
    check_asked(metric, [], ["curve"])
    with pytest.raises(ValueError, match="no series 'curves'; its series: quantiles, curve"):
        check_asked(metric, [], ["curves"])
    plain = asked("ordinal", 'values = ["a", "b"]\nepsilon = 1')
    assert [series.heading.name for series in answer(plain, [np.array([4, 6])], only=["mean rank"]).series] == [
        "mean rank"
    ]


def test_quantiles_lie_on_a_smooth_curve() -> None:
    """Of a density that rises evenly the median of five wide buckets is right to a hundredth of the range; a straight
    line within its bucket would be off by more than the curve is."""
    metric = asked("distribution", "range = [0, 100]\nbuckets = 5\nepsilon = 4")
    values = [float(value) for value in 100 * np.sqrt((np.arange(20_000) + 0.5) / 20_000)]
    found = answer(metric, exactly(metric, values))
    for key, true in (("p25", 50.0), ("p50", 70.71), ("p75", 86.60)):
        assert found.row(RowId("quantiles", key)).value == pytest.approx(true, abs=0.6)
