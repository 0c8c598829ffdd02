"""What is told of an answer: the series and rows that are asked for, and of these the same as of the whole answer."""

from __future__ import annotations

import csv
import io
import json
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deniable import Collection
from deniable_aggregator import Reader, RemoteError
from deniable_aggregator.analysis.anytime import Looks
from deniable_aggregator.analysis.query import chosen
from deniable_aggregator.analysis.question import Answer, Query
from deniable_aggregator.analysis.weighting import weighted, weighted_answers
from deniable_aggregator.answers import QUANTILES, RowId, answer, consistent, headings
from deniable_aggregator.planning.simulate import simulate
from support.collection_files import head, metric
from support.commands import told
from support.site import Running, running
from support.waiting import PATIENCE

TODAY = 20_000
COLLECTION = Collection.loads(
    head("shop", 9.0, platform=["linux", "windows"])
    + metric(
        "load_time",
        "distribution",
        "How long the page took to load",
        range=[0, 640],
        buckets=64,
        unit="ms",
        epsilon=2.0,
    )
    + metric(
        "region",
        "tree",
        "Where the shop is",
        paths=["america/canada", "america/usa", "asia", "europe/france", "europe/germany"],
        epsilon=2.0,
    )
    + metric("browser", "category", "The browser", values=["chrome", "edge", "firefox", "safari"], epsilon=2.0)
    + metric("minutes", "number", "Minutes in the foreground", range=[0, 480], unit="minutes", epsilon=2.0)
)
VALUES: dict[str, list[Any]] = {
    "load_time": np.random.default_rng(3).gamma(3, 40, 2_000).round().tolist(),
    "region": ["america/usa"] * 900 + ["america/canada"] * 80 + ["europe/france"] * 20 + ["europe/germany"] * 1_000,
    "browser": ["chrome"] * 1_200 + ["edge"] * 30 + ["firefox"] * 500 + ["safari"] * 270,
    "minutes": [30.0] * 1_500 + [300.0] * 500,
}
SERIES = [(name, own.name) for name in VALUES for own in headings(COLLECTION.metrics[name])]


def counted(seed: int) -> dict[str, Any]:
    """What 2,000 devices have sent."""
    generator = np.random.default_rng(seed)
    return {name: simulate(COLLECTION.metrics[name], own, generator) for name, own in VALUES.items()}


@pytest.fixture(scope="module")
def shop() -> Iterator[Running]:
    """Two days of two platforms."""
    with running(COLLECTION) as started:
        for segment, epoch in ((0, TODAY), (1, TODAY), (0, TODAY - 1), (1, TODAY - 1)):
            started.put(COLLECTION, epoch, counted(epoch + segment), segment, batches=100)
        yield started


@pytest.mark.parametrize(("name", "series"), SERIES)
def test_a_series_is_the_same_whichever_others_are_told(shop: Running, name: str, series: str) -> None:
    """Its rows, their intervals and their values in the consistent view, which are of the whole answer; of one epoch
    and of two, at one look and at several, with a row that is asked for and without."""
    more = (RowId(QUANTILES, "p37.5"),) if name == "load_time" else ()

    def rows(query: Query) -> dict[RowId, Any]:
        (found,) = shop.wait_for(shop.analyst_of(shop.server.store).answers("shop", query, name))
        assert len(found.row_counts) == len(found.estimate.series)
        return dict(zip(found.estimate.ids, zip(found.estimate.rows, found.consistent, strict=True), strict=True))

    for epochs, looks in ((1, Looks.ONE), (2, Looks.ONE), (2, Looks.GROWING)):
        whole = Query(last_epoch=TODAY, epochs=epochs, looks=looks, asked=more)
        every = rows(whole)
        assert rows(replace(whole, series=(series,))) == {
            where: own for where, own in every.items() if where.series == series or where in more
        }


@pytest.mark.parametrize("name", VALUES)
def test_simultaneous_intervals_are_as_many_as_are_told(name: str) -> None:
    """They hold together with the rows that are told, and not with others: so they are no wider than all of them."""
    metric, counters = COLLECTION.metrics[name], counted(1)[name]
    for heading in headings(metric):
        alone = answer(metric, counters, simultaneous=True, only=[heading.name])
        every = answer(metric, counters, simultaneous=True).told([heading.name], ())
        assert alone.ids == every.ids
        assert all(
            every_row.low <= row.low <= row.high <= every_row.high
            for row, every_row in zip(alone.rows, every.rows, strict=True)
        )


def test_weighted_answers_have_the_series_and_rows_that_are_asked_for(shop: Running) -> None:
    """Of shares the largest two, with how many there are; of a distribution just the curve; of a tree shares that add
    up at every node, none of them negative."""
    analyst, shares = shop.analyst_of(shop.server.store), {"linux": 0.3, "windows": 0.7}

    def weighted_by(query: Query, name: str) -> Answer:
        work = weighted_answers(analyst, "shop", query, "platform", shares, name, analyst.turns.own())
        (found,) = shop.wait_for(work)
        return found

    browser = weighted_by(Query(last_epoch=TODAY, rows=2), "browser")
    assert [row.key for row in browser.estimate.rows] == ["chrome", "firefox"]
    assert (browser.row_counts, len(browser.consistent)) == ([4], 2)
    load_time = weighted_by(Query(last_epoch=TODAY, series=("curve",)), "load_time")
    assert {heading.name for heading in load_time.estimate.headings} == {"curve"}
    curve = [float(own) for own in load_time.consistent if own is not None]
    assert len(curve) == len(load_time.estimate.rows)
    assert curve == sorted(curve)
    tree = weighted_by(Query(last_epoch=TODAY), "region")
    assert [own.heading.name for own in tree.estimate.series] == ["shares"]
    below: dict[str, float] = {}
    for row, fit in zip(tree.estimate.rows, tree.consistent, strict=True):
        assert fit is not None
        assert fit >= 0
        below[row.parent] = below.get(row.parent, 0.0) + fit
    fits = dict(zip([row.key for row in tree.estimate.rows], tree.consistent, strict=True))
    assert below.pop("") == pytest.approx(1)
    assert all(total == pytest.approx(fits[node]) for node, total in below.items())


def test_a_weighted_tree_is_that_of_its_strata() -> None:
    """By their shares, and with intervals that hold the truth of both."""
    metric = COLLECTION.metrics["region"]
    strata = [(0.3, [counted(1)["region"]]), (0.7, [counted(2)["region"]])]
    found, _ = weighted(metric, strata)
    alone = [answer(metric, own[0]).by_id for _, own in strata]
    for where, row in found.by_id.items():
        assert row.value == pytest.approx(0.3 * alone[0][where].value + 0.7 * alone[1][where].value)
        assert row.low <= max(row.value, 0) <= row.high
    fits, rows, counts = chosen(metric, found, Query(rows=3))[1], found.rows, len(found.rows)
    assert len(fits) == 3
    assert len(consistent(metric, found)) == len(rows) == counts


def test_every_way_in_tells_the_same(shop: Running) -> None:
    """Over HTTP, as CSV, in Python and at a terminal; a comparison has all its series, and says so."""
    path = f"{shop.url}/api/v1/collections/shop/estimates/region.csv?last_epoch={TODAY}&series=devices&rows=3"
    with urllib.request.urlopen(path, timeout=PATIENCE) as response:
        table = list(csv.DictReader(io.StringIO(response.read().decode())))
    choices: dict[str, Any] = {"series": ["devices"], "rows": 3, "last_epoch": TODAY}
    with Reader(shop.endpoint) as reader:
        read = list(reader.estimates("region", **choices))
        with pytest.raises(RemoteError, match="has no series 'mean'; its series: shares, devices"):
            reader.estimates("region", series=["mean"])
        with pytest.raises(TypeError, match="series"):
            reader.compare("region", last_epoch=TODAY, series=["devices"])  # type: ignore[call-arg]
    where = ("--endpoint", shop.endpoint, "--last-epoch", str(TODAY), "--metric", "region", "--format", "json")
    shown = json.loads(told("estimates", *where, "--series", "devices", "--rows", "3").stdout)
    for own in (table, shown):
        assert [(row["series"], row["key"], float(row["value"]), float(row["consistent"])) for row in own] == [
            (row["series"], row["key"], row["value"], row["consistent"]) for row in read
        ]
    assert len(read) == 3
    assert all(row["consistent"] == int(row["consistent"]) for row in read)
