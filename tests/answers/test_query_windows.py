"""Windows of several epochs: intervals that know that a device may have reported in each of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import Collection, Metric
from deniable.payload import Bitmap, Integer, Integers, Symbol
from deniable_aggregator.analysis.windows import scaled, windowed
from deniable_aggregator.answers import Target, answer
from support.asked import LINKABLE, asked
from support.collection_files import head, metric

Counters = NDArray[np.int64]


def fleet(**memo: Any) -> Collection:
    """A collection of one metric of each sort, which is remembered or not."""
    return Collection.loads(
        head("editor", 9.0)
        + metric("dark", "boolean", epsilon=2.0, **memo)
        + metric("browser", "category", epsilon=2.0, values=list("abcde"), mechanism="randomized_response", **memo)
        + metric("minutes", "number", epsilon=2.0, range=[0, 10], mechanism="laplace", **memo)
    )


MEMOIZED, FRESH = fleet(memoize=True, instantaneous_epsilon="linkable"), fleet()
SHARES = np.array([0.5, 0.25, 0.15, 0.1, 0.0])


def epochs_of(
    metric: Metric,
    shares: NDArray[np.float64],
    devices: int,
    epochs: int,
    present: float,
    generator: np.random.Generator,
) -> list[list[Counters]]:
    """The counters of a fleet whose devices keep their value; in each epoch others of them report, equally many."""
    channel = np.array([[float(own[payload]) for payload in sorted(own)] for own in metric.columns[0].channel()])
    here = round(present * devices)
    kept = generator.multinomial(devices, shares)
    if metric.memoize:
        said = generator.multinomial(kept, channel).sum(axis=0)
        return [[generator.multivariate_hypergeometric(said, here)] for _ in range(epochs)]
    values = generator.multivariate_hypergeometric(kept, here, size=epochs)
    return [[own] for own in generator.multinomial(values, channel).sum(axis=1)]


def test_a_window_of_equal_memoized_epochs_is_as_sure_as_one_of_them() -> None:
    """The same devices said the same thing thirty times: values and reports of all, the interval of one."""
    metric = MEMOIZED.metrics["browser"]
    once = np.array([500, 250, 150, 90, 10])
    one, found = answer(metric, [once]), windowed(metric, [[once]] * 30, 0.95, Target.POPULATION)
    assert found.estimate.reports == 30 * one.reports
    assert found.effective == pytest.approx(one.reports)
    for row, alone in zip(found.estimate.rows, one.rows, strict=True):
        assert row.value == pytest.approx(alone.value)
        assert (row.low, row.high, row.std_error) == (alone.low, alone.high, alone.std_error)


def test_effective_reports_of_epochs_of_different_size_are_those_of_cauchy_and_schwarz() -> None:
    """Epochs of 100, 400 and 900 reports: 1400^2 / (10 + 20 + 30)^2 = 544.4 reports."""
    metric = MEMOIZED.metrics["dark"]
    epochs = [[np.array([size // 2, size // 2])] for size in (100, 400, 900)]
    found = windowed(metric, epochs, 0.95, Target.POPULATION)
    assert found.effective == pytest.approx(1400**2 / 60**2)
    noise = found.estimate.rows[0].std_error * math.sqrt(544)
    assert noise == pytest.approx(answer(metric, [np.array([272, 272])]).rows[0].std_error * math.sqrt(544))


def test_a_total_is_of_all_reports_with_the_interval_of_the_effective_ones() -> None:
    """The total's interval is the mean's, times the number of reports in the window."""
    metric = MEMOIZED.metrics["minutes"]
    generator = np.random.default_rng(5)
    reports = generator.integers(40, 60, 2000)
    once = np.array([2000, reports.sum(), (reports**2).sum(), 0])
    mean, total = windowed(metric, [[once]] * 4, 0.95, Target.POPULATION).estimate.rows[:2]
    assert total.value == pytest.approx(mean.value * 8000)
    assert total.low == pytest.approx(mean.low * 8000)
    assert total.high == pytest.approx(mean.high * 8000)
    assert total.std_error == pytest.approx(mean.std_error * 8000)


def test_fresh_noise_averages_out_but_the_sample_stays_the_same() -> None:
    """An interval about the devices that reported treats fresh reports as independent; one about the population
    keeps the part of the variance that is the devices' own: with 25 epochs, 1/25 of the noise and all of the rest."""
    metric = FRESH.metrics["dark"]
    once = np.array([5000, 5000])
    (alone,) = answer(metric, [once], target=Target.REPORTING).rows
    reporting = windowed(metric, [[once]] * 25, 0.95, Target.REPORTING)
    assert reporting.estimate.rows[0].std_error == pytest.approx(alone.std_error / 5)
    (row,) = windowed(metric, [[once]] * 25, 0.95, Target.POPULATION).estimate.rows
    sampling = 0.5 * 0.5 / 10_000
    assert row.std_error == pytest.approx(math.sqrt(sampling + alone.std_error**2 / 25), rel=0.025)
    assert row.std_error >= math.sqrt(sampling + alone.std_error**2 / 25) - 1e-9


@pytest.mark.parametrize("collection", [MEMOIZED, FRESH], ids=["memoized", "fresh"])
@pytest.mark.parametrize("present", [1.0, 0.6])
def test_intervals_of_windows_cover_where_pooling_fails(collection: Collection, present: float) -> None:
    """Devices that keep their value report in 20 epochs. Of 95% intervals at least 94% hold the population's share;
    pooled as if every report were another device's, at most 85% of them do.

    1,500 intervals: if 94.5% hold, fewer than 91.5% do by chance once in 10^6; if 88% hold, that is seen with a
    chance of more than 99.9%. The pooled ones hold in 40% to 75% of cases.
    """
    metric = collection.metrics["browser"]
    generator = np.random.default_rng(20260731)
    held, pooled, fleets = 0, 0, 300
    for _ in range(fleets):
        epochs = epochs_of(metric, SHARES, 400, 20, present, generator)
        found = windowed(metric, epochs, 0.95, Target.POPULATION).estimate.rows
        naive = answer(metric, [np.stack([own[0] for own in epochs]).sum(axis=0)]).rows
        held += sum(row.low <= share <= row.high for row, share in zip(found, SHARES, strict=True))
        pooled += sum(row.low <= share <= row.high for row, share in zip(naive, SHARES, strict=True))
    assert held / (fleets * len(SHARES)) >= 0.915
    assert pooled / (fleets * len(SHARES)) <= 0.85


@pytest.mark.parametrize(
    ("shape", "counters"),
    [
        (Symbol(4), [10, 20, 33, 37]),
        (Bitmap(3, 1), [100, 20, 33, 47]),
        (Integer(1000), [100, 50_000, 3, 7]),
        (Integers(2, 10), [100, -37, 12, 5, 6, 1, 2]),
    ],
)
def test_counters_are_scaled_by_what_they_are(
    shape: Symbol | Bitmap | Integer | Integers, counters: list[int]
) -> None:
    """A fourth of the reports: a fourth of every count, sum and sum of squares, to the nearest whole."""
    quarter = scaled(np.array(counters), shape, 0.25).tolist()
    assert len(quarter) == len(counters)
    if isinstance(shape, Symbol):
        assert sum(quarter) == 25
    else:
        assert quarter[0] == 25
    if isinstance(shape, Integer | Integers):
        size = (len(counters) - 1) // 3
        for low, high in zip(range(1 + size, 1 + 2 * size), range(1 + 2 * size, 1 + 3 * size), strict=True):
            whole = counters[low] + (counters[high] << 32)
            assert abs(4 * (quarter[low] + (quarter[high] << 32)) - whole) <= 2
    else:
        assert all(abs(4 * part - whole) <= 4 for part, whole in zip(quarter, counters, strict=True))


def test_a_window_without_reports_knows_nothing() -> None:
    """No reports in any epoch: no value, and an interval of everything."""
    found = windowed(MEMOIZED.metrics["dark"], [[np.zeros(2, np.int64)]] * 3, 0.95, Target.POPULATION)
    (row,) = found.estimate.rows
    assert math.isnan(row.value)
    assert (row.low, row.high) == (0.0, 1.0)


SWITCHED = 'flags = ["map", "usage", "vim", "wrap"]\nepsilon = 1\nmechanism = "randomized_response"\nmemoize = true\n'
FLAGS = asked("flags", SWITCHED + LINKABLE)


def test_columns_are_weighed_each_by_its_own_reports() -> None:
    """A device answers one flag: flags of which little or nothing came do not change what is known of the others."""
    one, other, none = np.array([300, 700]), np.array([3, 4]), np.array([0, 0])
    found = windowed(FLAGS, [[one, other, none, one]] * 9, 0.95, Target.POPULATION).estimate
    alone = answer(FLAGS, [one, other, none, one])
    assert found.reports == 9 * alone.reports
    for row, once in zip(found.rows, alone.rows, strict=True):
        assert (row.low, row.high) == (once.low, once.high)
    assert (found.rows[2].low, found.rows[2].high) == (0.0, 1.0)
