"""docs/http.md has every route and every parameter: it is made of them."""

from __future__ import annotations

from tools.http_api import GROUPS, PAGE, page

from deniable_aggregator.web.openapi import ROUTES


def test_the_page_is_what_its_tool_makes() -> None:
    """`python -m tools.http_api --write`, after a change."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_no_parameter_is_left_out() -> None:
    """Of any route."""
    told = {each.name for _, _, group in GROUPS for each in group}
    assert told == {each.name for route in ROUTES for each in route.parameters.all}
