"""Answers as a static site: what it has is what the aggregator says, and everybody can read it, without scripts."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from deniable_aggregator import Reader
from support.accessible import violations
from support.commands import told
from support.page import EDITOR, TEXT
from support.site import Running

FILES = ["editor-notice.html", "editor.csv", "editor.json", "index.html"]


def publish(aggregator: Running, directory: Path, *more: str) -> tuple[int, str]:
    """The exit code, and what is said of it; the site is in `site`."""
    file = directory / "metrics.toml"
    file.write_text(TEXT, encoding="utf-8")
    done = told("publish", directory / "site", file, "--endpoint", aggregator.endpoint, "--last", "7d", *more)
    return done.returncode, done.stdout + done.stderr


def test_what_is_published_is_what_is_told(aggregator: Running, tmp_path: Path) -> None:
    """Numbers to the digit, in the files as on the page; none of what is too few to tell, and no segment."""
    site = tmp_path / "site"
    assert publish(aggregator, tmp_path) == (0, f"4 files: {site / 'index.html'}\n")
    assert sorted(each.name for each in site.iterdir()) == FILES
    page = (site / "index.html").read_text(encoding="utf-8")
    with Reader(aggregator.endpoint) as reader:
        found = reader.estimates(last="7d")
    rows = json.loads((site / "editor.json").read_text())
    assert [row["text"] for row in rows] == [row["text"] for row in found]
    assert [row["value"] for row in rows] == [None if row["too_few"] else row["value"] for row in found]
    with (site / "editor.csv").open() as file:
        assert [row["text"] for row in csv.DictReader(file)] == [row["text"] for row in found]
    few = [row for row in found if row["too_few"]]
    assert {row["metric"] for row in few} >= {"timid"}
    everything = "".join((site / name).read_text() for name in FILES)
    assert not any(row["raw_text"] in everything for row in few if row["metric"] == "timid")
    assert "too few to tell" in page
    assert "Nobody has answered this yet." in page
    assert "The 12 largest of 100 rows are shown." in page
    assert "platform=" not in page
    for row in found:
        if row["metric"] == "browser":
            assert f">{row['text']}</td>" in page
            assert f">{row['low_text']} to {row['high_text']}</td>" in page


def test_segments_are_published_where_that_is_asked_for_and_they_are_many(
    aggregator: Running, tmp_path: Path
) -> None:
    """Not those of fewer reports than are asked for; and what was published before is replaced."""
    page = tmp_path / "site" / "index.html"
    assert publish(aggregator, tmp_path, "--segments", "platform", "--least", "1000000")[0] == 0
    assert "platform=linux" not in page.read_text()
    assert publish(aggregator, tmp_path, "--segments", "platform")[0] == 0
    assert page.read_text().count("<h3>Only platform=linux</h3>") == len(EDITOR.metrics) - 2
    assert "platform=macos" in (tmp_path / "site" / "editor.csv").read_text()


def test_nothing_is_written_over_that_is_not_its_own(aggregator: Running, tmp_path: Path) -> None:
    """Nor is a segment or a language made up."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("mine")
    code, said = publish(aggregator, tmp_path)
    assert (code, said) == (
        2, f"deniable: {site / 'index.html'} is there, and not by publish: take a directory of its own\n",
    )  # fmt: skip
    assert (site / "index.html").read_text() == "mine"
    assert publish(aggregator, tmp_path, "--segments", "shoe") == (
        2, "deniable: --segments: editor has no segment 'shoe'; it has platform\n",
    )  # fmt: skip
    assert publish(aggregator, tmp_path, "--language", "latin")[0] == 2


@pytest.mark.parametrize("look", [(1280, "light", "en"), (390, "dark", "de")], ids=str)
def test_the_site_is_accessible_and_fits_a_phone(
    aggregator: Running, tab: Page, tmp_path: Path, look: tuple[int, str, str]
) -> None:
    """axe finds nothing on either page, nothing is wider than the screen, and nothing is asked of anybody."""
    width, scheme, language = look
    assert publish(aggregator, tmp_path, "--language", language)[0] == 0
    browser = tab.context.browser
    assert browser
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    first = (tmp_path / "site" / "index.html").as_uri()
    page.goto(first)
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.get_by_role("heading", level=2)).to_have_count(len(EDITOR.metrics))
    for place in ("", "notice"):
        if place:
            page.get_by_role("link").first.click()
            expect(page.get_by_role("heading", level=3)).to_have_count(len(EDITOR.metrics))
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in violations(page)] == []
    page.get_by_role("link").last.click()
    expect(page).to_have_url(first)
    assert set(asked) == {first, first.replace("index.html", "editor-notice.html")}, "it needs nothing else"
    context.close()


def test_a_record_and_sheets_are_accessible_and_fit_a_phone(tab: Page, tmp_path: Path) -> None:
    """axe finds nothing, and the table of measures, the widest, fits."""
    (tmp_path / "metrics.toml").write_text(TEXT, encoding="utf-8")
    browser = tab.context.browser
    assert browser
    with browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark") as page:
        for whom in ("officer", "review"):
            file = tmp_path / f"{whom}.html"
            written = told("notice", tmp_path / "metrics.toml", "--for", whom, "--format", "html", "--output", file)
            assert (written.returncode, written.stderr) == (0, "")
            page.goto(file.as_uri())
            expect(page.get_by_role("table").first).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            assert violations(page) == []
