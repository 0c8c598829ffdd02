"""Takes the pictures of docs/images from a running demo: the page in light and dark, wide and on a phone.

    .venv/bin/python tools/screenshots.py

Needs chromium (`make system-tools`). Estimates are random, so no two pictures are alike.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "images"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FILLED_SECONDS = 60


class Shot(NamedTuple):
    """One picture."""

    name: str
    path: str
    width: int
    height: int
    colours: Any


SHOTS = (
    Shot("overview", "/", 1200, 1010, "light"),
    Shot("metric", "/c/editor/browser?last=7", 1200, 1180, "dark"),
    Shot("phone", "/c/editor/dark_mode", 390, 844, "light"),
    Shot("health", "/health", 1200, 760, "light"),
)


def main() -> int:
    """Run the demo, wait until its earlier days have reported, take the pictures."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        print("no chromium: make system-tools", file=sys.stderr)
        return 2
    command = [
        str(Path(sys.executable).parent / "deniable"),
        "demo",
        "--listen",
        "127.0.0.1:0",
        "--http",
        "127.0.0.1:0",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as demo:
        assert demo.stdout
        line = next(line for line in demo.stdout if "The page is at" in line)
        page = line.split(" at ")[1].split(",")[0].rstrip("/")
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
                for shot in SHOTS:
                    take(browser, page, shot)
                browser.close()
        finally:
            demo.terminate()
    return 0


def take(browser: Browser, url: str, shot: Shot) -> None:
    """One picture, of what is seen without scrolling."""
    size: Any = {"width": shot.width, "height": shot.height}
    context = browser.new_context(viewport=size, color_scheme=shot.colours, reduced_motion="reduce")
    page = context.new_page()
    deadline = time.monotonic() + FILLED_SECONDS
    while "8 days" not in filled(page, url + shot.path) and time.monotonic() < deadline and shot.name != "health":
        page.wait_for_timeout(1000)
    page.wait_for_timeout(8000)
    TARGET.mkdir(exist_ok=True)
    page.screenshot(path=TARGET / f"{shot.name}.png")
    context.close()


def filled(page: Page, url: str) -> str:
    """What the page says once it has its answers."""
    page.goto(url)
    page.wait_for_selector("#freshness[data-state=live]")
    return page.locator("main").inner_text()


if __name__ == "__main__":
    sys.exit(main())
