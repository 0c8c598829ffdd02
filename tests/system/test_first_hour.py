"""The first hour of a newcomer: what the READMEs have them type, and that it leads to an answer of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.first_hour import MOST_COMMANDS, PAGES, blocks, commands, follow

from deniable.device.transcript import read
from support.commands import ROOT, serving, told
from support.waiting import PATIENCE

SECOND = ROOT / "examples" / "second"
LATER = """
import runpy, sys, time
real, days = time.time, float(sys.argv[1])
time.time = lambda: real() + 86400 * days
sys.argv[:] = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a program on a day to come."""


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_a_few_commands(page: str) -> None:
    """From the clone to an answer; each ends with the answer being read."""
    typed = commands(page)
    assert 5 < len(typed) <= MOST_COMMANDS, typed
    assert typed[-1] == "deniable estimates"
    assert len({line.split()[0] for line in typed}) > 3


def test_only_what_is_there_is_named() -> None:
    """Every file of the repository that a page has people use."""
    named = {path for page in PAGES for _, code in blocks(page) for path in re.findall(r"examples/[\w/.]+", code)}
    assert len(named) > 5
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", PAGES)
def test_an_empty_environment_comes_to_an_answer(page: str) -> None:
    """A clone, an environment with nothing in it, an empty home, and what the page says: one report, on a page."""
    hour = follow(page)
    assert (hour.reports, hour.shown != 0) == (1, True)


def test_a_program_that_lives_for_a_second_is_answered_by_a_later_run(tmp_path: Path) -> None:
    """Three runs of a day are one report each question, which runs of later days seal and send by themselves."""
    state = tmp_path / "second" / "telemetry.db"
    with serving(tmp_path / "data", SECOND / "metrics.toml") as endpoint:
        environment = os.environ | {"XDG_STATE_HOME": str(tmp_path), "SECOND_ENDPOINT": endpoint}

        def run(day: float) -> None:
            command: list[str | Path] = [sys.executable, "-c", LATER, str(day), SECOND / "second.py"]
            ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
            assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")

        for _ in range(3):
            run(0)
        assert read(state) == [], "the day is not over"
        day = 0
        while not [entry for entry in read(state) if entry.fate == "stored"]:
            day += 1
            assert day < 7, "an aggregator takes a day for a week"
            run(day)
        shown = told("estimates", "--endpoint", endpoint, "--metric", "runs", "--format", "csv").stdout.splitlines()
        names, values = (line.split(",") for line in shown[:2])
        assert dict(zip(names, values, strict=True))["reports"] == "1"
