"""A tree, all the way: its file and its bundle, over gRPC, as CSV, for Prometheus, and folded on the page."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from deniable import Collection
from deniable_aggregator import Reader
from deniable_aggregator.commands import main
from deniable_aggregator.planning.simulate import simulate
from support.accessible import violations
from support.collection_files import head, metric
from support.site import Running, browser, got, running

TEXT = head("shop", 5.0) + metric("region", "tree", "Where the shop is", paths="regions.csv", epsilon=2.0)
REGIONS = "america,canada\namerica,usa,east\namerica,usa,west\nasia\neurope,france\neurope,germany\n"
DEVICES = {
    "america/canada": 2_000, "america/usa/east": 9_000, "america/usa/west": 5_000, "asia": 0, "europe/france": 40,
    "europe/germany": 3_960,
}  # fmt: skip


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A day of 20,000 devices, of a collection whose paths are in a file."""
    directory = tmp_path_factory.mktemp("shop")
    (directory / "metrics.toml").write_text(TEXT, encoding="utf-8")
    (directory / "regions.csv").write_text(REGIONS, encoding="utf-8")
    collection = Collection.load(directory / "metrics.toml")
    values = [leaf for leaf, count in DEVICES.items() for _ in range(count)]
    counters = simulate(collection.metrics["region"], values, np.random.default_rng(4))
    with running(collection) as started:
        started.put(collection, collection.epoch_at(time.time()), {"region": counters}, batches=100)
        yield started


def test_a_bundle_has_the_paths_in_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One text, that is the same collection."""
    (tmp_path / "metrics.toml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "regions.csv").write_text(REGIONS, encoding="utf-8")
    main(["bundle", str(tmp_path / "metrics.toml")])
    said = capfd.readouterr().out
    assert Collection.loads(said).digest == Collection.load(tmp_path / "metrics.toml").digest


def test_rows_say_whose_part_they_are_in_every_form(shop: Running) -> None:
    """Over HTTP, as CSV and in Python; of devices the consistent view adds up to the reports at every node."""
    answer = json.loads(got(shop, "/api/v1/collections/shop/estimates/region"))["estimate"]
    parents = {row["key"]: row.get("parent", "") for row in answer["series"][1]["rows"]}
    assert parents["america/usa/east"] == "america/usa"
    assert parents["asia"] == ""
    table = list(csv.DictReader(io.StringIO(got(shop, "/api/v1/collections/shop/estimates/region.csv"))))
    with Reader(shop.endpoint) as reader:
        read = [dict(row) for row in reader.estimates("region")]
    sums: Counter[str] = Counter()
    for one, other in zip(table, read, strict=True):
        assert (one["series"], one["key"], one["parent"]) == (other["series"], other["key"], other["parent"])
        if one["series"] == "devices":
            assert other["consistent"] == int(other["consistent"]) >= 0
            sums[one["parent"]] += int(other["consistent"])
    whole = {row["key"]: row["consistent"] for row in read if row["series"] == "devices"}
    assert sums.pop("") == sum(DEVICES.values())
    assert all(count == whole[node] for node, count in sums.items())


def test_prometheus_has_every_node(shop: Running) -> None:
    """By its path, as a share and as a number."""
    told = got(shop, "/metrics")
    for series in ("shares", "devices"):
        assert f'deniable_estimate{{collection="shop",key="america/usa",metric="region",series="{series}"}} ' in told


def test_nodes_fold_on_the_page(shop: Running) -> None:
    """The first level on its card; below a node are its parts, until it is folded; the consistent view says whole
    numbers; nothing of it is hidden from who listens."""
    with browser() as started:
        page = started.new_context(base_url=shop.url, reduced_motion="reduce").new_page()
        page.goto("/")
        card = page.locator(".card", has=page.locator("#card-region"))
        expect(card).to_contain_text("america")
        expect(card).to_contain_text("more nodes")
        page.goto("/c/shop/region")
        tree = page.locator("section[aria-labelledby=answer-head] .tree")
        inner = page.locator('[id="node-america/usa"]')
        expect(inner).to_be_visible()
        expect(inner).to_contain_text(re.compile(r"usa.*\d+\.\d\d%", re.DOTALL))
        expect(tree.get_by_title("america/usa/east")).to_be_hidden()
        inner.focus()
        page.keyboard.press("Enter")
        expect(tree.get_by_title("america/usa/east")).to_be_visible()
        page.locator("#view-consistent").check()
        expect(tree.get_by_title("america/usa/east")).to_be_visible()
        expect(page.locator("section[aria-labelledby=answer-head]")).to_contain_text("add up at every node")
        expect(inner).to_contain_text(re.compile(r"[\d,]+ \(\d+\.\d\d%\)"))
        areas = page.locator(".areas")
        sizes = {name: areas.locator(f'[title^="{name}:"]').bounding_box() for name in ("america", "europe")}
        america, europe = (box["width"] * box["height"] for box in sizes.values() if box)
        assert america / europe == pytest.approx(16_000 / 4_000, rel=0.15)
        page.locator('[id="areas-in-america"]').focus()
        page.keyboard.press("Enter")
        expect(page.locator("#areas-0")).to_be_focused()
        expect(areas.locator('[title^="america/canada:"]')).to_be_visible()
        page.locator('[id="areas-in-america/usa"]').click()
        expect(areas.locator('[title^="america/usa/east:"]')).to_be_visible()
        expect(areas.locator(".crumbs")).to_have_text("all › america › usa")
        areas.get_by_role("button", name="all").press("Enter")
        expect(areas.locator('[title^="europe:"]')).to_be_visible()
        page.locator('[id="node-america"]').click()
        expect(inner).to_be_hidden()
        assert violations(page) == []
