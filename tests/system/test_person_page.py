"""The page of one device in a browser: everybody can read it, on a phone too; nothing that a file says is done."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from playwright.sync_api import expect

from deniable import Collection
from deniable.__main__ import main
from support.accessible import violations
from support.collection_files import head, metric
from support.device import Device
from support.site import browser

LONG = "a_name_of_sixty_three_letters_is_the_longest_that_a_file_can_ha"
COLLECTION = Collection.loads(
    head("editor", 6)
    + metric(LONG, "boolean", "<script>document.title = 'taken over'</script><b>The dark theme is on</b>")
    + metric("minutes", "number", "Minutes in the foreground", range=[0, 480])
    + metric("wide", "category", "W" * 300, values=["w" * 200, "b"])
)

LOOKS: list[tuple[int, Literal["dark", "light"]]] = [(1280, "light"), (390, "dark"), (390, "light")]
"""A desk's and a phone's; the page has no scripts, and does not know which it was opened in."""


def test_the_page_is_accessible_and_fits_a_phone(tmp_path: Path) -> None:
    """axe finds nothing, nothing is wider than the screen, nothing is asked of anybody, and text stays text."""
    device = Device(COLLECTION, tmp_path / "telemetry.db")
    device.answers({LONG: True, "minutes": 30, "wide": "b"}, range(20_000, 20_020))
    device.state.run(lambda connection: connection.execute("UPDATE transcript SET fate = 'stored'"))
    device.state.close()
    page_path = tmp_path / "page.html"
    assert main([str(device.state.path), "view", "--no-open", "--to", str(page_path)]) == 0
    with browser() as started, started.new_page() as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(page_path.as_uri())
        expect(page).to_have_title("What this device has told")
        expect(page.get_by_role("heading", level=1)).to_have_text("What this device has told")
        expect(page.get_by_role("table")).to_contain_text("<b>The dark theme is on</b>")
        expect(page.get_by_role("listitem")).to_have_count(60)
        expect(page.get_by_role("listitem").first).to_contain_text("at most 3 in 4 sure")
        for width, scheme in LOOKS:
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert [each["id"] for each in violations(page)] == [], (width, scheme)
        assert asked == [page_path.as_uri()], "it needs nothing but itself"
