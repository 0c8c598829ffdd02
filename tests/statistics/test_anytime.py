"""Intervals for those who look every day: in a year of looks, at most 5% of runs ever leave the truth out."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from tools.anytime_coverage import FLEETS, Fleet, missed
from tools.window_samples import Sampler, asked

from deniable_aggregator.analysis.anytime import LOOKS, Looks, anytime, at_one, growing, held_at, level, times
from deniable_aggregator.analysis.comparison import against, compared
from deniable_aggregator.analysis.windows import windowed
from deniable_aggregator.answers import RowId, Target, truth

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


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_p_values_of_growing_windows_are_those_of_their_sequence(confidence: float) -> None:
    """A change that is as far away as an interval reaches has the chance that the interval misses with; so who acts
    on a p-value below 5% at any look does so wrongly in one run of twenty, as the intervals miss."""
    metric = next(case for case in asked("1") if case.fleet.name == "half" and case.name.endswith("fresh")).metric
    for days in (1, 3, 30, 365):
        epochs = [[np.array([250, 250])]] * days
        held = held_at(metric, epochs, confidence, Target.POPULATION, Looks.GROWING)
        reach = -NormalDist().inv_cdf((1 - held.confidence) / 2)
        assert held.chance(math.erfc(reach / math.sqrt(2))) == pytest.approx(1 - confidence, rel=1e-6)
        assert held.chance(0.5) == 1


@pytest.mark.parametrize("yes", [500, 520, 560, 600])
def test_p_values_at_all_looks_are_of_the_intervals(yes: int) -> None:
    """Below 5% exactly where a 95% interval leaves out that nothing has changed, at whatever looks; never smaller
    than at one look, and as much wider as the interval is."""
    metric = next(case for case in asked("1") if case.fleet.name == "half" and case.name.endswith("fresh")).metric
    before = [[np.array([500, 500])], [np.array([505, 495])]]
    after = [[np.array([1000 - yes, yes])], [np.array([990 - yes, yes + 10])]]
    ((_, (one,)),) = compared(metric, before, after).series
    ((_, (every,)),) = compared(metric, before, after, looks=Looks.ANY).series
    made = compared(metric, before, after, looks=Looks.ANY)
    assert made.after.estimate.confidence == made.before.estimate.confidence == 0.95
    assert every.value == one.value
    assert every.std_error == pytest.approx(one.std_error, rel=0.03)
    assert every.p_value == pytest.approx(min(one.p_value * LOOKS, 1), rel=0.5)
    where = RowId("shares", "yes")
    sides = [against(metric, {where: 0.5}, after, looks=looks).by_id[where] for looks in Looks]
    for own in (one, every, *sides):
        assert (own.p_value < 0.05) == (own.low > 0 or own.high < 0)
    assert every.p_value >= one.p_value
    assert all(own.p_value >= sides[0].p_value for own in sides[1:])
    with pytest.raises(ValueError, match="growing windows are compared with a baseline"):
        compared(metric, before, after, looks=Looks.GROWING)


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
