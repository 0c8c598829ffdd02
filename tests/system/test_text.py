"""Words that nobody has listed, all the way: over gRPC and HTTP, by a file, in Prometheus, on the page."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect
from prometheus_client.parser import text_string_to_metric_families

from deniable import Collection
from deniable_aggregator import Reader
from deniable_aggregator.commands import main
from deniable_aggregator.planning.simulate import simulate
from support.accessible import violations
from support.collection_files import head, metric
from support.commands import ROOT
from support.prometheus import query, scraping
from support.site import Running, browser, got, running
from support.waiting import soon

TEXT = head("shop", 5.0) + metric("engine", "text", "The search engine", max_bytes=40, epsilon=2.0)
SCRIPT = "<script>x()"
TURNED = "\u202eelgoog"
LINK = "<a href='/'>e"
LONG = "x" * 99
LONGEST = 6 * 40
"""A word's bytes, or what stands for them: a control character is one byte, and as a key six signs at the most."""
DEVICES = {"duckduck": 5_000, "ecosia": 3_500, SCRIPT: 3_500, LINK: 4_000, TURNED: 2_000, LONG: 1_000, "rare": 1_000}
BEFORE = {"duckduck": 6_000, "ecosia": 5_500, SCRIPT: 3_500, TURNED: 3_000, LONG: 1_000, "rare": 1_000}
"""Of the day before: nobody has the link."""


@pytest.fixture(scope="module")
def shop() -> Iterator[Running]:
    """A day of 20,000 devices, and the day before."""
    collection = Collection.loads(TEXT)
    metric, today = collection.metrics["engine"], collection.epoch_at(time.time())
    with running(collection) as started:
        for epoch, devices in ((today, DEVICES), (today - 1, BEFORE)):
            values = [metric.kind.check(word) for word, count in devices.items() for _ in range(count)]
            counters = simulate(metric, values, np.random.default_rng(4))
            started.put(collection, epoch, {"engine": counters}, batches=100)
        yield started


def test_what_is_found_is_the_same_in_every_form(shop: Running) -> None:
    """Over HTTP, as CSV and in Python: words by their keys, and from which share on they are found."""
    answer = json.loads(got(shop, "/api/v1/collections/shop/estimates/engine"))["estimate"]
    words, covered, long, candidates = answer["series"]
    keys = [row["key"] for row in words["rows"]]
    assert {"duckduck", "ecosia", SCRIPT, "\\u{202e}elgoog"} <= set(keys)
    assert 0.01 < words["least"] < 0.1
    assert long["rows"][0]["low"] < 0.05 < long["rows"][0]["high"]
    assert 0.8 < covered["rows"][0]["low"] < covered["rows"][0]["high"] <= 1, "all but what is too long is found"
    assert not candidates.get("rows")
    table = list(csv.DictReader(io.StringIO(got(shop, "/api/v1/collections/shop/estimates/engine.csv"))))
    with Reader(shop.endpoint) as reader:
        read = [dict(row) for row in reader.estimates("engine")]
    assert [row["key"] for row in table] == [row["key"] for row in read]
    assert [row["key"] for row in table if row["series"] == "shares"] == keys


def test_new_words_are_marked_in_every_form(shop: Running, capfd: pytest.CaptureFixture[str]) -> None:
    """The one that nobody had the day before: over HTTP, as CSV, in Python and at the terminal; and no other, not
    even one that has changed. Compared with a window that is longer nothing is new."""
    path = "/api/v1/collections/shop/comparisons/engine"
    (comparison,) = json.loads(got(shop, f"{path}?rows=2"))["comparisons"]
    first, second = comparison["series"][0]["changes"]
    assert (first["key"], first["new"], first["found"]) == (LINK, True, True)
    assert (second["key"], second["new"], second["found"]) == ("ecosia", False, True)
    table = list(csv.DictReader(io.StringIO(got(shop, f"{path}.csv"))))
    with Reader(shop.endpoint) as reader:
        read = [dict(row) for row in reader.compare("engine")]
        assert not any(row["new"] for row in reader.compare("engine", before={"last": 2}))
    assert (
        [row["key"] for row in table if row["new"] == "True"] == [row["key"] for row in read if row["new"]] == [LINK]
    )
    main(["compare", "engine", "--endpoint", shop.endpoint])
    (line,) = (line for line in capfd.readouterr().out.splitlines() if LINK in line)
    assert line.endswith("  new")


def test_any_word_can_be_asked_for(shop: Running, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """By name, over HTTP; and of a list those that there are, by a file."""
    rows = json.loads(got(shop, "/api/v1/collections/shop/estimates/engine?candidates=rare"))["estimate"]["series"][
        -1
    ]
    assert [row["key"] for row in rows["rows"]] == ["rare"]
    assert rows["rows"][0]["low"] < 0.05 < rows["rows"][0]["high"]
    absent = [f"nobody {number}" for number in range(60)]
    with Reader(shop.endpoint) as reader:
        found = {row["key"] for row in reader.candidates("engine", ["duckduck", "ecosia", SCRIPT, "y" * 99, *absent])}
    assert {"duckduck", "ecosia", SCRIPT} <= found
    assert len(found) <= 6
    (tmp_path / "words.txt").write_text("duckduck\n\necosia\nnobody\n", encoding="utf-8")
    options = ["--endpoint", shop.endpoint, "--metric", "engine", "--candidates", str(tmp_path / "words.txt")]
    main(["estimates", *options])
    said = capfd.readouterr().out
    assert "duckduck" in said
    assert "ecosia" in said


def test_prometheus_and_the_terminal_have_words_that_do_nothing(
    shop: Running, capfd: pytest.CaptureFixture[str]
) -> None:
    """Labels that read back as keys, twenty at the most, none longer than escapes make it; nothing moves a cursor."""
    families = {family.name: family for family in text_string_to_metric_families(got(shop, "/metrics"))}
    for name in ("deniable_estimate", "deniable_estimate_upper_bound", "deniable_change"):
        own = [sample.labels["key"] for sample in families[name].samples if sample.labels["series"] == "shares"]
        assert 0 < len(own) == len(set(own)) <= 20
        assert all(key.isprintable() and len(key) <= LONGEST for key in own)
        assert LINK in own
    labels = [sample.labels for sample in families["deniable_estimate"].samples]
    assert {"duckduck", SCRIPT, "\\u{202e}elgoog"} <= {own["key"] for own in labels}
    main(["estimates", "--endpoint", shop.endpoint])
    said = capfd.readouterr().out
    assert SCRIPT in said
    assert "\u202e" not in said


def panels() -> dict[str, str]:
    """What the panels of the dashboard ask that have words."""
    path = ROOT / "deploy" / "grafana" / "dashboards" / "deniable-answers.json"
    own = [panel for panel in json.loads(path.read_text())["panels"] if "ords " in panel["title"] + " "]
    asked = {panel["title"]: panel["targets"][0]["expr"] for panel in own}
    return {
        title: text.replace("$collection", "shop").replace("$metric", "engine|other") for title, text in asked.items()
    }


def test_the_dashboards_have_the_words_that_a_real_prometheus_keeps(shop: Running, tmp_path: Path) -> None:
    """Scraped, and asked as Grafana asks: the most frequent words, as their keys are; and the one that is new."""
    got(shop, "/metrics")  # a first look finds words, and a busy machine takes longer for it than a scrape waits
    with scraping(tmp_path, [shop.url.removeprefix("http://")]) as prometheus:
        frequent, changed = panels().values()
        soon(lambda: len(query(prometheus, frequent)) >= 6, "words are scraped")
        found = {labels["key"]: value for labels, value in query(prometheus, frequent)}
        assert {"duckduck", SCRIPT, LINK, "\\u{202e}elgoog"} <= set(found)
        assert max(found, key=lambda key: found[key]) == "duckduck"
        assert 0.15 < {labels["key"]: value for labels, value in query(prometheus, changed)}[LINK] < 0.25


def test_words_are_bars_with_a_line_on_the_page(shop: Running) -> None:
    """The most frequent on the card; on their page with the share from which on words are found. A script is text."""
    with browser() as started:
        page = started.new_context(base_url=shop.url, reduced_motion="reduce").new_page()
        failures: list[str] = []
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.on("dialog", lambda dialog: failures.append(dialog.message))
        page.goto("/")
        card = page.locator(".card", has=page.locator("#card-engine"))
        expect(card).to_contain_text("duckduck")
        expect(card).to_contain_text(SCRIPT)
        expect(card).to_contain_text("eight letters are found from")
        expect(card).to_contain_text("of the devices (")
        expect(card.locator(".tag.new")).to_have_count(1)
        expect(card.locator(".lines .name", has=page.locator(".tag.new"))).to_contain_text(LINK)
        expect(card.locator(".chip")).to_contain_text(f"{LINK} is new: +")
        assert card.locator(".glyph .threshold").count() == card.locator(".glyph .bar").count() == 5
        page.goto("/c/shop/engine")
        answer = page.locator("section[aria-labelledby=answer-head]")
        expect(answer).to_contain_text("What is found.")
        expect(answer.locator(".chart")).to_contain_text("eight letters: found from")
        expect(answer).to_contain_text("\\u{202e}elgoog")
        expect(answer.locator("tbody tr", has=page.locator(".tag.new"))).to_contain_text(LINK)
        expect(answer.locator(".chart .textpoint")).to_have_text(["new"])
        expect(answer.locator(".chart .yaxislayer-above")).to_contain_text(LINK)
        assert page.locator("section script").count() == 0
        assert page.locator(".chart a").count() == 0, "a word is no link, whatever its letters"
        assert violations(page) == []
        assert failures == []
