"""What axe finds wrong with a page for those who do not see it, do not use a mouse, or tell few colours apart."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

__all__ = ["serious", "violations"]

_ASKED = "axe.run({resultTypes: ['violations']}).then((found) => found.violations)"


def violations(page: Page) -> list[dict[str, Any]]:
    """All that it finds; a page that it has looked at before still has it, warm."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    found: list[dict[str, Any]] = page.evaluate(_ASKED)
    return found


def serious(page: Page) -> list[tuple[str, str]]:
    """Of it what keeps somebody from reading the page: the rule, and where it is broken first."""
    return [
        (each["id"], each["nodes"][0]["html"])
        for each in violations(page)
        if each["impact"] in {"serious", "critical"}
    ]
