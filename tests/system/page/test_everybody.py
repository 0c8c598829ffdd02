"""The page for everybody: with the keyboard, for screen readers, on a phone, in light and in dark."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from support.accessible import serious
from support.page import shown

PAGES = [
    "/",
    "/changes/editor",
    "/c/editor/browser",
    "/c/editor/weights?last=7",
    "/c/editor/region",
    "/c/editor/silent",
    "/c/editor/timid",
    "/health",
]
LOOKS: list[tuple[int, Literal["dark", "light"]]] = [(1440, "light"), (390, "dark")]
"""A desk's and a phone's."""


def test_everything_can_be_reached_and_changed_with_the_keyboard(page: Page) -> None:
    """Skip link, choices, card, view switch and tables: in that order, with a focus that can be seen."""
    shown(page, "/")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the answers")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="What has changed")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Window")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".headline")).to_contain_text(" to ")
    expect(page.get_by_label("Window")).to_be_focused()
    expect(page.get_by_label("From")).to_have_attribute("type", "date")
    link = page.get_by_role("link", name="browser")
    expect(link).to_have_attribute("href", re.compile("last=7"))  # the card is the new window's, and stays
    for _ in range(12):  # a day has fields of its own, as many as the browser likes
        page.keyboard.press("Tab")
        if link.evaluate("each => each === document.activeElement"):
            break
    expect(link).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement, '::after').outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("browser")
    expect(page.locator("#view-raw")).to_be_visible()
    page.locator("#view-raw").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#view-consistent")).to_be_checked()
    expect(page.locator("#view-consistent")).to_be_focused()


def test_axe_finds_nothing_serious_and_nothing_is_cut_off(page: Page) -> None:
    """Every page on a desk in light and on a phone in dark; half of them are opened on either, and then the other."""
    for number, path in enumerate(PAGES):
        for place, (width, scheme) in enumerate(LOOKS if number % 2 else reversed(LOOKS)):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            if not place:
                shown(page, path)
            expect(page.locator(f"html[data-theme={scheme}]")).to_be_attached()
            expect(page.locator("html")).to_have_js_property("scrollWidth", width)
            assert not serious(page), (path, scheme)


@pytest.mark.parametrize("page", [{"color_scheme": "light"}], indirect=True)
def test_colours_follow_the_system_until_they_are_chosen(page: Page) -> None:
    """Dark when the system is dark, light when the button says so, also after a reload."""
    shown(page, "/")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html[data-theme=dark]")).to_be_attached()
    page.get_by_role("button", name="Show in light colours").click()
    shown(page, "/")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


def test_a_page_prints_with_every_chart_in_light_colours_as_wide_as_paper(page: Page) -> None:
    """Also charts that were never in view, and where the page is dark; afterwards it is as it was."""
    page.set_viewport_size({"width": 1400, "height": 500})
    page.emulate_media(color_scheme="dark")
    shown(page, "/c/editor/browser")
    expect(page.locator(".chart .main-svg").first).to_be_visible()
    page.evaluate("addEventListener('afterprint', () => {window.printed = true}, {once: true})")
    widths = "each => each.map((chart) => [chart.clientWidth, chart.querySelector('.main-svg')?.clientWidth ?? 0])"
    screen = page.locator(".chart").evaluate_all(widths)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    expect(page.locator(".chart:not(:has(.main-svg))")).to_have_count(0)
    for chart, drawn in page.locator(".chart").evaluate_all(widths):
        assert 300 < drawn <= chart <= 672 < screen[0][0]
    page.emulate_media(media="print", color_scheme="dark")
    for hidden in (".choices input", ".top-end", ".actions", "details:not([open])"):
        expect(page.locator(hidden).first).to_be_hidden()
    for kept in (
        "section[aria-labelledby=answer-head]",
        "#choice-confidence",
    ):  # what was asked is part of the answer
        expect(page.locator(kept)).to_be_visible()
    page.emulate_media(media="screen", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    until_wide = f"{screen[0][1]} === document.querySelector('.chart .main-svg').clientWidth"
    page.wait_for_function(until_wide)
    assert page.pdf(format="A4", print_background=True).count(b"/Type /Page\n") >= 2
    assert page.evaluate("window.printed"), "printing tells the page"
