"""Decisions: each has a date and a status, and what amends or replaces it is there."""

from __future__ import annotations

import re
from datetime import date

from support.commands import ROOT

SECTIONS = re.split(r"^## ", (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
STATUS = re.compile(r'\n\n\*(\d{4}-\d{2}-\d{2})\. (?:Stands|(?:Amended|Replaced) by "([^"\n]+)")\.\*\n\n\S')


def test_every_decision_has_a_date_and_a_status() -> None:
    """In one line below its heading: *2026-11-19. Stands.*, or by which later one it was amended or replaced."""
    titles = [section.partition("\n")[0] for section in SECTIONS]
    assert len(titles) > 60
    assert len(set(titles)) == len(titles)
    for title, section in zip(titles, SECTIONS, strict=True):
        status = STATUS.match(section.removeprefix(title))
        assert status, f"{title}: *YYYY-MM-DD. Stands.* is wanting below the heading"
        assert date.fromisoformat(status[1]) >= date(2026, 11, 18)
        if status[2]:
            assert status[2] in titles, f"{title}: {status[2]!r} is no decision"
            assert status[2] != title
