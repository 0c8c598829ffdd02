"""The page of a collection that is retired: shown as such, where its answers are and how the aggregator does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page, expect

from deniable import Collection
from support.collection_files import SMALL
from support.page import shown
from support.site import running


def test_a_collection_that_is_retired_is_shown_as_such(tab: Page) -> None:
    """On its card by the day on which it ended, under Health with what that means."""
    day = datetime.now(UTC).date() - timedelta(days=3)
    own = Collection.loads(SMALL.replace('epoch = "1d"', f'epoch = "1d"\nretired = {day}'))
    started = tab.context.browser
    assert started
    with running(own) as aggregator:
        aggregator.put(own, own.ends - 1 if own.ends else 0, {"answer": [60, 40]}, batches=100)
        page = started.new_context(base_url=aggregator.url, reduced_motion="reduce").new_page()
        shown(page, "/")
        expect(page.locator(".card", has_text="The answer is yes")).to_contain_text(f"expired {day}")
        shown(page, "/health")
        expect(page.locator("main")).to_contain_text(
            f"small; retired from {day} on: nothing of a later epoch is taken"
        )
