"""How topics are found and run: their figures are printed, and where one has a picture it goes to a file.

words:
  told    what a topic prints
  drawn   its picture, as SVG
"""

from __future__ import annotations

import argparse
import ast
import pkgutil
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

__all__ = ["NO_TOPICS", "run", "topic", "topics", "words"]

NO_TOPICS = {"lines", "shown"}
"""Modules of this room, beside those that begin with an underscore, that are no topics."""


def topics() -> list[str]:
    """The names of all topics: nothing is loaded for it."""
    names = (module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return sorted(name for name in names if not name.startswith("_") and name not in NO_TOPICS)


def topic(name: str) -> ModuleType:
    """A topic's module."""
    return import_module(f"{__package__}.{name}")


def words(name: str) -> str:
    """What a topic's docstring says, which is read and not run."""
    text = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(text)) or ""


def run(arguments: Sequence[str], told: Callable[[], str], drawn: Callable[[], str] | None = None) -> int:
    """Print what a topic tells, and write its picture where that is asked for; 0."""
    parser = argparse.ArgumentParser(prog=f"python -m {told.__module__.rpartition('.')[0]}")
    if drawn:
        parser.add_argument("--svg", type=Path, metavar="FILE", help="where its picture is to go")
    options = parser.parse_args(arguments)
    print(told())
    if drawn and options.svg:
        options.svg.write_text(drawn(), encoding="utf-8")
    return 0
