"""Answers with structure, all the way: a kind with two series, rows that depend on what was reported, and parents."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from deniable import Collection
from deniable_aggregator import Reader
from deniable_aggregator.analysis.windows import windowed
from deniable_aggregator.answers import Target
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.telling.terminal import estimates
from support.collection_files import head, metric
from support.site import Running, browser, got, running
from support.toy import known

TEXT = (
    head("places", 5.0)
    + metric(
        "place",
        "place",
        "Where the device is",
        values=["north/harbour", "north/market", "south/mill", "south/station", "west/ford"],
        epsilon=4.0,
    )
    + metric(
        "seldom",
        "place",
        "Where hardly any device is",
        values=["a/a", "b/b", "c/c", "d/d"],
        mechanism="randomized_response",
        epsilon=0.1,
    )
)
PEOPLE = ["north/harbour"] * 5000 + ["north/market"] * 2000 + ["south/mill"] * 3000
FOUND = ["north", "south", "north/harbour", "north/market", "south/mill"]
"""What 10,000 devices show: noise brings a place that nobody is in up to three standard errors now and then, so the
draw is one that is known."""


@pytest.fixture(scope="module")
def places() -> Iterator[Running]:
    """Two days of 10,000 devices; the day before, everybody was in the south."""
    with known():
        collection = Collection.loads(TEXT)
        metric = collection.metrics["place"]
        today = collection.epoch_at(time.time())
        with running(collection) as started:
            for epoch, people in ((today, PEOPLE), (today - 1, ["south/mill"] * 10_000)):
                counters = simulate(metric, people, np.random.default_rng(3))
                few = [10] * collection.metrics["seldom"].columns[0].shape.counters
                started.put(collection, epoch, {"place": counters[0], "seldom": few}, batches=100)
            yield started


def asked(places: Running, path: str) -> Any:
    """What the API says."""
    return json.loads(got(places, f"/api/v1/collections/places/{path}"))


def test_rows_are_those_that_were_found_below_those_that_they_are_a_part_of(places: Running) -> None:
    """Two series with their headings; nobody is in the west, and nothing is told of it."""
    estimate = asked(places, "estimates/place")["estimate"]
    shares, number = estimate["series"]
    assert [row["key"] for row in shares["rows"]] == FOUND
    assert [row["parent"] for row in shares["rows"]] == ["", "", "north", "north", "south"]
    assert shares["heading"]["measure"] == "MEASURE_SHARE"
    assert number["heading"]["unit"] == "places"
    assert [row["text"] for row in number["rows"]] == ["3.00"]


def test_csv_python_and_what_is_watched_say_the_same(places: Running) -> None:
    """Series, key and parent are columns of every table."""
    rows = list(csv.DictReader(io.StringIO(got(places, "/api/v1/collections/places/estimates/place.csv"))))
    with Reader(places.endpoint) as reader:
        table, watched = reader.estimates("place"), next(iter(reader.watch()))
    for one in (table, [row for row in watched if row["metric"] == "place"]):
        assert [(row["series"], row["key"], row["parent"]) for row in one] == [
            (row["series"], row["key"], row["parent"]) for row in rows
        ]
    assert [row["key"] for row in rows] == [*FOUND, "places found"]
    assert "place: north/harbour" in estimates(table)


def test_prometheus_has_a_label_for_the_series_and_one_for_the_key(places: Running) -> None:
    """A gauge a row."""
    told = got(places, "/metrics")
    for series, key in (("places", "north/harbour"), ("places", "north"), ("places found", "places found")):
        labels = f'collection="places",key="{key}",metric="place",series="{series}"'
        assert f"deniable_estimate{{{labels}}} " in told
    assert "west" not in told


def test_the_largest_rows_are_chosen_within_a_series(places: Running) -> None:
    """A number of places is no larger row than a share."""
    estimate = asked(places, "estimates/place?rows=1")["estimate"]
    assert [[row["key"] for row in series["rows"]] for series in estimate["series"]] == [["north"], ["places found"]]
    assert [series["rowCount"] for series in estimate["series"]] == [len(FOUND), 1]


def test_a_trend_follows_its_row_through_epochs_in_which_it_is_not_found(places: Running) -> None:
    """The day before, nobody was in the north: its row is asked for, and is near nothing."""
    trend, nothing = sorted(asked(places, "overview?trend=2")["trends"], key=lambda each: not each["key"])
    assert (trend["series"], trend["key"]) == ("places", "north")
    before, now = trend["values"]
    assert abs(before) < 0.05
    assert abs(now - 0.7) < 0.05
    assert (nothing["key"], nothing["values"]) == ("places found", [0.0, 0.0])


def test_what_is_found_on_one_side_is_compared_on_both(places: Running) -> None:
    """The north is new today: the day before its rows are asked for, and are near nothing."""
    with Reader(places.endpoint) as reader:
        rows = {(row["series"], row["key"]): row for row in reader.compare("place")}
    north = rows["places", "north"]
    assert abs(north["before"]) < 0.05 < 0.6 < north["difference"]
    assert north["found"]
    assert north["ratio"] is None
    assert rows["places", "north/harbour"]["parent"] == "north"
    assert {key for series, key in rows if series == "places"} >= set(FOUND)


def test_a_window_has_the_rows_of_all_its_epochs_together() -> None:
    """Each is as wide as the dependence of epochs asks for, also where it stands in one of them alone."""
    with known():
        metric = Collection.loads(TEXT).metrics["place"]
        draws = [simulate(metric, people, np.random.default_rng(5)) for people in (PEOPLE, ["west/ford"] * 10_000)]
        found = windowed(metric, draws, 0.95, Target.POPULATION)
    keys = [row.key for row in found.estimate.series[0].rows]
    assert {"west/ford", "north/harbour", "south/mill", "west"} <= set(keys)
    for row in found.estimate.series[0].rows:
        assert row.low <= row.value <= row.high


def test_the_page_shows_rows_and_their_number(places: Running) -> None:
    """On the card and on the metric's own page."""
    with browser() as started:
        page = started.new_page()
        page.goto(places.url)
        expect(page.locator(".card", has_text="Where the device is")).to_contain_text("north/harbour")
        expect(page.locator(".card", has_text="hardly any")).to_contain_text("Nothing stands out")
        page.goto(f"{places.url}/c/places/place")
        rows = page.locator("section[aria-labelledby=answer-head] tbody tr")
        expect(rows).to_have_count(len(FOUND) + 1)
        assert [line.split("\t")[0] for line in rows.all_inner_texts()] == [*FOUND, "places found"]
        page.get_by_text("Consistent", exact=True).click()
        expect(page.locator("section[aria-labelledby=answer-head]")).to_contain_text("between 0% and 100%")
        page.goto(f"{places.url}/c/places/seldom")
        expect(page.locator("section[aria-labelledby=answer-head]")).to_contain_text("Nothing stands out")
