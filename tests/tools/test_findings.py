"""Every finding has a probe and a test; the probes run on the code as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.findings import FINDINGS, PAGE, PROBES, Finding, probe_of

from support.commands import ROOT

QUICK = ("counts", "great_counts", "leverage", "lists_of_mechanisms", "mistakes", "other_names", "papers",
         "reference", "words_of_the_page")  # fmt: skip
"""Probes that take little; the others are run by the command, on two trees."""


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.probe)
def test_every_finding_has_a_probe_and_a_test_and_is_on_the_page(finding: Finding) -> None:
    """The test is there under its name, and the page names what was found."""
    assert sum(hasattr(room, finding.probe) for room in PROBES) == 1
    file, _, name = finding.test.partition("::")
    assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert f"| {finding.what} |" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("probe", QUICK)
def test_what_was_found_is_not_found_again(tmp_path: Path, probe: str) -> None:
    """Those that run on the code of that day run on this: what they look at is still there."""
    seen = probe_of(probe)(tmp_path)
    assert seen.holds, seen.figure
