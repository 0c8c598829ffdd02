"""Figures of docs that are older than their code are found, and none is without a mark of what it was made from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.figures import FIGURES, ROOT, code, depends, hashed, mark, marked

from tools import figures

EXACT = {"tools.category_accuracy", "tools.http_api", "tools.lectures", "tools.mechanism_pictures", "tools.porting"}
"""What is quickly made, and held against its command by a test of its own."""
NAMED = re.compile(
    r"\b(?:made|measured) by\s+`\.venv/bin/python (?:-m )?((?:benchmarks|tools)[ ./]\w+)", re.IGNORECASE
)
PLACED = re.compile(r"<!-- (?:\w+: )?(tools/\w+)\.py -->")
KEPT = {"tools/leverage", "tools/licences", "tools/settings_table"}
"""Tables between marks of their own that a test holds against their command."""


def named(page: Path) -> set[str]:
    """The commands that a page says its figures are made by."""
    text = page.read_text(encoding="utf-8")
    found = {each.replace(" ", ".").replace("/", ".") for each in NAMED.findall(text)}
    return found | {each.replace("/", ".") for each in set(PLACED.findall(text)) - KEPT}


def test_every_figure_that_a_command_makes_is_known() -> None:
    """By the page that it is on; what pages of attacks tell of a day is of that day."""
    found = {
        (command, page.relative_to(ROOT).as_posix())
        for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "benchmarks").glob("*.md")]
        for command in named(page) - EXACT
        if page.name != "decisions.md"
    }
    assert len(found) > 25
    assert found <= {(command, each.page) for command, each in FIGURES.items()}


@pytest.mark.parametrize("command", FIGURES)
def test_every_figure_says_what_it_was_made_from(command: str) -> None:
    """By a mark on its page. Its command and its rooms are there: nothing depends on files that have moved."""
    assert command in marked(), f"python -m tools.figures --made {command}"
    for room in FIGURES[command].rooms:
        assert list(ROOT.glob(room)), room
    assert (ROOT / f"{command.replace('.', '/')}.py").exists()


def test_marks_are_of_figures_that_are_known() -> None:
    """And no figure has two."""
    pages = sorted({each.page for each in FIGURES.values()})
    found = [one for page in pages for one in figures._MARK.findall((ROOT / page).read_text(encoding="utf-8"))]
    assert sorted(command for command, _, _ in found) == sorted(FIGURES)


BEFORE = '''"""A room."""

from one import other as mine

__all__ = ["RATE", "f"]
RATE = 2
"""How much."""


def f(x: int) -> int:
    """Twice."""
    if x < 0:
        raise ValueError(f"{x} is below 0")
    return RATE * x
'''


@pytest.mark.parametrize(
    "after",
    [
        BEFORE.replace("Twice", "Two times"), BEFORE.replace("RATE * x", "RATE*x  # as said"), "# ours\n" + BEFORE,
        BEFORE.replace("is below", "lies below"), BEFORE.replace("x: int", "x: float"),
        BEFORE.replace("from one", "from two"), BEFORE.replace('"RATE", ', ""),
    ],
    ids=["docstring", "format", "comment", "error", "annotation", "import", "list of names"],
)  # fmt: skip
def test_words_are_not_code(after: str) -> None:
    """They make nothing old."""
    assert after != BEFORE
    assert code(BEFORE) == code(after)


@pytest.mark.parametrize(
    "after",
    [BEFORE.replace("RATE = 2", "RATE = 3"), BEFORE.replace("RATE * x", "RATE + x"), BEFORE.replace("< 0", "<= 0")],
)
def test_code_that_has_changed_is_found(after: str) -> None:
    """Wherever it has."""
    assert code(BEFORE) != code(after)


def test_figures_depend_on_what_their_command_takes_from_beside_it() -> None:
    """As fleets are, which several simulate, and on their rooms."""
    found = depends("tools.width_accuracy")
    assert {
        "tools/fleets.py",
        "tools/page_parts.py",
        "aggregator/deniable_aggregator/planning/widths.py",
    } <= found.keys()
    assert "benchmarks/processes.py" in depends("benchmarks.ingest")
    assert "tools/fleets.py" not in depends("tools.mean_accuracy")


def test_a_mark_says_where_code_has_changed() -> None:
    """By directories: a file of another name, or with other code, in one of them."""
    made = {"tools/a.py": "1", "room/kinds/b.py": "2", "room/kinds/c.py": "3"}
    before = hashed(made).split()
    assert [each.partition("=")[0] for each in before] == ["kinds", "tools"]
    for other in (made | {"room/kinds/b.py": "4"}, made | {"room/kinds/d.py": "5"}):
        assert [one == two for one, two in zip(before, hashed(other).split(), strict=True)] == [False, True]


def test_what_was_made_anew_is_of_today_until_its_code_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marked, it is not stale; other marks of the page stay as they are."""
    own = {name: figures.Figures("page.md", ("room/*.py",)) for name in ("tools.one", "tools.two")}
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(figures, "FIGURES", own)
    for directory, name in (("tools", "one"), ("tools", "two"), ("room", "a")):
        (tmp_path / directory).mkdir(exist_ok=True)
        (tmp_path / directory / f"{name}.py").write_text(BEFORE)
    other = mark("tools.two", "2026-11-18", "room=0123456789ab tools=0123456789ab")
    (tmp_path / "page.md").write_text(f"| 1 | 2 |\n\n{other}")
    figures.made("tools.one")
    assert figures.stale() == {"tools.two": ("2026-11-18", ["room", "tools"])}
    assert other in (tmp_path / "page.md").read_text()
    figures.made("tools.two")
    assert figures.stale() == {}
    (tmp_path / "room" / "a.py").write_text(BEFORE.replace("2", "3"))
    assert [changed for _, changed in figures.stale().values()] == [["room"], ["room"]]
    figures.made("tools.one")
    assert (tmp_path / "page.md").read_text().count("<!-- figures of") == 2
