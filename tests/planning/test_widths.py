"""How wide intervals will be is known before there is a device: what is not simulated to 3% of what fleets show."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from tools.fleets import cases
from tools.width_accuracy import fleet_of, off

from deniable import Collection
from deniable.kinds import KINDS
from deniable_aggregator.answers import Measure, RowId, Target, answer, headings, truth
from deniable_aggregator.estimators import frequencies
from deniable_aggregator.planning.simulate import symbols
from deniable_aggregator.planning.start import QUESTIONS, start
from deniable_aggregator.planning.widths import MOST, Width, _averaged, half_of, looked_at, widths
from support.asked import asked

CASES = {str(case): case for case in cases("1")}
EXACT = (
    "boolean, skewed", "boolean, remembered, uniform", "category of 60, skewed", "ordinal of 7, skewed",
    "number, skewed", "number, one bit, uniform", "number, Laplace, skewed", "count of events, uniform",
    "4 flags, uniform", "4 flags, one drawn, skewed", "set of 2 out of 8, uniform",
)  # fmt: skip
"""Of every kind that is not simulated, and of mechanisms whose intervals are made in another way."""


@pytest.mark.parametrize("name", EXACT)
def test_fleets_show_what_was_expected(name: str) -> None:
    """At a thousand devices, the half of every row is within 3% of what fleets have on average; another two are let
    through for how well sixty fleets know that: five of its standard errors, 10^-6, of rows that are told to 0.4%."""
    for own in off(CASES[name], 1_000, most=60):
        assert abs(own.part) <= 0.03 + 5 * own.error, own


def test_every_kind_has_widths() -> None:
    """A row for each that an answer has, but for p-values and found words: of the questions that `init` writes."""
    collection = Collection.loads(start("own", list(KINDS), "own.toml"))
    assert {metric.kind.name for metric in collection.metrics.values()} == set(KINDS) == set(QUESTIONS)
    for metric in collection.metrics.values():
        found = widths(metric, 1_000, answers=2)
        assert found, metric.name
        assert all(0 < own.half <= own.whole / 2 + 1e-9 for own in found if not own.open), metric.name


def test_a_word_is_as_certain_as_all_devices_make_it() -> None:
    """Of a text the width of one word that is asked for, and of how many are too long, under the headings of both."""
    long, word = widths(asked("text", "max_bytes = 8\nepsilon = 4"), 10_000)
    assert (long.where, long.heading.name) == (("too long", "too long"), "too long")
    assert (word.where.series, word.heading.name) == ("candidates", "candidates")
    assert 0 < long.half < 0.05
    assert 0 < word.half < 0.05


def test_a_half_that_is_nearly_always_the_same_is_not_taken_for_certain() -> None:
    """The ends of a quantile of four buckets are whole buckets: one bucket nine times in ten, and else two. Of a
    thousand fleets (`tools.width_accuracy`) p10 and p90 have 0.54 on average, and of eight each 0.5. Of p99 one in a
    thousand is wider.

    Of a million devices, of which most have the same, p95 has half a bucket less seven times in a hundred, and eight
    answers tell all else well enough: after these it would be told as 1.5, as if there were nothing else."""
    even, skewed = CASES["distribution of 4, uniform"], CASES["distribution of 4, skewed"]
    found = {own.where.key: own.half for own in widths(even.metric, 1_000, fleet_of(even), answers=40)}
    assert 0.5 < found["p10"] < 0.6
    assert 0.5 < found["p90"] < 0.6
    assert 0.5 <= found["p99"] < 0.505
    found = {own.where.key: own.half for own in widths(skewed.metric, 10**6, fleet_of(skewed), answers=20)}
    assert 1.44 < found["p95"] < 1.49


def test_a_half_that_is_the_same_is_drawn_64_times() -> None:
    """Of what comes once in ten, eight see nothing four times in ten; 64 once in a thousand times."""
    assert averaged(lambda: 1.0) == (1.0, 64)


def test_totals_grow_with_the_devices_and_means_are_told_in_their_unit() -> None:
    """Of a number from 0 to 60 a total's half is a mean's times the devices."""
    mean, total, deviation = widths(asked("number", "range = [0, 60]\nepsilon = 1"), 10_000)
    assert total.half == pytest.approx(10_000 * mean.half)
    assert (total.heading.measure, deviation.whole) == (Measure.TOTAL, 30)


def test_four_times_as_many_devices_halve_what_is_not_known() -> None:
    """Also beyond the devices that are simulated."""
    metric = asked("tree", 'paths = ["a/x", "a/y", "b"]\nepsilon = 1')
    few, many = (widths(metric, devices) for devices in (MOST, 4 * MOST))
    for one, other in zip(few, many, strict=True):
        scale = 4 if one.heading.measure is Measure.TOTAL else 1
        assert other.half / scale == pytest.approx(one.half / 2, rel=0.03), one.where


def test_a_count_without_a_max_is_open() -> None:
    """What is told of it is how far the low end is below the mean."""
    mean, total = widths(asked("count", 'privacy_unit = "event"\nepsilon = 1'), 10_000)
    assert mean.open
    assert total.open
    assert 0 < mean.half < 1
    assert half_of(3.0, 4.0, math.inf) == (1.0, True)


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [("4 flags, one drawn, skewed", "4"), ("category of 16, skewed", "4"), ("boolean, skewed", "1")],
)
def test_a_share_is_told_as_its_count_makes_it(name: str, epsilon: str) -> None:
    """Of a hundred devices, to a part of 10^4: over every count that can come out, as often as it does."""
    (case,) = [own for own in cases(epsilon) if str(own) == name]
    metric, columns = case.metric, len(case.metric.columns)
    fleet = fleet_of(case)
    known = truth(metric, looked_at(fleet, 100))
    mechanism, reports = metric.columns[0].mechanism, 100 // columns
    counts = np.arange(reports + 1)
    found = replace(frequencies(mechanism, np.zeros(mechanism.shape.counters, int)), reports=reports, supports=counts)
    low, high = found.intervals(0.95, Target.POPULATION)
    for own in widths(metric, 100, fleet):
        chances = binom.pmf(counts, reports, found.q + known[own.where] * (found.p - found.q))
        assert own.half == pytest.approx(float(chances @ (high - low)) / 2, rel=1e-4), own.where


@pytest.mark.parametrize(("name", "series"), [("distribution of 4", "quantiles"), ("joint of 2 by 3", "association")])
def test_what_is_drawn_is_of_the_fleet_that_is_said(name: str, series: str) -> None:
    """Of 100,000 devices at epsilon 4: quantiles that lie between two buckets, and an association that is none, show
    a fleet that is another one by a thousandth, and answers that are too few. To 3%, and five standard errors of 300
    answers, 10^-6."""
    (case,) = [own for own in cases("4") if str(own) == f"{name}, uniform"]
    fleet, metric, generator = fleet_of(case), case.metric, np.random.default_rng(7)
    sent = symbols(metric, [(metric.kind.check(value), 1.0) for value in case.fleet.values])
    assert sent is not None
    seen = [answer(metric, sent.counters(100_000, generator), only=[series]).rows for _ in range(300)]
    every = np.array([[half_of(row.low, row.value, row.high)[0] for row in rows] for rows in seen])
    means, errors = every.mean(axis=0), every.std(axis=0, ddof=1) / np.sqrt(len(seen))
    expected = [own.half for own in widths(metric, 100_000, fleet) if own.where.series == series]
    assert (np.abs(np.array(expected) / means - 1) <= 0.03 + 5 * errors / means).all()


def test_rows_are_those_of_the_answer() -> None:
    """In its order, with its headings."""
    metric = asked("ordinal", 'values = ["low", "middle", "high"]\nepsilon = 1')
    told = answer(metric, [np.full(3, 300)])
    assert [own.where for own in widths(metric, 1_000)] == list(told.ids)


def test_what_is_drawn_is_drawn_often_enough() -> None:
    """Of halves that vary by a tenth, 400 tell the mean to half a hundredth: looked at now and then, no fewer
    than 300, and no more than 700. They ended at a hundredth, and an ordinal's share was told as 3.1% too wide."""
    generator = np.random.default_rng(7)
    found, drawn = averaged(lambda: float(generator.normal(1, 0.1)))
    assert 300 <= drawn <= 700
    assert abs(found - 1) <= 5 * 0.005


def averaged(half: Callable[[], float]) -> tuple[float, int]:
    """The half of a row that is told of such halves, and of how many."""
    drawn = 0
    (heading,) = headings(asked("boolean", "epsilon = 1"))

    def halves() -> Iterator[list[Width]]:
        nonlocal drawn
        while True:
            drawn += 1
            yield [Width(RowId("shares", "yes"), heading, half(), 2.0)]

    (found,) = _averaged(halves(), 10_000)
    return found.half, drawn
