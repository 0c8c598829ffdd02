"""The pages say what it is where people look, what to do before why, and show a miss where there is one.

words:
  guide   a page that somebody opens who wants to do something
"""

from __future__ import annotations

import re
import tomllib

import pytest
from tools.probes_newcomer import GUIDES, SAID, says_why_one_misses, words_before_what_to_do

from deniable_aggregator.demo import _told
from support.commands import ROOT

_ROW = re.compile(
    r"^\w+: .+? {2,}(?P<truth>\S+) +\S+ +(?P<low>\S+) to (?P<high>\S+) +(?P<holds>yes|no) +", re.MULTILINE
)


@pytest.mark.parametrize("page", SAID)
def test_what_it_is_is_said_where_people_look(page: str) -> None:
    """By the name that the field has for it: in the first words of a page, and where packages are searched."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if page.endswith(".toml"):
        about = tomllib.loads(text)["project"]
        assert "local differential privacy" in about["description"]
        assert {"local differential privacy", "differential privacy", "telemetry"} <= set(about["keywords"])
    else:
        assert "local differential privacy" in " ".join(text.split()[:40])


@pytest.mark.parametrize("page", GUIDES)
def test_what_is_done_comes_before_why(page: str) -> None:
    """A command, code or a step within a hundred words: a breath."""
    assert words_before_what_to_do((ROOT / page).read_text(encoding="utf-8")) <= 100


def test_the_first_page_installs_before_it_explains() -> None:
    """Two commands that show it, and its own first section is how one comes to an answer."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first, second = re.findall(r"^## (.*)$", text, re.MULTILINE)[:2]
    assert "in five minutes" in first
    assert text.index("make demo") < text.index(first) < text.index("pip install ./client") < text.index(second)


def test_the_table_of_the_first_page_has_a_miss_and_says_why() -> None:
    """Every word in its column is what its numbers say."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = [found.groupdict() for found in _ROW.finditer(text)]
    for row in rows:
        truth, low, high = (float(row[each].rstrip("%")) for each in ("truth", "low", "high"))
        assert row["holds"] == ("yes" if low <= truth <= high else "no"), row
    assert {row["holds"] for row in rows} == {"yes", "no"}
    assert says_why_one_misses(text)


def test_the_demo_says_why_where_there_is_a_miss() -> None:
    """And says nothing of a “no” where there is none; the first page has it in the same words."""
    held, missed = _told(77, 77), _told(75, 77)
    assert "one in twenty misses" in missed
    assert missed in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "no" not in held.split()
    assert "77 of 77" in held
    assert "“no”" not in held
