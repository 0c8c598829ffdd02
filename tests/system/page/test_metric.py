"""A metric's own page in a browser: the same digits as everywhere, and all that can be chosen of an answer."""

from __future__ import annotations

import re
from datetime import timedelta

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from deniable_aggregator import Reader
from support import commands
from support.page import shown
from support.site import Running


def test_the_same_estimate_reads_the_same_everywhere(page: Page, aggregator: Running) -> None:
    """On the page, on the command line, in Python, and as Grafana formats the series of /metrics."""
    shown(page, "/c/editor/browser")
    told = page.locator("section[aria-labelledby=answer-head] tbody tr").all_inner_texts()
    on_page = [re.split(r"\t", line)[:3] for line in told]
    with Reader(aggregator.endpoint) as reader:
        rows = reader.estimates("browser")
    in_python = [[row["key"], row["text"], f"{row['low_text']} to {row['high_text']}"] for row in rows]
    assert on_page == in_python
    lines = commands.told("estimates", "--endpoint", aggregator.endpoint, "--metric", "browser").stdout.splitlines()[
        2:
    ]
    on_terminal = [re.match(r"browser: (\S+) +(\S+) +(\S+ to \S+)", line) for line in lines]
    assert [[*match.groups()] for match in on_terminal if match] == in_python
    metrics = page.request.get("/metrics").text()
    for row in rows:
        for family, text in (("_told", "text"), ("_lower_bound", "low_text"), ("_upper_bound", "high_text")):
            labels = f'collection="editor",key="{row["key"]}",metric="browser",series="shares"'
            series = f"deniable_estimate{family}{{{labels}}} "
            number = float(metrics.partition(series)[2].partition("\n")[0])
            assert page.evaluate(GRAFANA, [100 * number, 2]) + "%" == row[text]


GRAFANA = "([value, places]) => (Math.round(value * 10 ** places) / 10 ** places).toFixed(places)"
"""What Grafana prints of a number in a panel that is told how many decimals to show."""


def test_grafana_formats_any_number_as_the_rule_does(page: Page) -> None:
    """Ten thousand numbers of all sizes and signs, with as many decimals as there can be."""
    from deniable_aggregator.answers import Measure
    from deniable_aggregator.telling.digits import DECIMALS, text

    generator = np.random.default_rng(11)
    size = 10.0 ** generator.uniform(-9, 8, 10_000)
    numbers = [*(generator.choice([-1, 1], 10_000) * size).round(12).tolist(), 0.0, 0.5, 2.5, -2.5, 0.125, 1e7]
    places = generator.choice(DECIMALS, len(numbers)).tolist()
    page.goto("/metrics")
    formatted = page.evaluate(
        f"all => all.map({GRAFANA})", [list(pair) for pair in zip(numbers, places, strict=True)]
    )
    for number, digits, told in zip(numbers, places, formatted, strict=True):
        assert told == text(number, Measure.QUANTITY, digits).replace(",", ""), number


def test_window_segment_and_confidence_are_chosen_and_kept_in_the_address(page: Page, aggregator: Running) -> None:
    """Choosing changes the answer to that of the same query, and the address can be opened again as it is."""
    shown(page, "/c/editor/dark_mode")
    page.get_by_label("Window").select_option(label="7 days")
    page.get_by_label("platform", exact=True).select_option(label="macos")
    page.get_by_label("Confidence").select_option(label="99%")
    with Reader(aggregator.endpoint) as reader:
        (row,) = reader.estimates("dark_mode", last=7, segment={"platform": "macos"}, confidence=0.99)
    answer = page.locator("section[aria-labelledby=answer-head]")
    expect(answer.locator("tbody tr")).to_contain_text(f"{row['low_text']} to {row['high_text']}")
    expect(answer).to_contain_text(
        f"{row['reports']:,} reports, worth about {round(row['effective_reports']):,} from"
    )
    expect(page.get_by_role("heading", name="By platform")).to_have_count(0)
    address = page.url
    assert "last=7" in address
    shown(page, address)
    expect(answer.locator("tbody tr")).to_contain_text(f"{row['low_text']} to {row['high_text']}")
    expect(page.get_by_label("Window")).to_have_value("7")


def test_a_window_is_chosen_by_days_and_kept_in_the_address(page: Page, aggregator: Running) -> None:
    """From a day up to a day, as the API takes them; the number of an epoch in an address is told as its day."""
    with Reader(aggregator.endpoint) as reader:
        (newest,) = reader.estimates("dark_mode")
        last = int(newest["end"].timestamp()) // 86_400 - 3
        (row,) = reader.estimates("dark_mode", last=3, last_epoch=last)
    shown(page, "/c/editor/dark_mode")
    page.get_by_label("From").fill(f"{row['start']:%Y-%m-%d}")
    page.get_by_label("Up to").select_option(value=f"{row['end'] - timedelta(days=1):%Y-%m-%d}")
    answer = page.locator("section[aria-labelledby=answer-head]")
    expect(answer.locator("tbody tr")).to_contain_text(f"{row['low_text']} to {row['high_text']}")
    expect(page.get_by_label("Window")).to_have_value("from")
    assert f"from={row['start']:%Y-%m-%d}" in page.url
    shown(page, page.url)
    expect(answer.locator("tbody tr")).to_contain_text(f"{row['low_text']} to {row['high_text']}")
    shown(page, f"/c/editor/dark_mode?last=3d&last_epoch={last}")
    expect(answer.locator("tbody tr")).to_contain_text(f"{row['low_text']} to {row['high_text']}")
    expect(page.get_by_label("Up to")).to_have_value(f"{row['end'] - timedelta(days=1):%Y-%m-%d}")


def test_intervals_that_hold_at_every_look_are_chosen_and_kept_in_the_address(
    page: Page, aggregator: Running
) -> None:
    """Wider ones, as the API tells them."""
    shown(page, "/c/editor/dark_mode")
    page.get_by_label("Intervals hold").select_option("any")
    with Reader(aggregator.endpoint) as reader:
        (row,) = reader.estimates("dark_mode", anytime="any")
    answer = page.locator("section[aria-labelledby=answer-head]")
    expect(answer.locator("tbody tr")).to_contain_text(f"{row['low_text']} to {row['high_text']}")
    assert "anytime=any" in page.url


@pytest.mark.parametrize("metric", ["features", "tongues"])
def test_the_consistent_view_says_what_it_makes_true(page: Page, metric: str) -> None:
    """Of flags and of sets a device may have any number, so that they add up to nothing."""
    shown(page, f"/c/editor/{metric}")
    answer = page.locator("section[aria-labelledby=answer-head]")
    answer.get_by_text("Consistent", exact=True).click()
    expect(answer.locator(".about").first).to_contain_text("Consistent: between 0% and 100%.")


def test_raw_and_consistent_views_never_mix(page: Page) -> None:
    """The consistent view has other values and no interval; the table has both, each in a column of its own.

    Every device has one browser: their shares add up, and the view says so.
    """
    shown(page, "/c/editor/browser")
    answer = page.locator("section[aria-labelledby=answer-head]")
    expect(answer.locator(".chart[role=img]")).to_have_attribute("aria-label", re.compile("with intervals"))
    answer.get_by_text("Consistent", exact=True).click()
    expect(answer.locator(".chart[role=img]")).to_have_attribute("aria-label", re.compile("^Consistent shares"))
    expect(answer.locator(".about").first).to_contain_text("Consistent: not negative, adding up to 100%.")
    expect(answer).to_contain_text("The intervals belong to the raw estimates and are not shown.")
    shares = answer.locator("tbody td:nth-child(4)").all_inner_texts()
    # Five shares, each rounded to a hundredth of a percent.
    assert sum(float(share.rstrip("%")) for share in shares) == pytest.approx(100, abs=0.03)
    expect(answer.locator("thead")).to_contain_text("consistent")


def test_trend_segments_and_what_a_report_reveals_are_shown_with_their_numbers(
    page: Page, aggregator: Running
) -> None:
    """A metric's page: a band over time, segments side by side, each with its table; the odds in words."""
    shown(page, "/c/editor/browser")
    expect(page.get_by_role("heading", name="Over time")).to_be_visible()
    page.get_by_text("As a table").click()
    expect(page.locator("section[aria-labelledby=trend-head] tbody tr")).to_have_count(9)
    platforms = page.get_by_role("region", name="By platform")
    expect(platforms.locator("tbody th")).to_have_text(["linux", "macos", "windows"])
    reveals = page.locator("section[aria-labelledby=reveals-head]")
    expect(reveals).to_contain_text("no answer makes it more than 2.72 times as likely as another")
    expect(reveals).to_contain_text("at most 73.11% sure")
    with page.expect_download() as download:
        page.get_by_text("This answer as CSV").click()
    assert download.value.suggested_filename == "browser.csv"


def test_every_chart_is_drawn_and_has_its_table(page: Page) -> None:
    """A chart is an image with a name for those who do not see it, and its section has the numbers."""
    shown(page, "/c/editor/minutes?last=7")
    page.get_by_text("As a table").click()
    charts = page.locator(".chart")
    assert charts.count() == 3
    for number in range(charts.count()):
        chart = charts.nth(number)
        chart.scroll_into_view_if_needed()
        expect(chart.locator(".main-svg").first).to_be_visible()
        assert chart.get_attribute("role") == "img"
        assert len(chart.get_attribute("aria-label") or "") > 10
        section = chart.locator("xpath=ancestor::section[1]")
        expect(section.locator("table").first).to_be_visible()


def test_made_up_reports_are_a_choice_that_draws_a_band(page: Page, aggregator: Running) -> None:
    """The table says what an answer would be without them, a sentence says so, and the address keeps it."""
    shown(page, "/c/editor/browser")
    answer = page.locator("section[aria-labelledby=answer-head]")
    expect(answer.locator("thead")).not_to_contain_text("fakes")
    page.get_by_label("Made-up reports").select_option("0.05")
    expect(answer.locator("thead")).to_contain_text("without 5% fakes")
    expect(answer).to_contain_text("without up to 5% of its reports, if these were made up")
    with Reader(aggregator.endpoint) as reader:
        rows = reader.estimates("browser", fakes=0.05)
    told = [f"{row['fakes_low_text']} to {row['fakes_high_text']}" for row in rows]
    cells = answer.locator("tbody tr").all_inner_texts()
    assert [re.split(r"\t", line)[3] for line in cells] == told
    assert "fakes=0.05" in page.url
    page.reload()
    expect(answer.locator("thead")).to_contain_text("without 5% fakes")
