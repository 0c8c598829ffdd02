"""Words that nobody has listed, all the way: over gRPC and HTTP, by a file, in Prometheus, on the page."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from deniable import Collection
from deniable_aggregator import Reader
from deniable_aggregator.commands import main
from deniable_aggregator.planning.simulate import simulate
from support.collection_files import head, metric
from support.site import Running, browser, got, running

TEXT = head("shop", 5.0) + metric("engine", "text", "The search engine", max_bytes=40, epsilon=2.0)
SCRIPT = "<script>x()"
TURNED = "\u202eelgoog"
DEVICES = {"duckduck": 7_000, "ecosia": 4_000, SCRIPT: 5_000, TURNED: 2_000, "x" * 99: 1_000, "rare": 1_000}


@pytest.fixture(scope="module")
def shop() -> Iterator[Running]:
    """A day of 20,000 devices."""
    collection = Collection.loads(TEXT)
    metric = collection.metrics["engine"]
    values = [metric.kind.check(word) for word, count in DEVICES.items() for _ in range(count)]
    counters = simulate(metric, values, np.random.default_rng(4))
    with running(collection) as started:
        started.put(collection, collection.epoch_at(time.time()), {"engine": counters}, batches=100)
        yield started


def test_what_is_found_is_the_same_in_every_form(shop: Running) -> None:
    """Over HTTP, as CSV and in Python: words by their keys, and from which share on they are found."""
    answer = json.loads(got(shop, "/api/v1/collections/shop/estimates/engine"))["estimate"]
    words, long, candidates = answer["series"]
    keys = [row["key"] for row in words["rows"]]
    assert {"duckduck", "ecosia", SCRIPT, "\\u{202e}elgoog"} <= set(keys)
    assert 0.01 < words["least"] < 0.1
    assert long["rows"][0]["low"] < 0.05 < long["rows"][0]["high"]
    assert not candidates.get("rows")
    table = list(csv.DictReader(io.StringIO(got(shop, "/api/v1/collections/shop/estimates/engine.csv"))))
    with Reader(shop.endpoint) as reader:
        read = [dict(row) for row in reader.estimates("engine")]
    assert [row["key"] for row in table] == [row["key"] for row in read]
    assert [row["key"] for row in table if row["series"] == "shares"] == keys


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
    """Labels in one line each, twenty at the most and none longer than escapes make it; nothing moves a cursor."""
    told = got(shop, "/metrics")
    told = "\n".join(line for line in told.splitlines() if 'series="shares"' in line)
    labels = re.findall(r'^deniable_estimate\{collection="shop",key="(.*)",metric="engine"', told, re.MULTILINE)
    assert len(labels) <= 20
    assert {"duckduck", SCRIPT, "\\\\u{202e}elgoog"} <= set(labels)
    assert all(len(label) <= 11 * 64 for label in labels)
    main(["estimates", "--endpoint", shop.endpoint])
    said = capfd.readouterr().out
    assert SCRIPT in said
    assert "\u202e" not in said


def test_words_are_bars_with_a_line_on_the_page(shop: Running) -> None:
    """The most frequent on the card; on their page with the share from which on words are found. A script is text."""
    with browser() as started:
        page = started.new_context(base_url=shop.url, reduced_motion="reduce").new_page()
        failures: list[str] = []
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.on("dialog", lambda dialog: failures.append(dialog.message))
        page.goto("/")
        card = page.locator(".card", has=page.locator("#card-engine"))
        expect(card).to_contain_text("duckduck", timeout=40_000)
        expect(card).to_contain_text(SCRIPT)
        expect(card).to_contain_text("eight letters are found from")
        page.goto("/c/shop/engine")
        answer = page.locator("section[aria-labelledby=answer-head]")
        expect(answer).to_contain_text("What is found.", timeout=40_000)
        expect(answer.locator(".chart")).to_contain_text("eight letters: found from", timeout=40_000)
        expect(answer).to_contain_text("\\u{202e}elgoog")
        assert page.locator("section script").count() == 0
        assert Axe().run(page, options={"resultTypes": ["violations"]}).violations_count == 0
        assert failures == []
