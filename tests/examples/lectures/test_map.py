"""The map of the lectures: every line is shown by something that there is, and the page says what is so."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from examples.lectures.__main__ import main
from examples.lectures._running import topic, topics, words
from examples.lectures.lines import LINES, PARTS
from examples.lectures.shown import SHOWN

from examples.lectures import _page
from support.commands import ROOT

LONG = {"known", "reconstruction", "rounds", "trips"}
"""Topics that take seconds."""


def sections() -> dict[str, str]:
    """The page, heading by heading; what comes before the first is under nothing."""
    text = _page.PAGE.read_text(encoding="utf-8")
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    return {part.partition("\n")[0].removeprefix("## ") if part.startswith("## ") else "": part for part in parts}


def test_every_line_is_there() -> None:
    """A1 to A12, B1 to B17, C1 to C17, D1 to D14 and D10b, E1 to E15, H1 to H9; each a sentence."""
    many = {"A": 12, "B": 17, "C": 17, "D": 14, "E": 15, "H": 9}
    wanted = {f"{letter}{number}" for letter, last in many.items() for number in range(1, last + 1)} | {"D10b"}
    assert LINES.keys() == wanted
    assert PARTS.keys() == many.keys()
    assert [line for line, says in LINES.items() if not says.endswith(".")] == []


def test_every_line_is_shown() -> None:
    """By a topic, or by a test of the house; and nothing is shown that is no line."""
    shown = _page.shown_by().keys() | SHOWN.keys()
    assert shown <= LINES.keys()
    assert sorted(LINES.keys() - shown) == []


@pytest.mark.parametrize("test", sorted(set(SHOWN.values())))
def test_a_test_that_shows_a_line_is_there(test: str) -> None:
    """In its file, where pytest finds it, and not among the long ones alone."""
    path, _, name = test.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = [
        node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    ]
    assert len(found) == 1
    assert re.match(r"tests/(.*/)?test_\w+\.py$", path)
    assert name.startswith("test_")
    assert "pytest.mark.deep" not in [ast.unparse(mark) for mark in found[0].decorator_list]


@pytest.mark.parametrize("name", topics())
def test_every_topic_says_what_it_shows_and_has_tests(name: str) -> None:
    """Lines, words in whole sentences, and a file of tests of its name."""
    module = topic(name)
    assert module.SHOWS
    assert len(set(module.SHOWS)) == len(module.SHOWS)
    assert words(name).partition("\n")[0].endswith(".")
    assert (ROOT / "tests" / "examples" / "lectures" / f"test_{name}.py").exists()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.deep] if name in LONG else []) for name in topics()]
)
def test_the_page_has_what_a_topic_tells(name: str) -> None:
    """Its words, its figures, and its picture: `python -m examples.lectures --write` makes them."""
    assert sections()[name].strip() == _page.section(name).strip()
    drawn, kept = _page.picture(name), _page.image_of(name)
    assert (kept.read_text(encoding="utf-8") if kept.exists() else None) == drawn


def test_the_page_has_the_map_and_nothing_else() -> None:
    """Its beginning, the topics in order, and the map."""
    found = sections()
    assert list(found) == ["", *topics(), "The map"]
    assert found[""].strip() == _page.beginning().strip()
    assert found["The map"].strip() == _page.mapped().strip()


def test_topics_are_run_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a name all are listed, an unknown one is refused with that list, and a picture goes where it is
    asked for."""
    assert main([]) == 0
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines()] == topics()
    assert main(["surveys"]) == 2
    assert capsys.readouterr().out == listed
    assert main(["survey", "--svg", str(tmp_path / "own.svg")]) == 0
    assert words("survey") in capsys.readouterr().out
    assert (tmp_path / "own.svg").read_text(encoding="utf-8") == _page.picture("survey")
