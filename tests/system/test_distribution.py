"""A distribution, all the way: over gRPC, in a terminal, for Prometheus, on the page; and what is asked for of it."""

from __future__ import annotations

import csv
import io
import json
import re
import time
import urllib.error
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from deniable import Collection
from deniable_aggregator import Reader, RemoteError
from deniable_aggregator.commands import main
from deniable_aggregator.planning.simulate import simulate
from support.collection_files import head, metric
from support.site import Running, browser, got, running

TEXT = (
    head("shop", 5.0)
    + metric(
        "load_time",
        "distribution",
        "How long the page took to load",
        range=[0, 6400],
        buckets=64,
        unit="ms",
        epsilon=2.0,
    )
    + metric("open", "boolean", "The shop was open")
)
COLLECTION = Collection.loads(TEXT)
VALUES = (np.random.default_rng(3).gamma(3, 400, 20_000)).round().tolist()


@pytest.fixture(scope="module")
def shop() -> Iterator[Running]:
    """Three days of 20,000 devices; the newest is the slowest."""
    generator = np.random.default_rng(4)
    today = COLLECTION.epoch_at(time.time())
    with running(COLLECTION) as started:
        for ago in range(3):
            values = [value / (1 + ago) for value in VALUES]
            counters = simulate(COLLECTION.metrics["load_time"], values, generator)
            started.put(COLLECTION, today - ago, {"load_time": counters, "open": [40, 60]}, batches=100)
        yield started


def rows(shop: Running, path: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The rows of an answer, by series and key."""
    estimate = json.loads(got(shop, f"/api/v1/collections/shop/estimates/load_time{path}"))["estimate"]
    return {(own["heading"]["name"], row["key"]): row for own in estimate["series"] for row in own["rows"]}


def test_what_is_asked_for_is_told_besides_what_always_is(shop: Running) -> None:
    """The same over HTTP, as CSV and in Python; the share holds what is true of the fleet."""
    plain = rows(shop, "")
    more = rows(shop, "?shares=above%202000&quantiles=p37.5&shares=500%20to%201000")
    asked = {("shares", "above 2000"), ("shares", "500 to 1000"), ("quantiles", "p37.5")}
    assert more.keys() - plain.keys() == asked
    with Reader(shop.endpoint) as reader:
        table = reader.estimates("load_time", quantiles=[0.375], shares=[(2000, None), (500, 1000)])
    read = {(row["series"], row["key"]): row for row in table}
    assert read.keys() == more.keys()
    beyond = read["shares", "above 2000"]
    assert beyond["low"] <= np.mean(np.array(VALUES) >= 2000) <= beyond["high"]
    assert (beyond["value"], beyond["low_text"]) == (
        more["shares", "above 2000"]["value"],
        more["shares", "above 2000"]["lowText"],
    )
    text = got(shop, "/api/v1/collections/shop/estimates/load_time.csv?shares=above%202000")
    assert "above 2000" in {row["key"] for row in csv.DictReader(io.StringIO(text))}
    over = json.loads(got(shop, "/api/v1/collections/shop/estimates/load_time/epochs?last=3&shares=above%202000"))
    shares = [each["series"][3]["rows"][0]["value"] for each in over["estimates"]]
    assert shares[-1] > max(shares[:-1])


@pytest.mark.parametrize(
    "path", ["load_time?shares=beyond%202000", "load_time?quantiles=p200", "open?shares=above%202"]
)
def test_what_can_not_be_asked_for_is_said(shop: Running, path: str) -> None:
    """Before anything is read."""
    with pytest.raises(urllib.error.HTTPError) as error:
        got(shop, f"/api/v1/collections/shop/estimates/{path}")
    with error.value as refused:
        assert refused.code == 400
    with Reader(shop.endpoint) as reader, pytest.raises(RemoteError, match="to ask for"):
        reader.estimates(shares=[(2, None)])


def test_a_curve_is_told_whole_however_few_rows_are_asked_for(shop: Running) -> None:
    """The largest twenty rows of a curve would be its end."""
    assert rows(shop, "?rows=2") == rows(shop, "")


def test_prometheus_has_quantiles_and_no_curve(shop: Running) -> None:
    """Series whose keys stay the same; a curve's follow the data, and would be new ones every day."""
    told = got(shop, "/metrics")
    for quantile in ("p5", "p50", "p99"):
        assert (
            f'deniable_estimate{{collection="shop",key="{quantile}",metric="load_time",series="quantiles"}} ' in told
        )
    assert 'series="curve"' not in told
    assert 'series="mean"' in told


def test_a_terminal_draws_the_histogram(shop: Running, capfd: pytest.CaptureFixture[str]) -> None:
    """Quantiles as rows, the histogram as bars, and no row for each point of the curve."""
    main(
        ["estimates", "--endpoint", shop.endpoint, "--metric", "load_time", "--above", "2000", "--quantile", "0.375"]
    )
    said = capfd.readouterr().out
    assert re.search(r"load_time: p50 +[\d,.]+ ms +[\d,.]+ to [\d,.]+", said)
    assert "load_time: p37.5" in said
    assert "load_time: above 2000" in said
    assert "█" in said
    assert "load_time: 1000 " not in said


def test_the_page_draws_it_and_tells_the_share_that_is_asked_for(shop: Running) -> None:
    """The curve, the histogram, quantiles over time; the consistent curve; a share."""
    with browser() as started:
        page = started.new_context(base_url=shop.url, reduced_motion="reduce").new_page()
        page.goto("/c/shop/load_time")
        answer = page.locator("section[aria-labelledby=answer-head]")
        expect(answer.locator(".chart .main-svg").nth(1)).to_be_visible()
        expect(answer.locator("tbody").first.locator("tr").first).to_contain_text("p5")
        page.locator("#trend-head").scroll_into_view_if_needed()
        expect(page.locator("section[aria-labelledby=trend-head] .chart .main-svg").first).to_be_visible()
        answer.locator("#share-value").fill("2000")
        answer.locator("#share-ask").click()
        expect(answer.locator("#share-told")).to_contain_text(re.compile(r"above 2000: [\d.]+%"))
        page.locator("#view-consistent").check()
        expect(answer).to_contain_text("a curve that never falls")
        page.goto("/")
        expect(page.locator(".card", has=page.locator("#card-load_time"))).to_contain_text("p90")
