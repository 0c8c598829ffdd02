"""Docstrings of the SDK name their subject: whoever reads one alone knows what it is about."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import ROOT

EMPTY = re.compile(r"(It|They|Both|None|The same|Same|Go on|All of (it|them)|No longer|Yes|Either|Any)\b.{0,12}\.?$")
"""A first line that begins so and ends soon says nothing to a stranger."""


def said(path: Path) -> Iterator[tuple[int, str]]:
    """Every docstring of a module, also of what is assigned: its line, and its first line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for statement in getattr(node, "body", []) if isinstance(getattr(node, "body", []), list) else []:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                text = statement.value.value
                if isinstance(text, str):
                    yield statement.lineno, text.partition("\n")[0]


def wanting(path: Path) -> list[str]:
    """Those that do not say what they are about."""
    return [f"{path}:{line}: {text}" for line, text in said(path) if EMPTY.match(text) or len(text.split()) < 2]


def test_every_docstring_says_what_it_is_about() -> None:
    """No pronoun, no "the same", no single word stands for the subject."""
    modules = [path for path in (ROOT / "client" / "deniable").rglob("*.py") if "v1" not in path.parts]
    assert len(modules) > 60
    assert not [each for path in sorted(modules) for each in wanting(path)]


@pytest.mark.parametrize("text", ["It is.", "The same.", "None.", "Go on.", "Nothing", "Both, afresh."])
def test_what_says_nothing_is_found(tmp_path: Path, text: str) -> None:
    """On functions, classes and what is assigned."""
    (tmp_path / "m.py").write_text(
        f'"""A module of words."""\n\n\ndef f():\n    """{text}"""\n\n\nx = 1\n"""{text}"""\n'
    )
    assert len(wanting(tmp_path / "m.py")) == 2
