"""Intervals for those who look every day: in a year of looks, at most 5% of runs ever leave the truth out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tools.anytime_coverage import FLEETS, Fleet, missed
from tools.window_coverage import Sampler, asked

from deniable_aggregator.analysis.anytime import LOOKS, Looks, anytime, at_one, growing, level, times
from deniable_aggregator.analysis.windows import windowed
from deniable_aggregator.answers import Target, truth

RUNS = 600
MOST = 0.05 + 4.9 * math.sqrt(0.05 * 0.95 / RUNS)
"""Of so many runs, but for once in a million times, where 5% miss."""


@pytest.mark.parametrize("fleet", FLEETS, ids=lambda fleet: fleet.name)
def test_a_year_of_looks_finds_what_is_not_there_in_one_run_of_twenty_at_most(fleet: Fleet) -> None:
    """At all windows that grow, by a confidence sequence; at each day, by 366 shares of the chance.

    False alarm: 4.9 standard deviations. Power: with ordinary intervals 18% or more of the runs miss.
    """
    found = missed(fleet, RUNS, np.random.default_rng(3))
    assert found["growing"][0] <= MOST
    assert found["any"][1] <= MOST
    assert found["any"][0] <= MOST
    assert found["ordinary"][0] > MOST


@pytest.mark.deep
@pytest.mark.parametrize("name", ["boolean by randomized_response, fresh", "number by hybrid, fresh"])
def test_answers_hold_at_all_looks(name: str) -> None:
    """As they are made, day by day over 100 days, in 100 runs of devices that report every day: 15% at most miss.

    False alarm: 4.6 standard deviations of a rate of 5%.
    """
    case = next(case for case in asked("1") if case.name == name)
    values = [value for value, often in zip(case.fleet.values, case.fleet.devices, strict=True) for _ in range(often)]
    true, sampler, generator = truth(case.metric, values), Sampler(case), np.random.default_rng(4)
    misses = 0
    for _ in range(100):
        kept = sampler.kept(500, generator)
        epochs = [sampler.epochs(kept, 1, generator)[0] for _ in range(100)]
        for days in range(1, 101):
            found = anytime(case.metric, epochs[:days], 0.95, Target.POPULATION, Looks.GROWING).estimate
            row, where = found.rows[0], found.ids[0]
            if not row.low <= true[where] <= row.high:
                misses += 1
                break
    assert misses <= 15


@pytest.mark.parametrize("looks", [Looks.GROWING, Looks.ANY])
def test_they_are_ordinary_intervals_of_a_higher_confidence(looks: Looks) -> None:
    """So that few reports and small shares are treated as ever; what is claimed stays 95%."""
    metric = next(case for case in asked("1") if case.name == "category by randomized_response, renewed").metric
    epochs = [[np.array([208, 204, 200, 196, 192])]] * 10
    found = anytime(metric, epochs, 0.95, Target.POPULATION, looks)
    ordinary = windowed(metric, epochs, 0.95, Target.POPULATION)
    sequence = max(growing(0.95, reports / 500) for reports in (ordinary.effective, 10_000))
    wide = {Looks.ANY: times(0.95, LOOKS), Looks.GROWING: sequence}[looks]
    again = windowed(metric, epochs, level(wide), Target.POPULATION)
    assert found.estimate.rows == again.estimate.rows
    assert (found.estimate.confidence, found.effective) == (0.95, again.effective)
    for row, narrow in zip(found.estimate.rows, ordinary.estimate.rows, strict=True):
        assert row.value == narrow.value
        assert row.high - row.low > 1.3 * (narrow.high - narrow.low)


def test_one_look_is_an_ordinary_interval() -> None:
    """Unless more is asked for."""
    metric = asked("1")[0].metric
    epochs = [[np.array([60, 40])], [np.array([50, 50])]]
    assert anytime(metric, epochs, 0.9, Target.REPORTING, Looks.ONE) == windowed(
        metric, epochs, 0.9, Target.REPORTING
    )
    assert at_one(0.9, Looks.ONE) == 0.9
    assert at_one(0.95, Looks.ANY) > at_one(0.95, Looks.GROWING) > 0.99


def test_the_sequence_is_that_of_robbins() -> None:
    """The mixture of normal densities is 1 / alpha at its edge: exp(s^2 / 2 (t + r)) sqrt(r / (t + r))."""
    for ratio in (0.5, 2.0, 14.0, 730.0):
        t, r = ratio, 1.0
        s = growing(0.95, ratio) * math.sqrt(t)
        assert math.exp(s * s / (2 * (t + r))) * math.sqrt(r / (t + r)) == pytest.approx(20)
