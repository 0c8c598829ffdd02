"""The benchmark of the client prints a table, whatever the machine is doing."""

from __future__ import annotations

import re
import subprocess
import sys

from support.commands import ROOT


def test_the_costs_of_the_client_are_a_table() -> None:
    """A line for each kind that is recorded, and for what happens behind it."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks", "client"], capture_output=True, text=True, cwd=ROOT, timeout=100
    )
    assert ran.returncode == 0, ran.stderr
    lines = re.findall(r"^\| (.+) \| [\d.]+ (?:µs|ms) \|$", ran.stdout, flags=re.MULTILINE)
    assert {"record a boolean", "record a category", "record, consent withheld", "seal a day of 6 metrics"} <= set(
        lines
    )
    assert "Measured by" in ran.stdout
