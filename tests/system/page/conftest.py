"""One fleet, one browser and one page of it, for all tests that look at the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from support.page import fleet
from support.site import Running, browser, watched


@pytest.fixture(scope="package")
def aggregator() -> Iterator[Running]:
    """Nine days of a fleet; one metric of which nothing has come, and one of which little."""
    with fleet() as started:
        yield started


@pytest.fixture(scope="package")
def tab(aggregator: Running) -> Iterator[Page]:
    """One browser, and one page of it."""
    with browser() as started:
        yield started.new_context(base_url=aggregator.url, reduced_motion="reduce").new_page()


@pytest.fixture
def page(tab: Page, aggregator: Running, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that is empty at first, watched for errors and strange hosts."""
    settings = {"width": 1440, "color_scheme": "light", "allowed": ()} | getattr(request, "param", {})
    tab.set_viewport_size({"width": settings["width"], "height": 900})
    tab.emulate_media(color_scheme=settings["color_scheme"])
    with watched(tab, aggregator.url, settings["allowed"]):
        yield tab
