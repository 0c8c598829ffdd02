"""Estimates weighted to a population whose make-up is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tools.fleets import Case, Fleet
from tools.window_samples import Sampler, asked

from deniable_aggregator.analysis.catalog import NotKnownError
from deniable_aggregator.analysis.weighting import checked, weighted
from deniable_aggregator.analysis.windows import windowed
from deniable_aggregator.answers import Target

CASES = {case.name: case for case in asked("1")}
SAMPLES = 400


def share_of(case: Case, yes: int) -> Sampler:
    """Devices of which so many in ten say yes."""
    return Sampler(Case(case.name, case.metric, Fleet("own", [True, False], [yes, 10 - yes])))


@pytest.mark.parametrize("epochs", [1, 5])
def test_a_platform_that_reports_less_often_weighs_as_much_as_it_should(epochs: int) -> None:
    """Six in ten devices are of the first stratum, of which 80% say yes, and of the second 20% do; but of the first
    only 500 report, and of the second 2,000. 94% of 95% intervals hold 56%, where unweighted ones never do.

    False alarm: 4.9 standard deviations below 94%.
    """
    case, generator = CASES["boolean by randomized_response, renewed"], np.random.default_rng(2)
    high, low, held, plain = share_of(case, 8), share_of(case, 2), 0, 0
    for _ in range(SAMPLES):
        one = high.epochs(high.kept(500, generator), epochs, generator)
        other = low.epochs(low.kept(2_000, generator), epochs, generator)
        found, worth = weighted(case.metric, [(0.6, one), (0.4, other)])
        (row,) = found.rows
        held += row.low <= 0.56 <= row.high
        together = [[a + b for a, b in zip(left, right, strict=True)] for left, right in zip(one, other, strict=True)]
        (whole,) = windowed(case.metric, together, 0.95, Target.POPULATION).estimate.rows
        plain += whole.low <= 0.56 <= whole.high
    assert held / SAMPLES >= 0.94 - 4.9 * math.sqrt(0.94 * 0.06 / SAMPLES)
    assert plain < SAMPLES / 10
    assert found.reports == 2_500 * epochs
    assert worth < found.reports


def test_one_stratum_is_the_whole_answer() -> None:
    """With a share of 1 the interval is the ordinary one; a stratum without a share may have no reports."""
    metric = CASES["category by randomized_response, fresh"].metric
    epochs = [[np.array([260, 220, 200, 170, 150])]]
    found, worth = weighted(metric, [(1.0, epochs), (0.0, [[np.zeros(5, np.int64)]])])
    ordinary = windowed(metric, epochs, 0.95, Target.POPULATION).estimate
    for row, own in zip(found.rows, ordinary.rows, strict=True):
        assert [row.value, row.std_error, row.low, row.high] == pytest.approx(
            [own.value, own.std_error, own.low, own.high]
        )
    assert worth == pytest.approx(1_000)


def test_what_is_no_mean_over_devices_is_not_told() -> None:
    """A total is of those that reported, and a deviation does not add up."""
    metric = CASES["number by laplace, fresh"].metric
    epochs = [[np.array([1_000, 100_000, 40_000_000, 0])]]
    found, _ = weighted(metric, [(0.5, epochs), (0.5, epochs)])
    assert [series.heading.name for series in found.series] == ["mean"]


@pytest.mark.parametrize(
    ("shares", "error", "words"),
    [
        ({"linux": 0.5}, ValueError, "add up to 0.5, not to 1"),
        ({"linux": 1.5, "windows": -0.5}, ValueError, "lies between 0 and 1"),
        ({"linux": math.nan, "windows": 1.0}, ValueError, "lies between 0 and 1"),
        ({"linux": 0.5, "amiga": 0.5}, NotKnownError, "no segment platform=amiga"),
    ],
)
def test_shares_are_those_of_a_population(shares: dict[str, float], error: type[Exception], words: str) -> None:
    """Of known values, and all of it."""
    with pytest.raises(error, match=words):
        checked(["linux", "windows"], shares, "platform")
    assert checked(["linux", "windows"], {"windows": 1.0, "linux": 0.0}, "platform") == {"windows": 1.0}
