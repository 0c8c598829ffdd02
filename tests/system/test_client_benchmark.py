"""The benchmark of the client makes a table, whatever the machine is doing."""

from __future__ import annotations

import importlib
import re

import pytest

from support.commands import ROOT


def test_the_costs_of_the_client_are_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for each kind that is recorded, and for what happens behind it."""
    monkeypatch.syspath_prepend(str(ROOT))
    benchmark = importlib.import_module("benchmarks.client")
    for name, less in (("ROUNDS", 2), ("TIMES", 50), ("DAYS", 5)):
        monkeypatch.setattr(benchmark, name, less)
    lines = re.findall(r"^\| (.+) \| [\d.]+ (?:µs|ms) \|$", benchmark.measure(), flags=re.MULTILINE)
    assert {"record a boolean", "record a category", "record, consent withheld", "seal a day of 6 metrics"} <= {
        *lines
    }
