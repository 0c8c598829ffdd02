"""Differences between two windows: intervals hold, p-values are even where nothing has changed, changes are found.

Each bound states how often it would be missed by chance, never more than once in a million times. The page
docs/comparisons.md is made of the same measurements, with more samples.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest
from tools.comparison_coverage import APART, SAME, TOLD, Found, measured, planned
from tools.coverage import DEVIATION
from tools.fleets import Case, Fleet
from tools.window_samples import Sampler, asked

from deniable import linkage
from deniable_aggregator.analysis.comparison import OTHERS, UNKNOWN, Devices, compared

EVERY = {case.name: case for case in asked("1")}
"""Of every kind, mechanism and mode the last fleet: the unequal one."""
ONE = {name: case for name, case in EVERY.items() if case.metric.kind.name != "text"}
"""Without texts: each sample of one has 300,000 counters an epoch, and a few of them have to do."""
FIRST = {case.name: case for case in reversed(asked("1"))}
"""And the first one: the equal one."""
KINDS = sorted({case.metric.kind.name for case in ONE.values()})
FEW = 12
EVEN = 200
SLOW, SLOW_SAMPLES = "flags by randomized_response", 4
"""Every sample has other numbers of reports, and for each of them tables to be made."""
SHORT = "boolean by randomized_response, fresh", "boolean by randomized_response, renewed"


def told_of(case: Case) -> list[str]:
    """Which sides are asked about."""
    return [APART] if linkage.repeats(case.metric) else [APART, SAME]


def of_kind(kind: str) -> list[tuple[str, str]]:
    """All a kind's mechanisms and modes, for devices apart and the same."""
    return [(name, sides) for name, case in ONE.items() if case.metric.kind.name == kind for sides in told_of(case)]


@cache
def unchanged(name: str, sides: str) -> Found:
    """Two sides on which nothing has changed: measured once, for intervals and for p-values."""
    case = ONE[name]
    samples = max(FEW, -(-EVEN // len(of_kind(case.metric.kind.name)))) if not name.startswith(SLOW) else SLOW_SAMPLES
    return measured(case, sides, TOLD[sides], 2_000, 1, samples, np.random.default_rng(18))


def held(found: Found) -> float:
    """How often the intervals of a case's rows hold on average, but for deviations, which hold more often."""
    rows = [each for key, each in zip(found.keys, found.covered, strict=True) if key != DEVIATION]
    return sum(rows) / len(rows)


def few(case: Case, sides: str) -> Found:
    """A dozen samples of that."""
    return measured(case, sides, TOLD[sides], 1_000, 1, FEW, np.random.default_rng(17))


def short(samples: int, least: float) -> float:
    """By how much a rate of so many samples is below what it is, at most but for once in 10^6: rows of one sample are
    counted as if they were one."""
    return 4.9 * math.sqrt(least * (1 - least) / samples)


@pytest.mark.parametrize("sides", [APART, SAME])
def test_intervals_of_every_kind_hold_where_the_devices_are_known(sides: str) -> None:
    """Over all kinds, mechanisms and modes at once: 94% to 97% of 57 times 12 samples or more, each of several rows.

    False alarm: 4.9 standard deviations of one row a sample. Power: without what remembered answers have in common
    the renewed ones would hold 99.9% of the time where devices are the same; without the noise of one side, 83%.
    """
    cases = [case for case in ONE.values() if sides in told_of(case)]
    rates = [held(few(case, sides) if case.name.startswith(SLOW) else unchanged(case.name, sides)) for case in cases]
    least = 0.94 - short(FEW * len(cases), 0.94)
    assert least <= sum(rates) / len(rates) <= 0.97 + short(FEW * len(cases), 0.97)
    for case, rate in zip(cases, rates, strict=True):
        assert rate >= 0.94 - short(FEW, 0.94), case.name


@pytest.mark.parametrize("sides", [APART, pytest.param(SAME, marks=pytest.mark.deep)])
def test_intervals_of_words_that_are_asked_for_hold(sides: str) -> None:
    """Of a text in one epoch: 94% of twelve samples of four rows each; false alarm: 4.9 standard deviations of one
    row a sample. The long version is the table of docs/comparisons.md."""
    assert held(few(EVERY["text by projective_geometry, fresh"], sides)) >= 0.94 - short(FEW, 0.94)


@pytest.mark.deep
@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("epochs", [1, 7])
def test_intervals_of_each_kind_hold(name: str, epochs: int) -> None:
    """94% for each of them, whether devices are apart or the same, in 1,000 samples."""
    for sides in told_of(ONE[name]):
        found = measured(ONE[name], sides, TOLD[sides], 1_000, epochs, 1_000, np.random.default_rng(17))
        assert held(found) >= 0.94 - short(1_000, 0.94)


@pytest.mark.parametrize("sides", [APART, SAME])
@pytest.mark.parametrize("name", SHORT)
def test_p_values_are_even_where_nothing_has_changed(name: str, sides: str) -> None:
    """Kolmogorov's test over 800 samples does not tell them from even ones, at a false-alarm rate of 10^-6.

    Power: taken 30% too narrow or too wide, they would be told from even ones more than 99 times out of 100.
    """
    case = replace(ONE[name], fleet=Fleet("half", [True, False], [1, 1]))
    found = measured(case, sides, TOLD[sides], 20_000, 1, 800, np.random.default_rng(4))
    assert kstest(found.chances[:, 0], "uniform").pvalue > 1e-6


def even_ones(kind: str) -> NDArray[np.float64]:
    """p-values where nothing has changed, of all a kind's mechanisms and modes, for devices apart and the same: one
    row a sample, another one in each."""
    found = []
    for own in (unchanged(*each) for each in of_kind(kind)):
        rows = np.flatnonzero(own.even)
        found += [chances[rows[number % len(rows)]] for number, chances in enumerate(own.chances)]
    return np.array(found)


def test_p_values_of_every_kind_are_even_where_nothing_has_changed() -> None:
    """Kolmogorov's test does not tell them from even ones, over 200 samples of each kind, and over all of them.

    False alarm: 10^-7 for each kind and for all, so that no more than once in 10^6 one of these fails. Power: if
    intervals of one kind were half or twice as wide, its p-values would be told from even ones 99 times out of
    100; those of all kinds if a fifth narrower or wider. In the deep version each mechanism is judged by itself.
    """
    found = {kind: even_ones(kind) for kind in KINDS}
    for kind, own in found.items():
        assert kstest(own, "uniform").pvalue > 1e-7, kind
    assert kstest(np.concatenate([*found.values()]), "uniform").pvalue > 1e-7


@pytest.mark.deep
@pytest.mark.parametrize("name", ONE)
def test_p_values_of_each_row_are_even(name: str) -> None:
    """Of each mechanism and mode, in 800 samples. False alarm: 10^-9 a row, so no more than 10^-6 over all of them.
    Power: 40% too narrow or too wide is told more than 99 times out of 100."""
    for sides in told_of(ONE[name]):
        found = measured(ONE[name], sides, TOLD[sides], 20_000, 1, 800, np.random.default_rng(19))
        for row in np.flatnonzero(found.even):
            assert kstest(found.chances[:, row], "uniform").pvalue > 1e-9, found.keys[row]


def test_a_change_of_the_planned_size_is_found_as_often_as_planned_of_every_kind() -> None:
    """Ten times for each mechanism and mode of every kind: a change has 2.8 of the errors that are told.

    False alarm: 5 standard deviations, and one in a hundred for that these errors are estimates. Power: were all
    intervals a quarter too wide, 16% fewer would be found, ten standard deviations; were those of a kind twice
    as wide, 67% fewer of its own.
    """
    found: dict[str, list[tuple[list[bool], float]]] = {kind: [] for kind in KINDS}
    for name, last in ONE.items():
        samples = SLOW_SAMPLES if name.startswith(SLOW) else 10
        found[last.metric.kind.name].append(planned(last, FIRST[name], 4_000, 1, samples, np.random.default_rng(20)))
    every = [own for kind in found.values() for own in kind]
    for own in (every, *found.values()):
        told = sum(sum(hits) for hits, _ in own)
        expected = sum(often * len(hits) for hits, often in own)
        spread = math.sqrt(sum(often * (1 - often) * len(hits) for hits, often in own))
        assert abs(told - expected) < 5 * spread + 0.01 * sum(len(hits) for hits, _ in own)


def test_a_change_of_the_planned_size_is_found_as_often_as_planned() -> None:
    """A share that moves by 2.8 standard errors is found 80% of the time: 400 times, within 10%.

    False alarm: 5 standard deviations. Power: were the interval 30% too wide or too narrow, it would be 57% or 96%.
    """
    case = ONE[SHORT[0]]
    mechanism, devices = case.metric.columns[0].mechanism, 20_000
    p, q = float(mechanism.p), float(mechanism.q)  # type: ignore[attr-defined]
    error = math.sqrt(2 * 0.25 / devices) / (p - q)
    size = round(1_000 * 2.8016 * error)
    moved = replace(case, fleet=Fleet("more", [True, False], [500 + size, 500 - size]))
    even = replace(case, fleet=Fleet("half", [True, False], [500, 500]))
    generator, found = np.random.default_rng(6), 0
    one, other = Sampler(even), Sampler(moved)
    for _ in range(400):
        sides = [each.epochs(each.kept(devices, generator), 1, generator) for each in (one, other)]
        ((_, (change,)),) = compared(case.metric, sides[0], sides[1], devices=OTHERS).series
        found += change.p_value < 0.05
    planned = 1 - 0.5 * math.erfc((size / 1_000 / error - 1.95996) / math.sqrt(2))
    assert abs(found / 400 - planned) < 5 * math.sqrt(planned * (1 - planned) / 400)


def test_answers_that_are_the_other_way_round_are_held_where_nothing_is_known() -> None:
    """Half of the devices say yes on even days, the others on odd ones: how many of a sample's devices are of either
    half moves both sides in opposite directions. 94% of 600 times at epsilon 4, where sampling is most of it.

    False alarm: 4.9 standard deviations below 94%. Power: as if devices were others, 84% are held.
    """
    case = next(case for case in asked("4") if case.name == SHORT[0] and case.fleet.name == "half")
    sampler, generator, rates = Sampler(case), np.random.default_rng(8), {UNKNOWN: 0, OTHERS: 0}
    for _ in range(600):
        kept = sampler.kept(1_000, generator)
        sides = [sampler.epochs(each, 1, generator) for each in (kept, kept[::-1])]
        for devices in rates:
            ((_, (change,)),) = compared(case.metric, sides[0], sides[1], devices=devices).series
            rates[devices] += change.low <= 0 <= change.high
    assert rates[UNKNOWN] / 600 >= 0.94 - short(600, 0.94)
    assert rates[OTHERS] / 600 < 0.9


def test_answers_that_have_changed_are_held_where_so_many_may_have() -> None:
    """One in five devices changes its answer to yes, and draws new noise to remember: 94% of 300 times, by who says
    that so many may have changed. False alarm: 4.9 standard deviations."""
    case = replace(ONE[SHORT[1]], fleet=Fleet("half", [True, False], [1, 1]))
    yes, no = (Sampler(replace(case, fleet=Fleet("one", [each], [1]))) for each in (True, False))
    generator, held = np.random.default_rng(9), 0
    for _ in range(300):
        affirming, denying, moving = generator.multinomial(2_000, [0.4, 0.4, 0.2])
        kept = [yes.kept(affirming, generator), no.kept(denying, generator)]
        before = np.sum([
            yes.epochs(kept[0], 1, generator), no.epochs(kept[1], 1, generator),
            no.epochs(no.kept(moving, generator), 1, generator),
        ], axis=0)  # fmt: skip
        after = np.sum([
            yes.epochs(kept[0], 1, generator), no.epochs(kept[1], 1, generator),
            yes.epochs(yes.kept(moving, generator), 1, generator),
        ], axis=0)  # fmt: skip
        ((_, (change,)),) = compared(case.metric, list(before), list(after), devices=Devices(changed=0.2)).series
        held += change.low <= 0.2 <= change.high
    assert held / 300 >= 0.94 - short(300, 0.94)
