"""A collection to begin with: every kind has its question, and whatever is asked for loads, and is not unwise."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import deniable
from deniable import Client, Collection
from deniable.device.ledger import Ledger
from deniable.device.schema import migrate
from deniable.errors import BudgetExceededError
from deniable.kinds import KINDS
from deniable_aggregator.planning.check import findings
from deniable_aggregator.planning.start import FIRST, QUESTIONS, start
from support.commands import ROOT, told


@pytest.mark.parametrize("kinds", [*([kind] for kind in KINDS), FIRST, list(KINDS)], ids=",".join)
def test_what_is_begun_with_passes_check(kinds: list[str], tmp_path: Path) -> None:
    """Each kind alone, the default and all of them: loads, spends exactly its budget, and check finds nothing."""
    file = tmp_path / "own.toml"
    assert told("init", file, "--kinds", ",".join(kinds), "--name", "own").returncode == 0
    found = Collection.load(file)
    assert {metric.kind.name for metric in found.metrics.values()} >= set(kinds)
    assert sum(metric.epsilon.value for metric in found.metrics.values()) == found.budget.epoch
    assert list(findings(found)) == []


def test_a_lifetime_is_a_year_of_fresh_answers() -> None:
    """As its comment says: on the last day of a year all is answered, on the next one what is remembered."""
    asked = Collection.loads(start("shown", FIRST, "m.toml"))
    connection = sqlite3.connect(":memory:")
    migrate(connection)
    ledger, remembered = Ledger(connection, asked), asked.metric("dark_mode")
    ledger.charge(remembered, 0, reserves=remembered.recalled)
    for epoch in range(365):
        ledger.charge(asked.metric("browser"), epoch)
        ledger.charge(asked.metric("session_minutes"), epoch)
    with pytest.raises(BudgetExceededError, match="budget of a lifetime"):
        ledger.charge(asked.metric("browser"), 365)
    ledger.charge(remembered, 365, remembered=True, reserves=0)


@pytest.mark.parametrize("name", ["a", "a_name_of_some_length"])
def test_comments_of_the_head_stand_below_each_other(name: str) -> None:
    """However long a name or a number is."""
    head = start(name, FIRST, "m.toml").split("[segments]")[0].splitlines()[3:]
    assert {line.index("#") for line in head if "#" in line} == {40}


def test_every_kind_has_a_question() -> None:
    """A new kind is asked for as well."""
    assert QUESTIONS.keys() == KINDS.keys()


def test_a_file_is_never_written_over(tmp_path: Path) -> None:
    """What is there stays, and the message says so."""
    file = tmp_path / "metrics.toml"
    file.write_text("mine")
    again = told("init", file)
    assert (again.returncode, file.read_text()) == (2, "mine")
    assert "is there already" in again.stderr


def test_a_kind_that_is_none_is_told_with_the_nearest(tmp_path: Path) -> None:
    """And with all that there are; nothing is written."""
    wrong = told("init", tmp_path / "metrics.toml", "--kinds", "bolean")
    assert wrong.returncode == 2
    assert "did you mean boolean?" in wrong.stderr
    assert all(kind in wrong.stderr for kind in KINDS)
    assert not (tmp_path / "metrics.toml").exists()


def test_a_collection_is_called_after_its_directory(tmp_path: Path) -> None:
    """As far as that can be a name."""
    for directory, name in (("My Shop-2", "my_shop_2"), ("2nd", "metrics")):
        (tmp_path / directory).mkdir()
        assert told("init", tmp_path / directory / "m.toml").returncode == 0
        assert Collection.load(tmp_path / directory / "m.toml").name == name


def test_what_is_not_said_is_the_readme_s(tmp_path: Path) -> None:
    """A client of the default file records what README records."""
    with Client(Collection.loads(start("shown", FIRST, "m.toml")), segment={"platform": "linux"}, strict=True) as one:
        one.record("dark_mode", True)


def test_versions_are_told_everywhere() -> None:
    """On both command lines and in Python: what pyproject.toml says, of both distributions."""
    versions = {
        tomllib.loads((ROOT / place / "pyproject.toml").read_text())["project"]["version"]
        for place in ("client", "aggregator")
    }
    assert versions == {deniable.__version__}
    assert told("--version").stdout == f"deniable {deniable.__version__}\n"
    person = subprocess.run(
        [sys.executable, "-m", "deniable", "--version"], capture_output=True, text=True, check=True
    )
    assert person.stdout == f"deniable {deniable.__version__}\n"
