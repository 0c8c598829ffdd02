"""Estimates weighted to a population whose make-up is known."""

from __future__ import annotations

import asyncio
import math
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from tools.fleets import Case, Fleet
from tools.window_samples import Sampler, asked

from deniable import Collection
from deniable_aggregator.analysis.catalog import Catalog, NotKnownError
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.analysis.question import Query
from deniable_aggregator.analysis.weighting import checked, weighted, weighted_answers
from deniable_aggregator.analysis.windows import windowed
from deniable_aggregator.answers import RowId, Target
from deniable_aggregator.planning.simulate import simulate
from support.collection_files import head, metric
from support.stored import put, stored

CASES = {case.name: case for case in asked("1")}
SAMPLES = 400
LOADS = Collection.loads(
    head("editor", 1.0, platform=["linux", "windows"]) + metric("load", "distribution", range=[0, 100], buckets=16)
)


def loads() -> list[NDArray[np.int64]]:
    """The counters of a thousand devices."""
    return list(simulate(LOADS.metrics["load"], [20.0] * 500 + [40.0] * 500, np.random.default_rng(1)))


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


def test_a_series_without_rows_is_one_as_in_any_answer() -> None:
    """Of ranges nobody has asked for none is told; alone too, where no row at all is weighted."""
    own = LOADS.metrics["load"]
    strata = [(0.5, [loads()]), (0.5, [loads()])]
    found, _ = weighted(own, strata)
    assert [series.heading.name for series in found.series if not series.rows] == ["shares"]
    alone, _ = weighted(own, strata, only=["shares"])
    assert [(series.heading.name, series.rows) for series in alone.told(["shares"], []).series] == [("shares", ())]


def test_who_asks_for_a_row_that_is_not_weighted_is_told_so() -> None:
    """And is not given the answer without it."""

    async def ask() -> None:
        async with stored() as store:
            await put(store, LOADS, 20_000, {"load": loads()})
            analyst = Analyst(Catalog([LOADS]), store)
            asked = partial(weighted_answers, analyst, "editor", name="platform", shares={"linux": 1.0}, metric=None)
            (found,) = await asked(Query(20_000), turn=analyst.turns.own())
            assert found.estimate.reports == 1_000
            for where in (RowId("quantiles", "p37.5"), RowId("shares", "above 20")):
                with pytest.raises(
                    ValueError, match=f"load: {where.key}, of {where.series}, is not told of weighted"
                ):
                    await asked(Query(20_000, asked=(where,)), turn=analyst.turns.own())

    asyncio.run(ask())


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
