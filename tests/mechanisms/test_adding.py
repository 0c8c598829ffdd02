"""The walk of docs/adding.md is followed in a copy of the tree: what the page says is all that it takes.

And a mechanism of which nothing but the client's part is there fails wherever a mechanism is judged.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import ROOT
from support.waiting import PATIENCE

NAME = "unary_response"
CLIENT = "client/deniable/mechanisms"
ESTIMATORS = "aggregator/deniable_aggregator/estimators"
TWINS = "aggregator/deniable_aggregator/planning/twins"
CASES = "tests/mechanisms/cases"
PAGE = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`(\S+\.py)`:\n\n```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
ENTRIES = dict(re.findall(r"`(\S+__init__\.py)`:[^`]*```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
JUDGES = (
    "tests/mechanisms/test_registered.py::test_each_side_has_one_list_and_all_are_of_the_same_mechanisms",
    f"tests/mechanisms/test_registered.py::test_a_mechanism_is_files_of_its_name[{NAME}]",
    "tests/privacy/test_conformance.py::test_every_registered_mechanism_is_judged_and_sampled",
    "tests/planning/test_twins.py::test_every_registered_mechanism_has_a_twin_that_is_held_against_it",
    "tests/planning/test_audit.py::test_every_mechanism_is_audited",
    "tests/planning/test_simulate.py::test_every_kind_and_every_mechanism_is_simulated_here",
    "tests/attacks/test_timing.py::test_every_registered_mechanism_is_looked_at",
    "tests/attacks/test_leverage.py::test_every_kind_and_every_mechanism_is_looked_at",
    "tests/statistics/test_every_kind.py::test_every_kind_is_measured",
    "tests/answers/test_open_intervals.py::test_every_mechanism_is_among_them",
)
"""What fails where a mechanism has no cases."""
JUDGED = tuple(dict.fromkeys(judge.partition("::")[0] for judge in JUDGES[:-1]))
CHOSEN = (
    "tests/kinds/test_category.py",
    "tests/kinds/test_joint.py",
    "tests/kinds/test_sets.py",
    "tests/mechanisms/test_pad_and_sample.py",
    "tests/planning/test_gain_over.py",
)
"""What judges all that can ask for one of several answers: in none of it a new one is left out, or in the way."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what is needed of the tree."""
    for folder in ("client", "aggregator", "tests", "tools", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.egg-info", "static"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def entered(tree: Path, path: str) -> None:
    """The entry of a list, where the page puts it: the import behind those before it, and the last place."""
    lines = (tree / path).read_text(encoding="utf-8").splitlines(keepends=True)
    imported, listed = ENTRIES[path].splitlines(keepends=True)
    alike = [line for line in lines if line.startswith(imported.partition(NAME)[0])]
    if imported.startswith(" "):  # of the first import of several names, which is of the mechanisms' files
        alike = lines[: lines.index(")\n")]
    lines.insert(
        lines.index(max(line for line in alike if line[:1] == imported[:1] and line < imported)) + 1, imported
    )
    lines.insert(lines.index("    )\n", lines.index("}\n") - 1), listed)
    (tree / path).write_text("".join(lines), encoding="utf-8")


def written(tree: Path, folder: str) -> None:
    """The file of a folder."""
    path = f"{folder}/{NAME}.py"
    (tree / path).write_text(FILES[path], encoding="utf-8")


def ran(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command in the tree, whose packages are found before any that are installed."""
    paths = os.pathsep.join(str(tree / part) for part in ("client", "aggregator"))
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": paths, "CI": "true", "PYTEST_ADDOPTS": ""},  # of this run, not of theirs
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def judged(tree: Path, *arguments: str) -> str:
    """What the tests of the tree say, in one process."""
    return ran(tree, "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", "not deep", *arguments).stdout


def outcomes(told: str, outcome: str) -> set[str]:
    """Which tests had this outcome."""
    return set(re.findall(rf"^{outcome} (\S+::[^\s\[]+(?:\[[^\]]*\])?)", told, re.MULTILINE))


def test_the_page_has_all_files_and_entries_of_a_mechanism() -> None:
    """Four files of its name, and three lists."""
    assert set(FILES) == {f"{folder}/{NAME}.py" for folder in (CLIENT, ESTIMATORS, TWINS, CASES)}
    assert set(ENTRIES) == {f"{folder}/__init__.py" for folder in (CLIENT, ESTIMATORS, TWINS)}
    assert all(len(entry.splitlines()) == 2 for entry in ENTRIES.values())


def test_a_mechanism_that_nobody_has_tested_fails_wherever_mechanisms_are_judged(tree: Path) -> None:
    """With the client's file and entry alone, every judge says that it is missing."""
    written(tree, CLIENT)
    entered(tree, f"{CLIENT}/__init__.py")
    told = judged(tree, *JUDGES)
    assert outcomes(told, "FAILED") == set(JUDGES), told


def test_the_walk_leads_to_a_mechanism_that_everything_has_judged(tree: Path) -> None:
    """With the four files and the three entries all judges are content: no other line of the tree has changed."""
    for folder in (CLIENT, ESTIMATORS, TWINS, CASES):
        written(tree, folder)
    for path in ENTRIES:
        entered(tree, path)
    checked = ran(tree, "ruff", "check", "client", "aggregator", "tests/mechanisms")
    assert checked.returncode == 0, checked.stdout
    checked = ran(tree, "ruff", "format", "--check", "client", "aggregator", "tests/mechanisms")
    assert checked.returncode == 0, checked.stdout
    names = " or ".join(judge.rpartition("::")[2].partition("[")[0] for judge in JUDGES)
    whole = " or ".join(path.rpartition("/")[2] for path in CHOSEN)
    told = judged(tree, "-rA", *JUDGED, *CHOSEN, "-k", f"{names} or {NAME} or letters or {whole}")
    passed = outcomes(told, "PASSED")
    assert not outcomes(told, "FAILED") | outcomes(told, "ERROR"), told
    for path in (*JUDGED, *CHOSEN):
        own = {each for each in passed if each.startswith(path) and (NAME in each or "letters" in each)}
        assert own, f"{path} judges nothing of it: {told}"
