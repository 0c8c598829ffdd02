"""The overview and the page of changes in a browser: a card for each question, live, and what has changed."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from deniable_aggregator import Reader
from support.page import EDITOR, QUIET, report, shown
from support.site import Running


def test_a_card_shows_estimate_interval_reports_and_epsilon_as_the_api_tells_them(
    page: Page, aggregator: Running
) -> None:
    """On the overview, digit by digit; the trend is drawn when there is one."""
    shown(page, "/")
    card = page.locator(".card", has_text="The dark theme is on")
    with Reader(aggregator.endpoint) as reader:
        (row,) = reader.estimates("dark_mode")
    expect(card.locator(".big")).to_have_text(f"{row['text']}yes")
    expect(card.locator(".between")).to_have_text(f"between {row['low_text']} and {row['high_text']}")
    expect(card.locator(".foot")).to_contain_text(f"{row['reports']:,} reports")
    expect(card.locator(".foot")).to_contain_text("epsilon 1")
    expect(card.locator(".foot")).to_contain_text("memoized")
    expect(card.locator(".spark .main-svg").first).to_be_visible()
    expect(page.locator(".card", has_text="crashed today")).to_contain_text("expired 2020-01-01")
    expect(page.get_by_role("heading", level=1)).to_have_text("editor")
    assert "simulated" not in page.locator("body").inner_text()


def test_a_submitted_batch_moves_the_page(page: Page, aggregator: Running, tmp_path: Path) -> None:
    """A device reports, and the card follows without a reload; the change is said to those who listen."""
    shown(page, "/")
    foot = page.locator(".card", has_text="Hardly anybody").locator(".foot")
    before = int(foot.inner_text().split()[0])
    report(aggregator, tmp_path / "device.db", "timid")
    expect(foot).to_contain_text(f"{before + 1} reports")
    expect(page.locator("#said")).to_have_text("The answers have changed.")


def test_of_many_rows_the_largest_are_shown(page: Page) -> None:
    """Of a hundred values five are on the card and fifty on the metric's page, which say so."""
    shown(page, "/")
    expect(page.locator(".card", has_text="postal code")).to_contain_text("and 95 more")
    shown(page, "/c/editor/zip")
    expect(page.locator("section[aria-labelledby=answer-head] tbody tr")).to_have_count(50)
    expect(page.locator("main")).to_contain_text("The 50 largest of 100; the CSV file has all.")
    # The largest of all need not be among the fifty of a platform: that is no lack of reports.
    cells = page.get_by_role("region", name="By platform").locator("tbody td:nth-child(2)").all_inner_texts()
    assert len(cells) == 3
    assert all(re.fullmatch(r".+% \(.+ to .+\)|not among the largest", cell) for cell in cells)


def test_every_kind_has_a_card_and_a_page(page: Page) -> None:
    """Each kind that there is shows its estimate with an interval, and its page a chart and a table."""
    from deniable.kinds import KINDS

    shown(page, "/")
    names = {metric.kind.name: metric.name for metric in EDITOR.metrics.values() if metric.name not in QUIET}
    assert set(names) == set(KINDS) - {"joint", "text"}, "test_joint.py and test_text.py look at the pages of these"
    for name in names.values():
        card = page.locator(".card", has=page.locator(f"#card-{name}"))
        assert card.locator(".glyph .reach").count() >= 3
        assert re.search(r"\d", card.locator(".big, .text").first.inner_text())
    for name in ("commands", "delays", "features", "region", "weights", "tongues"):
        shown(page, f"/c/editor/{name}")
        drawn = ".tree .glyph" if name == "region" else ".chart .main-svg"
        expect(page.locator(f"section[aria-labelledby=answer-head] {drawn}").first).to_be_visible()
        row = page.locator("section[aria-labelledby=answer-head] tbody tr").first.inner_text()
        assert re.search(r"-?[\d.,]+%? to -?[\d.,]+%?", row)


def test_what_has_changed_is_on_its_card_and_ranked_on_a_page(page: Page, aggregator: Running) -> None:
    """A chip with the difference and its interval, as the API tells them; none where nothing was found."""
    shown(page, "/")
    chip = page.locator(".card", has_text="crashed today").locator(".chip")
    with Reader(aggregator.endpoint) as reader:
        rows = reader.compare()
    (row,) = (row for row in rows if row["metric"] == "crashed")
    ends = [row[name].removesuffix(" points") for name in ("low_text", "high_text")]
    expect(chip).to_have_text(f"{row['text']} ({ends[0]} to {ends[1]}) since the day before")
    found = {row["metric"] for row in rows if row["found"]}
    assert page.locator(".chip").count() == len(found)
    page.get_by_role("link", name="What has changed").click()
    first = page.locator("section[aria-labelledby=found-head] tbody tr").first
    expect(first).to_contain_text("crashed: yes")
    expect(first).to_contain_text(row["text"])
    expect(page.locator("main")).to_contain_text("no more than 5% of what is found is none")
    sides = page.locator("section[aria-labelledby=sides-head]")
    expect(sides.get_by_label("Answer")).to_have_value("crashed")
    expect(sides.locator(".head")).to_have_text([re.compile("before: "), re.compile("after: ")])
    texts = [re.compile(re.escape(text)) for text in (row["before_text"], row["after_text"])]
    expect(sides.locator(".side:not(.head)")).to_contain_text(texts)
    sides.get_by_label("Answer").select_option("delays")
    expect(sides.locator(".chart .main-svg").first).to_be_visible()
    first.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("crashed")
    page.goto("/changes/editor?last=7")
    expect(page.locator("main")).to_contain_text("Compared with the 7 days before")
