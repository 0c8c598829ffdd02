"""The list of licences: everything that is installed, and nothing that asks for more than a notice."""

from __future__ import annotations

import re

from tools.licences import FREE, PAGE, licences, page


def test_the_page_has_the_list_of_today() -> None:
    """What is new, or under another licence, is in the docs."""
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tools.licences --write`"


def test_every_licence_is_one_that_can_be_shipped() -> None:
    """Of every package, by its own words."""
    found = licences()
    assert {"grpcio", "protobuf", "numpy", "redis", "prometheus-client"} <= found.keys()
    for name, licence in found.items():
        assert set(re.split(r" (?:AND|OR) ", licence)) <= FREE, f"{name}: {licence}"
