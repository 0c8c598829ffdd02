"""The page in a browser: every view and state, live, with the keyboard, for screen readers, on a phone."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

import deniable as sdk
from deniable import Collection, Metric
from deniable_aggregator import Reader
from deniable_aggregator.analysis.offline import accumulate
from support import commands
from support.site import Running, browser, running, watched
from support.stored import Counted
from support.waiting import PATIENCE

EDITOR = Collection.loads(
    """
[collection]
name = "editor"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = 23.0
[segments]
platform = ["linux", "macos", "windows"]
[metrics.browser]
kind = "category"
description = "The default browser"
values = ["chrome", "edge", "firefox", "safari", "other"]
epsilon = 1.0
[metrics.crashed]
kind = "boolean"
description = "The editor crashed today"
epsilon = "ln 3"
expires = 2020-01-01
[metrics.dark_mode]
kind = "boolean"
description = "The dark theme is on"
epsilon = 1.0
memoize = true
[metrics.minutes]
kind = "number"
description = "Minutes in the foreground"
range = [0, 480]
unit = "minutes"
epsilon = 1.0
[metrics.commands]
kind = "count"
description = "Commands run from the palette"
max = 200
epsilon = 1.0
[metrics.delays]
kind = "distribution"
description = "How late trains were"
range = [-10, 110]
buckets = 60
unit = "minutes"
epsilon = 2.0
[metrics.features]
kind = "flags"
description = "What is switched on"
flags = ["minimap", "telemetry", "vim", "wrap"]
epsilon = 2.0
[metrics.weights]
kind = "vector"
description = "How much each panel is used"
dimensions = 3
clip = 1.0
norm = "l1"
epsilon = 2.0
[metrics.mood]
kind = "ordinal"
description = "How the day was"
values = ["poor", "fair", "good"]
epsilon = 1.0
[metrics.tongues]
kind = "set"
description = "Languages of the interface that were tried"
values = ["de", "en", "fr", "ja"]
max_items = 2
epsilon = 1.0
[metrics.region]
kind = "tree"
description = "Where it is"
paths = ["north/a", "north/b", "south"]
epsilon = 2.0
[metrics.silent]
kind = "boolean"
description = "Nobody has answered this yet"
epsilon = 1.0
[metrics.timid]
kind = "boolean"
description = "Hardly anybody has answered this yet"
epsilon = 1.0
[metrics.zip]
kind = "category"
description = "The first two digits of the postal code"
values = [POSTAL]
epsilon = 2.0
""".replace("POSTAL", ", ".join(f'"{number:02}"' for number in range(100)))
)
SHARES = {"browser": [0.5, 0.14, 0.09, 0.18, 0.09], "crashed": [0.98, 0.02], "dark_mode": [0.4, 0.6]}
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
OTHERS: dict[str, list[Any]] = {
    "delays": [-8, 0, 0, 5, 5, 20, 45, 120],
    "commands": [0, 3, 12, 40],
    "features": [["vim"], ["wrap", "minimap"], []],
    "weights": [[0.5, 0.25, 0.0], [0.0, 0.1, 0.6]],
    "region": ["north/a", "north/a", "south"],
    "tongues": [["en"], ["en", "de"], ["fr"]],
}
"""Answers of the kinds that are not drawn by share."""


BEFORE = {"crashed": [0.4, 0.6]}
"""What has changed today: a difference of twelve standard errors."""


def reported(metric: Metric, devices: int, generator: np.random.Generator, ago: int = 0) -> list[np.ndarray]:
    """What so many devices' reports add up to."""
    if metric.name in OTHERS:
        values = [OTHERS[metric.name][each % len(OTHERS[metric.name])] for each in range(devices)]
    elif metric.kind.name == "number":
        values = generator.gamma(2, 40, devices).clip(0, 480).tolist()
    elif metric.kind.name == "boolean":
        shares = (BEFORE | SHARES if not ago else SHARES | BEFORE).get(metric.name, [0.5, 0.5])
        values = (generator.random(devices) < shares[1]).tolist()
    else:
        names = metric.kind.parameters()["values"]
        values = generator.choice(names, devices, p=SHARES.get(metric.name)).tolist()
    return accumulate(metric, [metric.randomize(value) for value in values])


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """Nine days of a fleet of nine hundred devices; one metric of which nothing has come, and one of which little."""
    generator = np.random.default_rng(7)
    today = EDITOR.epoch_at(time.time())
    with running(EDITOR) as started:
        for ago in range(9):
            for segment in range(3):
                asked = [metric for metric in EDITOR.metrics.values() if metric.name not in {"silent", "timid"}]
                counters: dict[str, Counted] = {
                    metric.name: reported(metric, 300, generator, ago) for metric in asked
                }
                if not ago and not segment:
                    counters["timid"] = [0, 1]  # a device says yes: 158.20% comes out
                started.put(EDITOR, today - ago, counters, segment, batches=300)
        yield started


@pytest.fixture(scope="module")
def tab(aggregator: Running) -> Iterator[Page]:
    """One browser, and one page of it, for all tests."""
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


def report(aggregator: Running, state: Path, metric: str) -> None:
    """A device says yes."""
    where: dict[str, Any] = {"endpoint": aggregator.endpoint, "state": state, "segment": {"platform": "linux"}}
    client = sdk.Client(EDITOR, consent=sdk.Consent.GRANTED, **where)
    client.record(metric, True)
    assert client.flush(PATIENCE)
    client.close()


def shown(page: Page, path: str) -> None:
    """Open a page and wait for its answers, and for the charts that are in view."""
    page.goto(path)
    expect(page.locator("#freshness[data-state=live]")).to_be_visible()
    expect(page.locator(".wait")).to_have_count(0)


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


def test_a_submitted_batch_moves_the_page(page: Page, aggregator: Running, tmp_path: Path) -> None:
    """A device reports, and the card follows without a reload; the change is said to those who listen."""
    shown(page, "/")
    foot = page.locator(".card", has_text="Hardly anybody").locator(".foot")
    before = int(foot.inner_text().split()[0])
    report(aggregator, tmp_path / "device.db", "timid")
    expect(foot).to_contain_text(f"{before + 1} reports")
    expect(page.locator("#said")).to_have_text("The answers have changed.")


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


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("browser", "not negative, adding up to 100%"),
        ("features", "between 0% and 100%"),
        ("tongues", "between 0% and 100%"),
    ],
)
def test_the_consistent_view_says_what_it_makes_true(page: Page, metric: str, said: str) -> None:
    """Every device has one browser; of flags and of sets it may have any number, so that they add up to nothing."""
    shown(page, f"/c/editor/{metric}")
    answer = page.locator("section[aria-labelledby=answer-head]")
    answer.get_by_text("Consistent", exact=True).click()
    expect(answer.locator(".about").first).to_contain_text(f"Consistent: {said}.")


def test_raw_and_consistent_views_never_mix(page: Page) -> None:
    """The consistent view has other values and no interval; the table has both, each in a column of its own."""
    shown(page, "/c/editor/browser")
    answer = page.locator("section[aria-labelledby=answer-head]")
    expect(answer.locator(".chart[role=img]")).to_have_attribute("aria-label", re.compile("with intervals"))
    answer.get_by_text("Consistent", exact=True).click()
    expect(answer.locator(".chart[role=img]")).to_have_attribute("aria-label", re.compile("^Consistent shares"))
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
    expect(reveals).to_contain_text("no answer makes it more than 2.72 times as likely as any other")
    expect(reveals).to_contain_text("at most 73.11% sure")
    with page.expect_download() as download:
        page.get_by_text("This answer as CSV").click()
    assert download.value.suggested_filename == "browser.csv"


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
    names = {
        metric.kind.name: metric.name for metric in EDITOR.metrics.values() if metric.name not in {"silent", "timid"}
    }
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
    for _ in range(6):
        page.keyboard.press("Tab")
    link = page.get_by_role("link", name="browser")
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
