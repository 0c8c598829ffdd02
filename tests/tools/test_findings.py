"""Every finding has a probe and a test; the probes run on the code as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.findings import FINDINGS, PAGE, Finding

from support.commands import ROOT
from tools import probes_device, probes_served

QUICK = ("counts", "great_counts", "leverage", "lists_of_mechanisms", "other_names", "papers", "words_of_the_page")
"""Probes that take little; the others are run by the command, on two trees."""


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.probe)
def test_every_finding_has_a_probe_and_a_test_and_is_on_the_page(finding: Finding) -> None:
    """The test is there under its name, and the page names what was found."""
    assert hasattr(probes_device, finding.probe) or hasattr(probes_served, finding.probe)
    file, _, name = finding.test.partition("::")
    assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert f"| {finding.what} |" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("probe", QUICK)
def test_what_was_found_is_not_found_again(tmp_path: Path, probe: str) -> None:
    """Those that run on the code of that day run on this: what they look at is still there."""
    seen = (getattr(probes_device, probe, None) or getattr(probes_served, probe))(tmp_path)
    assert seen.holds, seen.figure
