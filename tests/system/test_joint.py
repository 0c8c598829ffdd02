"""A joint, all the way: over gRPC, as CSV, for Prometheus, in a terminal, and as a heat map on the page."""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from deniable import Collection
from deniable_aggregator import Reader
from deniable_aggregator.commands import main
from deniable_aggregator.planning.population import Population
from deniable_aggregator.planning.simulate import simulate
from support.accessible import violations
from support.collection_files import head, metric
from support.site import Running, browser, got, running

TEXT = (
    head("desk", 9.0)
    + metric("dark", "boolean", "The dark theme is on")
    + metric("platform", "category", "The platform", values=["linux", "mac / os", "<b>windows</b>"])
    + metric("mood", "ordinal", "How the day was", values=["bad", "good"])
    + metric("both", "joint", "Which theme, on which platform", of=["dark", "platform"], epsilon=2.0)
    + metric("pairs", "joint", "What goes with the theme", of=["dark", "platform", "mood"], pairs="dark", epsilon=2.0)
)
COUNTS = [[2, 8, 4], [9, 3, 4]]
ANSWER = "section[aria-labelledby=answer-head]"
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.fixture(scope="module")
def desk() -> Iterator[Running]:
    """A day of 30,000 devices."""
    collection = Collection.loads(TEXT)
    platforms = collection.metrics["platform"].kind.names(0)
    values = [{"dark": dark, "platform": platform, "mood": ("bad", "good")[dark]}
              for dark in (False, True) for platform in platforms]  # fmt: skip
    people = Population(values, np.repeat(np.arange(6), np.ravel(COUNTS) * 1_000))
    generator, counters = np.random.default_rng(4), {}
    for name in ("both", "pairs"):
        metric = collection.metrics[name]
        own = [{source: value[source] for source in metric.kind.of} for value in values]
        counters[name] = simulate(metric, Population(own, people.places), generator)
    with running(collection) as started:
        started.put(collection, collection.epoch_at(time.time()), counters, batches=100)
        yield started


def test_rows_are_the_same_in_every_form(desk: Running) -> None:
    """As CSV and in Python: the same keys and digits, and p-values without an interval in a terminal."""
    table = list(csv.DictReader(io.StringIO(got(desk, "/api/v1/collections/desk/estimates/both.csv"))))
    with Reader(desk.endpoint) as reader:
        read = [dict(row) for row in reader.estimates("both")]
    assert [(row["series"], row["key"], row["text"]) for row in table] == [
        (row["series"], row["key"], row["text"]) for row in read
    ]
    by = {(row["series"], row["key"]): row for row in read}
    assert abs(by["table", "yes / linux"]["value"] - 0.3) < 0.05
    assert abs(by["conditionals", "dark: yes given platform: mac / os"]["value"] - 3 / 11) < 0.1
    assert by["association", "dark / platform"]["low"] > 0.2
    assert by["independence", "dark / platform"]["value"] < 1e-6
    with Reader(desk.endpoint) as reader:
        model = reader.estimates("pairs").naive_bayes("dark")
        with pytest.raises(ValueError, match="made of one answer, not of 5"):
            reader.estimates().naive_bayes("dark")
    assert model.predict([{"mood": "good"}, {"mood": "bad", "platform": "linux"}]) == ["yes", "no"]
    assert abs(sum(row["consistent"] for row in read if row["series"] == "table") - 1) < 1e-9


def test_a_terminal_has_the_rows(desk: Running, capfd: pytest.CaptureFixture[str]) -> None:
    """One line each; of a p-value no interval."""
    main(["estimates", "--metric", "both", "--endpoint", desk.endpoint])
    shown = capfd.readouterr().out.splitlines()
    lines = {line.split("  ")[0]: line for line in shown}
    assert len(lines) == len(shown)
    assert "%" in lines["both: yes / linux"]
    assert " to " in lines["both: association of dark / platform"]
    assert " to " not in lines["both: independence of dark / platform"]


def test_rows_are_drawn_from_an_answer(desk: Running, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As many as are asked for, or as a wanted accuracy takes, with what that promises and what it does not."""
    path = tmp_path / "rows.csv"
    main(["synthesize", "both", "--within", "0.05", "--endpoint", desk.endpoint, "--output", str(path)])
    said = capfd.readouterr().err
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert f"{len(rows):,} rows that are drawn from the answer of both, and are no device's" in said
    assert "within 4.7 points" in said
    assert "no number of rows makes better" in said
    assert {row["dark"] for row in rows} == {"no", "yes"}
    assert abs(sum(row == {"dark": "yes", "platform": "linux"} for row in rows) / len(rows) - 0.3) < 0.1
    assert main(["synthesize", "both", "--rows", "7", "--format", "json", "--endpoint", desk.endpoint]) == 2
    assert main(["synthesize", "both", "--rows", "7", "--endpoint", desk.endpoint]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 8


def test_prometheus_has_cells(desk: Running) -> None:
    """By their names, in labels."""
    told = got(desk, "/metrics")
    assert 'deniable_estimate{collection="desk",key="yes / linux",metric="both",series="table"} ' in told
    assert 'key="no / mac \\\\/ os"' in told
    assert 'deniable_estimate{collection="desk",key="dark / platform",metric="both",series="association"} ' in told
    about = '{collection="desk",key="dark / platform",metric="both",series="independence"} '
    assert f"deniable_estimate{about}" in told
    assert f"deniable_estimate_upper_bound{about}" not in told


def test_a_heat_map_is_walked_by_keyboard(desk: Running) -> None:
    """A cell says what goes with it: what part of either value has the other. Nothing of it is markup, or wider
    than a phone, or hidden from who listens, in light and in dark. Of pairs one is chosen from a list."""
    with browser() as started:
        context = started.new_context(
            base_url=desk.url, reduced_motion="reduce", color_scheme="light", viewport={"width": 390, "height": 800}
        )
        page = context.new_page()
        page.goto("/")
        card = page.locator(".card", has=page.locator("#card-both"))
        expect(card).to_contain_text("association of dark / platform")
        expect(card).to_contain_text("p-value of independence")
        page.goto("/c/desk/both")
        walked(page)
        page.locator("#view-consistent").check()
        expect(page.locator(ANSWER)).to_contain_text("adds up to 100%")
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            expect(page.locator(f"html[data-theme={theme}]")).to_be_attached()
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            assert violations(page) == []
        page.goto("/c/desk/pairs")
        choice = page.locator("#joint-pair")
        expect(choice).to_have_value("dark / mood")
        expect(page.locator("#cell-1-1")).to_have_text(re.compile(r"5\d\.\d\d%"))
        choice.select_option("dark / platform")
        expect(page.locator("#cell-1-2")).to_have_text(re.compile(r"\d+\.\d\d%"))
        assert violations(page) == []


def walked(page: Page) -> None:
    """From the first cell down and to the right, each of which says what it is."""
    cell = page.locator("#cell-0-0")
    expect(cell).to_have_text(re.compile(r"\d+\.\d\d%"))
    expect(page.locator(f"{ANSWER} .heat").get_by_text("<b>windows</b>")).to_be_visible()
    cell.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#cell-1-0")).to_be_focused()
    told = page.locator(f"{ANSWER} output")
    words = r"dark: yes and platform: linux: \d+\.\d\d% .*Of dark: yes, .* have platform"
    expect(told).to_contain_text(re.compile(words))
    page.keyboard.press("ArrowRight")
    expect(told).to_contain_text("platform: mac / os")
