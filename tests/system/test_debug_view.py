"""The debug view in a browser and in a whole aggregator: what it shows, and that nothing of it is anywhere else."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from redis import Redis

from deniable import Client, Collection, Settings
from deniable_aggregator.web import DebugView
from support.accessible import serious
from support.commands import COMMAND, told
from support.debugging import at_home
from support.site import browser, running, watched
from support.waiting import PATIENCE

SECRET = "zinfandel-and-zither"
TEXT = f"""
[collection]
name = "tavern"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = 6.0
[segments]
platform = ["linux", "macos"]
[metrics.evening]
kind = "category"
description = "What the <b>evening</b> was for"
values = ["ale", "{SECRET}", "stew"]
epsilon = 1.0
[metrics.guests]
kind = "count"
description = "Guests that came in"
max = 200
epsilon = 1.0
"""
TAVERN = Collection.loads(TEXT)


@pytest.fixture(autouse=True)
def home() -> Iterator[Path]:
    """An account of its own, for each test."""
    with at_home() as directory:
        yield directory


def debugging(endpoint: str, path: Path) -> Client:
    """A debug client of an application that reports otherwise."""
    return Client(
        TAVERN,
        endpoint=endpoint,
        state=path,
        consent="granted",
        segment={"platform": "macos"},
        settings=Settings(deadline=PATIENCE),
        debug=True,
    )


def test_a_browser_shows_reports_as_they_arrive_beside_what_was_recorded(tmp_path: Path) -> None:
    """In words, with what they cost and reveal; and mistakes. Without the key the page says how it is found."""
    with running(TAVERN, debug=DebugView()) as aggregator, browser() as chrome:
        page = chrome.new_context(base_url=aggregator.url, reduced_motion="reduce").new_page()
        with watched(page, aggregator.url, ("403", "404")):
            page.goto("/debug")
            expect(page.locator("main")).to_contain_text("it has a key")
            page.goto(aggregator.debug_url)
            expect(page.locator("main")).to_contain_text("Nothing has been shown yet")
            with debugging(aggregator.endpoint, tmp_path / "telemetry.db") as client:
                client.record("guests", 3)
                expect(row(page, "recorded on this machine")).to_have_text("3")
                client.record("guests", 4)
                expect(row(page, "recorded on this machine")).to_have_text("7")
                client.record("evening", SECRET)
                expect(page.locator(".showing").first.locator("h3")).to_have_text(["evening", "guests"])
                client.record("evening", "mead")
                expect(page.locator(".notice.bad").first).to_contain_text("'mead'")
            older = page.locator(".showing.earlier")
            expect(older).to_have_count(3)
            expect(older.locator(".report:visible")).to_have_count(0)
            older.first.locator("summary").click()
            expect(older.first.locator(".report:visible h3")).to_have_text(["evening", "guests"])
            newest = page.locator(".showing").first
            expect(newest).to_contain_text("platform=macos")
            expect(newest).to_contain_text("If the day ended now, 2 reports would leave together")
            expect(newest).to_contain_text("for epsilon 2 of the 6 that a device may spend in one day")
            evening = newest.locator(".report").first
            expect(evening).to_contain_text("What the <b>evening</b> was for")
            expect(evening.locator("dd").first).to_have_text(f"'{SECRET}'")
            expect(evening.locator("dd").nth(2)).to_have_text("epsilon 1")
            expect(evening).to_contain_text("who held an answer to be an even bet is at most 3 in 4 sure of it then")
            expect(page.locator(".bottom")).not_to_contain_text("Nobody, this server included")
            looks_well(page)
            page.set_viewport_size({"width": 390, "height": 900})
            page.emulate_media(color_scheme="dark")
            looks_well(page)
            page.get_by_role("link", name="Health").click()
            expect(page.locator(".tile", has_text="batches accepted").locator("dd")).to_have_text("0")


def row(page: Page, name: str) -> Any:
    """What the newest showing says of its first report."""
    fact = page.locator(".showing").first.locator(".report").first.locator(".facts > div", has_text=name)
    return fact.locator("dd")


def looks_well(page: Page) -> None:
    """Without serious violations of the accessibility rules, and without scrolling sideways."""
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_nothing_of_it_is_in_counters_store_log_or_append_only_file(tmp_path: Path, home: Path) -> None:
    """Of a whole aggregator, as it is installed: the store has what it had, and no file what was recorded."""
    (tmp_path / "tavern.toml").write_text(TEXT)
    data, log = home / "data", tmp_path / "log"
    command: list[str | Path] = [COMMAND, "serve", tmp_path / "tavern.toml", "--data", data, "--debug-view"]
    command += ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as serving,
    ):
        try:
            assert serving.stdout
            endpoint, page, debug = (serving.stdout.readline().split()[-1] for _ in range(3))
            with Redis(unix_socket_path=str(data / "valkey.sock")) as store:
                before = everything(store)
                with debugging(endpoint, tmp_path / "telemetry.db") as client:
                    for guests in range(1, 4):
                        client.record("guests", guests)
                        client.record("evening", SECRET)
                        assert client.flush(PATIENCE)
                shown = json.loads(fetched(debug.replace("/debug", "/api/v1/debug")))["showings"]
                recorded = [showing["reports"][0]["recorded"] for showing in shown]
                assert recorded.count(f"'{SECRET}'") >= 3
                assert everything(store) == before
            ingest = json.loads(fetched(f"{page}api/v1/health"))["ingest"]
            assert (ingest["accepted"], ingest["reports"], ingest["refused"]) == (0, 0, {})
            assert "deniable_batches_accepted_total 0" in fetched(f"{page}metrics").replace(".0\n", "\n")
            estimated = told("estimates", "--endpoint", endpoint, "--format", "json")
            assert SECRET in estimated.stdout, "as one of the answers that there are"
            assert {row["reports"] for row in json.loads(estimated.stdout)} == {0}
            serving.send_signal(signal.SIGTERM)
            assert serving.wait(PATIENCE) == 0
        finally:
            serving.kill()
    assert not (tmp_path / "telemetry.db").exists()
    written = [path for path in [log, *data.rglob("*")] if path.is_file()]
    assert any(path.suffix == ".aof" for path in written)
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []


def everything(store: Redis) -> dict[bytes, bytes]:
    """All keys with all that is under them."""
    return {key: store.dump(key) or b"" for key in store.scan_iter()}


def fetched(url: str) -> str:
    """What a page says."""
    with urllib.request.urlopen(url, timeout=PATIENCE) as response:
        text: str = response.read().decode()
    return text
