"""SECURITY.md: every row names tests that show it, and they are there."""

from __future__ import annotations

import re

import pytest

from support.commands import ROOT

TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ")][1:]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split(" | ")[0].strip("| "))
def test_every_row_is_shown_by_tests_that_are_there(row: str) -> None:
    """A test that is renamed or gone takes its row along, or is named anew."""
    named = NAMED.findall(row)
    assert named, "no test shows this row"
    for file, name in named:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^\s*(?:async )?def {name}\(", text, re.MULTILINE), f"{file} has no {name}"


def test_all_who_have_to_be_thought_of_are_there() -> None:
    """Whoever has the device, the store, the network, the operator's power, a release, or many fakes."""
    who = " ".join(row.split(" | ")[0] for row in ROWS)
    for word in ("network", "operator", "store", "device", "release", "fakes", "floods", "token"):
        assert word in who
    assert len(ROWS) > 10
