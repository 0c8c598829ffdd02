"""The documentation's site: built without a warning, without a dead link, and read by everybody, without a network.

words:
  built   the site in build/docs: of these files, by this test or by whoever built it before
  sample  short pages that together have all that there is: tables, code, pictures, docstrings, a search
"""

from __future__ import annotations

import functools
import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Page, expect
from tools.site_pages import BUILD, ROOT, groups, pages, place
from tools.site_reference import MODULES, names

from support.accessible import serious
from support.site import browser

SAMPLE = (
    "index",
    "project/README",
    "changing",
    "poisoning",
    "reference/deniable_aggregator.learning",
    "mechanisms/README",
    "search",
)
NARROW = ("index", "changing", "reference/deniable_aggregator.learning", "search")
"""Of the sample one of every sort: in dark the colours are others, on a phone the menu is, not what a page says."""
LONG = ("privacy", "collections", "reference/deniable", "reference/commands")
"""The longest tables and docstrings: what may be wider than a screen is there; axe would find the sample's again."""
LOADED = {"link", "script", "img", "iframe", "source"}
"""What a browser fetches by itself."""


class Links(HTMLParser):
    """What a page leads to, and where it can be led to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.to: list[tuple[str, str]] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note both."""
        for name, value in attrs:
            if value and name in {"href", "src"}:
                self.to.append((tag, value))
            elif value and name == "id":
                self.places.add(value)


@pytest.fixture(scope="module")
def site() -> Path:
    """The site, made as people make it."""
    made = subprocess.run([sys.executable, "-m", "tools.site"], cwd=ROOT, capture_output=True, text=True)
    assert (made.returncode, made.stderr) == (0, ""), made.stderr
    return BUILD


@pytest.fixture(scope="module")
def links(site: Path) -> dict[Path, Links]:
    """Those of every page."""
    return {path: Links(path) for path in site.rglob("*.html")}


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site, on loopback."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    """A page of a browser, that can reach no other machine."""
    with browser() as started:
        page = started.new_context(reduced_motion="reduce").new_page()
        page.route(re.compile(r"^(?!file:|http://127\.0\.0\.1)"), lambda route: route.abort())
        yield page


def look(tab: Page, width: int = 1440, scheme: str = "light") -> None:
    """As a screen shows it."""
    tab.set_viewport_size({"width": width, "height": 900})
    tab.emulate_media(color_scheme="dark" if scheme == "dark" else "light")


def test_every_page_of_the_repository_is_one_of_the_site(site: Path) -> None:
    """And every page that the front names; one that no page leads to is a warning, which the build does not pass."""
    assert len(pages()) > 60
    for page in pages():
        assert (site / place(page)).with_suffix(".html").exists(), page
    for group in groups():
        assert group.pages, group.title
        assert set(group.pages) <= {*pages()}, group.title


def test_every_link_leads_somewhere(links: dict[Path, Links]) -> None:
    """To a page, and to a place in it; nothing is fetched from elsewhere, and what is elsewhere is by TLS."""
    wrong, outside = [], set()
    for path, found in links.items():
        for tag, link in found.to:
            parts = urlsplit(link)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                outside.add(link)
                if tag in LOADED:
                    wrong.append((path.name, f"fetches {link}"))
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not target.is_file() or (place and target.suffix == ".html" and place not in links[target].places):
                wrong.append((path.name, link))
    assert not wrong
    strange = [each for each in outside if not re.match(r"https://[a-z0-9.-]+\.[a-z]+(/|$)", each)]
    assert not [each for each in strange if not each.startswith("http://localhost:84")]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_told(links: dict[Path, Links], module: str) -> None:
    """On its module's page, where links can lead to it."""
    assert {f"{module}.{name}" for name in names(module)} <= links[BUILD / "reference" / f"{module}.html"].places


def test_every_command_is_told(site: Path) -> None:
    """With its options."""
    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for file in (ROOT / "aggregator/deniable_aggregator/commands").glob("[a-z]*.py"):
        assert f'id="deniable-{file.stem.removesuffix("_")}"' in text, file.name
        for option in re.findall(r'add_argument\(\s*"(--[a-z-]+)"', file.read_text(encoding="utf-8")):
            assert option in text, option


@pytest.mark.parametrize(
    ("width", "scheme", "sample"),
    [
        (1440, "light", SAMPLE),
        (390, "dark", NARROW),
        pytest.param(1440, "light", LONG, marks=pytest.mark.deep),
        pytest.param(390, "dark", LONG, marks=pytest.mark.deep),
    ],
)
def test_axe_finds_nothing_serious_and_nothing_is_cut_off(
    tab: Page, address: str, width: int, scheme: str, sample: tuple[str, ...]
) -> None:
    """On pages of every sort: on a desk in light, on a phone in dark."""
    look(tab, width, scheme)
    for page in sample:
        tab.goto(f"{address}/{page}.html")
        assert not serious(tab), page
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, page


def test_long_pages_do_not_scroll_sideways(tab: Page, address: str) -> None:
    """On a desk and on a phone."""
    for page in LONG:
        tab.goto(f"{address}/{page}.html")
        for width in (1440, 390):
            look(tab, width)
            assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, (page, width)


@pytest.mark.deep
def test_no_page_scrolls_sideways_on_a_phone(tab: Page, address: str, links: dict[Path, Links]) -> None:
    """Not one of them."""
    look(tab, 390, "light")
    for path in links:
        tab.goto(f"{address}/{path.relative_to(BUILD)}")
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path


def test_search_and_menu_need_no_server_and_no_mouse(tab: Page, site: Path) -> None:
    """From the files alone: Tab, Tab, a word, Enter; then the menu."""
    look(tab)
    tab.goto((site / "index.html").as_uri())
    search = tab.get_by_role("textbox", name="Search")
    for _ in range(8):
        tab.keyboard.press("Tab")
        if search.evaluate("each => each === document.activeElement"):
            break
    expect(search).to_be_focused()
    tab.keyboard.type("leeway")
    tab.keyboard.press("Enter")
    expect(tab.locator("#search-results li").first).to_be_visible()
    expect(tab.locator("#search-results a", has_text="What is protected").first).to_be_attached()
    link = tab.locator(".sidebar-tree").get_by_role("link", name="The collection file")
    for _ in range(20):
        tab.keyboard.press("Tab")
        if link.evaluate("each => each === document.activeElement"):
            break
    expect(link).to_be_focused()
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("heading", level=1)).to_contain_text("The collection file")


def test_the_menu_of_a_phone_opens_by_keyboard(tab: Page, site: Path) -> None:
    """What is out of sight is reached as well."""
    look(tab, 390)
    tab.goto((site / "privacy.html").as_uri())
    link = tab.locator(".sidebar-tree").get_by_role("link", name="What it is")
    expect(link).not_to_be_in_viewport()
    for _ in range(12):
        tab.keyboard.press("Tab")
        if "navigation" in str(tab.evaluate("document.activeElement.getAttribute('for')")):
            break
    tab.keyboard.press("Enter")
    expect(link).to_be_in_viewport()
