"""Marks of fakes: an honest epoch has any one time in ten thousand at the most; fakes that send one thing leave them.

That no chance is understated is computed for every population of a boolean, and of all kinds but texts and vectors
honest epochs are simulated at populations that lie at the ends, at a rate of one in twenty: of 200 epochs 30 or more
would have marks less than once in a million times.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tools.leverage import asked

from attacks.test_manipulation import FAKES, HONEST, METRICS, attacks
from deniable import Metric
from deniable_aggregator.analysis.offline import added
from deniable_aggregator.analysis.prices import suspecting
from deniable_aggregator.analysis.suspected import suspected
from deniable_aggregator.answers import RATE, effort, jump, suspicions
from deniable_aggregator.planning.population import Population
from deniable_aggregator.planning.simulate import randomized, simulate

Counters = list[NDArray[np.int64]]
TIMES = 5
"""Marks are looked for in so many times as many reports as bounds are."""
LEFT = {
    "category of 48, randomized response": "shares",
    "category of 48, projective geometry": "codes",
    "category of 48, remembered, and again": "shares",
    "10 flags, one drawn": "columns",
    "10 flags, all, remembered, and again": "shares",
    "set of 5 of 20, projective geometry": "codes",
    "distribution of 64 buckets": "columns",
    "tree of 4, 12 and 48 nodes": "columns",
    "joint of pairs of 4 by 5": "columns",
    "text": "codes",
}
"""What each attack by 5% of fakes leaves, whatever they send."""
SILENT = {"boolean", "category of 5, randomized response", "ordinal of 5, exponential", "number, Laplace",
          "count up to 50, one bit"}  # fmt: skip
"""Where there are no more counters than unknown numbers, and what fakes add could be devices."""


def both_ends(metric: Metric, part: float, devices: int, count: int = 1) -> Population:
    """Devices at both ends of what can be, as often as that."""
    some = round(part * devices)
    return Population(metric.kind.apart(), np.tile(np.repeat([0, 1], [some, devices - some]), count))


def honest(metric: Metric, part: float, seed: int, devices: int = HONEST) -> Counters:
    """An epoch of devices at both ends of what can be."""
    return simulate(metric, both_ends(metric, part, devices), np.random.default_rng(seed))


def epochs(metric: Metric, part: float, devices: int, count: int) -> Iterator[Counters]:
    """So many epochs of such devices, which are drawn together: each device answers by chances of its own."""
    rows: list[list[NDArray[np.uint64]]] = [[np.zeros(0, np.uint64)] for _ in range(count)]
    wide: list[list[tuple[int, bytes]]] = [[] for _ in range(count)]
    for sent in randomized(metric, both_ends(metric, part, devices, count), np.random.default_rng(5)):
        days = sent.devices // devices
        if sent.column.shape.wide:
            for day, row in zip(days.tolist(), sent.wide_rows(sent.place), strict=True):
                wide[day].append(row)
        else:
            for day in range(count):
                rows[day].append(sent.rows(sent.place)[days == day])
    for narrow, more in zip(rows, wide, strict=True):
        yield added(metric, np.concatenate(narrow).astype("<u8").tobytes(), more)


def test_of_a_boolean_no_population_is_suspected_more_often_than_stated() -> None:
    """Over all counts that can come out, of 10, 100 and 3,000 devices; nearly as often where all have one answer."""
    for devices in (10, 100, 3000):
        metric = asked("boolean", "1")
        column = metric.columns[0].mechanism
        counts = [[np.array([devices - yes, yes])] for yes in range(devices + 1)]
        marked = np.array([bool(suspicions(metric, own)) for own in counts])
        assert marked.any() == (devices > 10)
        rates = []
        for share in (0.0, 0.3, 1.0):
            chance = float(column.probability(1, 1)) * share + float(column.probability(1, 0)) * (1 - share)
            rates.append(float(stats.binom.pmf(np.arange(devices + 1), devices, chance)[marked].sum()))
        assert max(rates) <= RATE / 10
        assert max(rates) > RATE / 300 or devices == 10


@pytest.mark.parametrize("name", [name for name in METRICS if name != "text" and "vector" not in name])
def test_honest_epochs_are_suspected_no_more_often_than_stated(name: str) -> None:
    """At one in twenty in place of one in ten thousand, at four populations."""
    metric = METRICS[name]
    marked = sum(
        bool(suspicions(metric, counters, rate=0.05))
        for part in (0.0, 0.5, 0.9, 1.0)
        for counters in epochs(metric, part, 400, 50)
    )
    assert stats.binom.sf(29, 200, 0.05) < 1e-6
    assert marked < 30


@pytest.mark.parametrize("name", METRICS)
def test_no_honest_epoch_is_suspected(name: str) -> None:
    """Of the numbers of devices that attacks are made on; an epoch without reports neither."""
    metric = METRICS[name]
    for seed in range(2 if name == "text" or "vector" in name else 10):
        assert not suspicions(metric, honest(metric, (0.0, 0.7, 1.0)[seed % 3], seed))
    assert not suspicions(metric, [np.zeros(column.shape.counters, np.int64) for column in metric.columns])


@pytest.mark.parametrize("name", LEFT)
def test_fakes_that_send_one_thing_leave_marks(name: str) -> None:
    """5% of 20,000 devices, whatever it is."""
    metric, fleet = METRICS[name], honest(METRICS[name], 0.7, 1, TIMES * HONEST)
    every = [suspicions(metric, [one + TIMES * more for one, more in zip(fleet, sent, strict=True)])
             for sent in attacks(metric)]  # fmt: skip
    assert all(every)
    assert all(own.chance < RATE for found in every for own in found)
    assert any(own.what.startswith(LEFT[name]) for found in every for own in found)


@pytest.mark.parametrize("name", sorted(SILENT))
def test_where_nothing_is_left_over_nothing_is_suspected(name: str) -> None:
    """What docs/poisoning.md says that nobody can see: among devices of both sorts fakes are some more."""
    metric, fleet = METRICS[name], honest(METRICS[name], 0.5, 1)
    for sent in attacks(metric):
        assert not suspicions(metric, [one + more for one, more in zip(fleet, sent, strict=True)])


@pytest.mark.parametrize("name", METRICS)
def test_counters_that_no_reports_add_up_to_are_told(name: str) -> None:
    """Somebody has changed them where they are stored: one of them is less than nothing."""
    metric = METRICS[name]
    counters = honest(metric, 0.5, 3, 200)
    counters[0][0] = -1
    (found,) = suspicions(metric, counters)
    assert (found.what, found.chance) == ("counters that no reports can add up to", 0.0)


def test_fakes_that_answer_as_devices_do_are_not_seen() -> None:
    """Those randomise an untrue answer honestly."""
    for name in LEFT:
        if name == "text":
            continue
        metric = METRICS[name]
        fakes = simulate(metric, [metric.kind.apart()[0]] * FAKES, np.random.default_rng(9))
        assert not suspicions(metric, [one + more for one, more in zip(honest(metric, 0.3, 2), fakes, strict=True)])


def test_a_jump_is_told_once_there_are_epochs_to_tell_by() -> None:
    """More than twice as many as ever before, by more than chance; seven epochs say what is usual."""
    usual = [1000, 1100, 900, 0, 1000, 1050, 1000, 980]
    (found,) = jump([*usual, 2600])
    assert found.what.startswith("more than 2 times as many reports")
    assert found.chance < RATE
    assert not jump([*usual, 2150])
    assert not jump([*usual, 2210])  # twice as many, and some chance
    assert not jump([*usual[:5], 9000])
    assert jump([10] * 7 + [200])
    assert not jump([10] * 7 + [30])


def test_the_marks_of_a_window_are_those_of_its_epochs() -> None:
    """Each by itself, of the last seven; what is marked says which."""
    metric = METRICS["10 flags, one drawn"]
    days = [honest(metric, 0.5, seed) for seed in range(9)]
    sent = next(attacks(metric))
    for place in (0, 5):
        days[place] = [one + more for one, more in zip(days[place], sent, strict=True)]
    window = range(100, 109)
    assert {own.epoch for own in suspected(metric, window, days)} == {105}
    assert not suspected(metric, range(3), [days[1]] * 3)


def test_a_tree_that_is_fitted_for_marks_is_charged_as_for_an_answer() -> None:
    """Levels are held against each other by the same fit, which takes the most of both."""
    for name in ("distribution of 64 buckets", "tree of 4, 12 and 48 nodes"):
        assert effort(METRICS[name]) > 0
        assert suspecting(METRICS[name]) >= effort(METRICS[name])
    assert suspecting(METRICS["boolean"]) < suspecting(METRICS["tree of 4, 12 and 48 nodes"])
