"""The page for everybody: with the keyboard, for screen readers, on a phone, in light and in dark."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

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


@pytest.mark.parametrize(
    "page",
    [{"width": 1440, "color_scheme": "light"}, {"width": 390, "color_scheme": "dark"}],
    indirect=True,
    ids=["wide-light", "phone-dark"],
)
def test_axe_finds_nothing_serious_and_nothing_is_cut_off(page: Page) -> None:
    """Every page: no serious violation of the accessibility rules, and no scrolling sideways."""
    axe = Axe()
    for path in PAGES:
        shown(page, path)
        found = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
        serious = [
            (each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in {"serious", "critical"}
        ]
        assert not serious, (path, serious)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path


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
