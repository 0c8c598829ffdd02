"""Simulation: the counters of whole populations are those of the reports that they send."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from deniable import Metric, Report
from deniable.kinds import KINDS
from deniable.mechanisms import MECHANISMS
from deniable.randomness import WORD
from deniable_aggregator.analysis.offline import accumulate
from deniable_aggregator.answers import Target, answer, truth
from deniable_aggregator.planning import simulate as simulation
from deniable_aggregator.planning.population import Population
from deniable_aggregator.planning.simulate import outcomes, randomized, simulate
from planning.everything import EVERYTHING, VALUES, populations
from support.asked import asked
from support.counting import calls

DEVICES = 3000
EACH = pytest.mark.parametrize("metric", EVERYTHING.metrics.values(), ids=lambda metric: metric.name)


def test_every_kind_and_every_mechanism_is_simulated_here() -> None:
    """Whatever a collection file can ask is among the metrics of these tests."""
    metrics = EVERYTHING.metrics.values()
    assert {metric.kind.name for metric in metrics} == set(KINDS)
    assert {mechanism.name for metric in metrics for mechanism in metric.mechanisms} == set(MECHANISMS)


@EACH
def test_every_device_answers_once_in_the_domain_of_its_column(metric: Metric) -> None:
    """Each device is in one column's reports, and ingest takes every payload."""
    people = populations(DEVICES)[metric.name]
    answered: list[int] = []
    for sent in randomized(metric, people, np.random.default_rng(2)):
        assert sent.column == metric.columns[sent.place]
        assert len(sent.devices) == len(sent.payloads)
        answered += sent.devices.tolist()
    assert sorted(answered) == list(range(DEVICES))


@EACH
def test_counters_are_those_of_the_reports(metric: Metric) -> None:
    """The same draws, accumulated report by report, give the same counters."""
    people = populations(DEVICES)[metric.name]
    reports = []
    for sent in randomized(metric, people, np.random.default_rng(3)):
        rows = [row.tobytes() for row in sent.payloads] if sent.column.shape.wide else []
        numbers = [int.from_bytes(row, "little") for row in rows] or sent.payloads.tolist()
        reports += [Report(sent.column.number, number) for number in numbers]
    expected = accumulate(metric, reports)
    found = simulate(metric, people, np.random.default_rng(3))
    assert [column.tolist() for column in found] == [column.tolist() for column in expected]


@EACH
def test_estimates_of_simulated_populations_are_near_the_truth(metric: Metric) -> None:
    """30,000 devices: every row within 6 standard errors, which chance leaves once in 10 million runs of them all.

    A value that is encoded wrongly, or a column that is confused with another, is a hundred of them off.
    """
    people = populations(30_000, seed=4)[metric.name]
    found = answer(metric, simulate(metric, people, np.random.default_rng(4)))
    assert found.reports == 30_000
    known = truth(metric, people)
    for where, row in ((where, row) for where, row in found.by_id.items() if where in known):
        assert abs(row.value - known[where]) < 6 * row.std_error + 1e-9, row


@pytest.mark.parametrize("name", ["yes", "minutes", "languages", "drawn", "update"])
def test_the_sdk_and_the_simulation_are_one_population(name: str) -> None:
    """4,000 devices of the SDK and of the twins: mean counters differ by less than 5.5 standard deviations.

    False alarms: below 1e-6 a run. Power: the tests of the twins.
    """
    metric, devices = EVERYTHING.metrics[name], 4000
    people = populations(devices)[name]
    theirs = accumulate(metric, [metric.randomize(value) for value in people])
    ours = simulate(metric, people, np.random.default_rng(6))
    answers = [answer(metric, each, target=Target.REPORTING) for each in (theirs, ours)]
    for one, other in zip(*(each.rows for each in answers), strict=True):
        error = np.hypot(one.std_error, other.std_error)
        assert not abs(one.value - other.value) > 5.5 * error  # an error that is not known tells nothing


def test_chance_in_the_encoding_is_drawn_for_each_device() -> None:
    """A value between two inputs is sometimes the one and sometimes the other; of too many items any is left out."""
    generator = np.random.default_rng(7)
    bits = EVERYTHING.metrics["minutes_bit"]
    quarter = simulate(bits, Population([15.0], np.zeros(200_000, dtype=np.int64)), generator)
    mechanism = bits.columns[0].mechanism
    rate = (quarter[0][1] / 200_000 - float(mechanism.probability(1, 0))) / float(
        mechanism.probability(1, 1) - mechanism.probability(1, 0)
    )
    assert rate == pytest.approx(0.25, abs=0.02)
    drawn = EVERYTHING.metrics["drawn"]
    places = Counter(
        {sent.place: len(sent.devices) for sent in randomized(drawn, Population.of([["a"]] * 9000), generator)}
    )
    assert set(places) == {0, 1, 2}
    assert min(places.values()) > 2700  # 3,000 each, and a deviation of 45


def test_devices_are_simulated_as_arrays() -> None:
    """A million booleans, or categories of 60, take a few steps more than a thousand: no step for each."""
    for name in ("yes", "points"):

        def steps(devices: int, name: str = name) -> int:
            generator = np.random.default_rng(8)
            people = Population(VALUES[name], generator.integers(2, size=devices))
            return calls(lambda: simulate(EVERYTHING.metrics[name], people, generator))

        steps(1000)  # tables that are made once
        assert steps(1_000_000) < steps(1000) + 10_000


@EACH
def test_where_other_values_cut_the_words_changes_nothing(metric: Metric) -> None:
    """Stretches and what they mean are the same, wherever is looked at first."""
    for value in map(metric.kind.check, VALUES[metric.name]):
        found = outcomes(metric, value)
        cuts = [1, 2, WORD // 3, WORD - 1, *(first for first, _ in found or () if first)]
        assert outcomes(metric, value, cuts) == outcomes(metric, value, cuts[:1]) == found


def test_where_a_value_is_cut_as_the_one_before_it_takes_a_few_steps() -> None:
    """Of a distribution every value is cut between levels at the same words: they are not sought a hundred times."""
    metric = asked("distribution", "range = [0, 6400]\nbuckets = 64\nepsilon = 2")

    def steps(values: int) -> int:
        devices = [64.0 * place for place in range(values) for _ in range(100)]
        return calls(lambda: simulate(metric, devices, np.random.default_rng(1)))

    assert steps(100) < 12 * steps(1)  # a value is encoded 14 times, and not 400


@EACH
def test_devices_that_are_few_of_a_value_say_what_they_would_among_many(
    metric: Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their own words are looked at, instead of where words are cut: the same counters come of it."""
    values = VALUES[metric.name] * 3
    own = simulate(metric, values, np.random.default_rng(9))
    monkeypatch.setattr(simulation, "_FEW", 0)
    for few, many in zip(own, simulate(metric, values, np.random.default_rng(9)), strict=True):
        assert few.tolist() == many.tolist()


def test_a_device_of_a_value_of_its_own_takes_a_few_steps() -> None:
    """Of real numbers each device has one: it is encoded twice, and not 65 times; 78 calls, and not 1,500."""
    metric = asked("number", "epsilon = 1\nrange = [0, 480]")
    values = np.random.default_rng(10).uniform(0, 480, 500).tolist()
    simulate(metric, values, np.random.default_rng(1))  # tables that are made once
    assert calls(lambda: simulate(metric, values, np.random.default_rng(1))) < 200 * len(values)


def test_nobody_leaves_the_counters_at_zero() -> None:
    """Without devices nothing is counted."""
    for metric in EVERYTHING.metrics.values():
        assert not any(column.any() for column in simulate(metric, [], np.random.default_rng(9)))


@pytest.mark.parametrize("devices", [1, 64, 5000])
@pytest.mark.parametrize(
    "metric", [m for m in EVERYTHING.metrics.values() if m.kind.name == "vector"], ids=lambda metric: metric.name
)
def test_vectors_are_rounded_as_devices_round_theirs(metric: Metric, devices: int) -> None:
    """With the same words, thousands at a time are what they are one by one."""
    kind, word = metric.kind, simulation._Words(np.random.default_rng(7))
    value = kind.check(VALUES[metric.name][0])
    alone = [kind.encode(value, [column.mechanism for column in metric.columns], word) for _ in range(devices)]
    assert list(simulation._one_by_one(metric, value, devices, np.random.default_rng(7))) == alone
