"""The page where there is nothing to show, too little, not yet, or no store; and how the aggregator does."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from deniable_aggregator import Reader
from deniable_aggregator.store import Doubt, Doubted
from support.page import report, shown
from support.site import Running


def test_metrics_without_and_with_too_few_reports_say_so(page: Page) -> None:
    """Nothing is drawn from nothing, and a wide interval is explained."""
    shown(page, "/")
    expect(page.locator(".card", has_text="Nobody has")).to_contain_text("No reports yet.")
    timid = page.locator(".card", has_text="Hardly anybody")
    expect(timid).to_contain_text("Too few reports.")
    expect(timid.locator(".big")).to_have_text("too few to tellyes")
    expect(timid.locator(".between")).to_have_text("between 0.00% and 100.00%")
    expect(page.locator(".card", has_text="The dark theme is on")).not_to_contain_text("Too few reports.")
    shown(page, "/c/editor/silent")
    expect(page.locator("main")).to_contain_text("No reports yet.")
    shown(page, "/c/editor/timid")
    expect(page.locator("main")).to_contain_text("Too few reports.")
    cells = page.locator("section[aria-labelledby=answer-head] tbody tr").first.locator("th, td")
    expect(cells).to_have_text(["yes", "too few to tell", "0.00% to 100.00%", "too few to tell"])
    assert "158.20" not in page.content()


@pytest.mark.parametrize("page", [{"allowed": ("503",)}], indirect=True)
def test_without_the_store_the_page_keeps_what_it_has_and_says_so(page: Page, aggregator: Running) -> None:
    """What was shown stays, the alert tells what is wrong, and it goes when the store is back."""
    shown(page, "/")
    before = page.locator(".card .big").first.inner_text()
    with aggregator.without_store():
        expect(page.get_by_role("alert")).to_contain_text("the store is away; try again")
        expect(page.locator("#freshness")).to_have_text("Not live")
        assert page.locator(".card .big").first.inner_text() == before
    expect(page.locator("#freshness[data-state=live]")).to_be_visible()
    expect(page.get_by_role("alert")).to_be_empty()


@pytest.mark.parametrize("page", [{"allowed": ("ERR_FAILED",)}], indirect=True)
def test_a_page_that_waits_shows_that_it_waits_and_one_without_an_answer_says_so(page: Page) -> None:
    """While the first answer is on its way there are placeholders; when it does not come, words."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/overview?*", hold)
    page.goto("/")
    expect(page.locator(".wait").first).to_be_visible()
    while not held:
        page.wait_for_timeout(50)
    held[0].abort()
    expect(page.get_by_role("alert")).to_contain_text("The aggregator does not answer.")
    page.unroute("**/overview?*")
    expect(page.locator(".card").first).to_be_visible()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/c/editor/nothing", "does not ask “nothing”"),
        ("/c/writer", "“writer” is not served here. There is: editor."),
    ],
)
def test_what_is_not_there_is_named_with_a_way_back(page: Page, path: str, words: str) -> None:
    """A wrong address ends at a sentence and a link."""
    page.goto(path)
    expect(page.locator("main")).to_contain_text(words)
    page.get_by_text("To the overview").click()
    expect(page.locator(".card").first).to_be_visible()


def test_the_health_page_counts_what_has_come(page: Page, aggregator: Running, tmp_path: Path) -> None:
    """Accepted batches, refusals with their reason in words, the store, and batches by epoch."""
    report(aggregator, tmp_path / "device.db", "dark_mode")
    aggregator.server.stats.refused["EPOCH_TOO_OLD"] += 3
    aggregator.server.stats.publish()
    shown(page, "/health")
    accepted = aggregator.server.totals().accepted
    expect(page.locator(".tile", has_text="batches accepted").locator("dd")).to_contain_text(f"{accepted:,}")
    expect(page.locator(".tile", has_text="refused")).to_contain_text("3")
    expect(page.locator("main")).to_contain_text("of an epoch that is no longer accepted")
    expect(page.locator(".tile", has_text="valkey")).to_contain_text("answers")
    expect(page.locator("main")).to_contain_text("ids are forgotten while their batches would still be taken")
    expect(page.get_by_role("region", name=re.compile("^editor")).locator("tbody tr")).to_have_count(8)


def test_a_day_that_is_not_trusted_is_said_on_its_card_and_its_page(page: Page, aggregator: Running) -> None:
    """With the operator's reason; and the address can ask for it."""
    with Reader(aggregator.endpoint) as reader:
        (newest,) = reader.estimates("dark_mode")
    day = newest["start"] - timedelta(days=1)
    doubted = Doubted("editor", 86_400, int(day.timestamp()) // 86_400)
    doubts = aggregator.server.store.doubts
    aggregator.wait_for(doubts.put({doubted: Doubt("restored <b>from</b> a backup")}))
    try:
        said = f"Not trusted. {day:%Y-%m-%d} is left out: restored <b>from</b> a backup."
        shown(page, f"/c/editor?last=3&last_epoch={doubted.epoch + 1}")
        expect(page.locator(".card", has_text="dark_mode").locator(".notice").first).to_have_text(said)
        shown(page, f"/c/editor/dark_mode?last=3&last_epoch={doubted.epoch + 1}&doubtful=true")
        answer = page.locator("section[aria-labelledby=answer-head]")
        expect(answer.locator(".notice").first).to_contain_text(f"{day:%Y-%m-%d} counts, though it is doubtful")
    finally:
        aggregator.wait_for(doubts.withdraw([doubted]))


def test_days_that_are_not_well_under_way_end_the_trend_of_who_asks_for_them(page: Page, aggregator: Running) -> None:
    """A window that begins with such a day, and that says no end, ends with it; so does what is shown over time."""
    with Reader(aggregator.endpoint) as reader:
        (newest,) = reader.estimates("dark_mode")
    today = Doubted("editor", 86_400, int(newest["start"].timestamp()) // 86_400)
    doubts = aggregator.server.store.doubts
    aggregator.wait_for(doubts.put({today: Doubt("it has only begun")}))
    try:
        shown(page, f"/c/editor/dark_mode?from={newest['start']:%Y-%m-%d}&doubtful=true")
        head = page.locator("#answer-head")
        expect(head).to_contain_text(f"{newest['start']:%Y}")
        page.get_by_text("As a table").click()
        last = page.locator("section[aria-labelledby=trend-head] tbody th").first
        expect(last).to_have_text(head.inner_text())
    finally:
        aggregator.wait_for(doubts.withdraw([today]))
