"""The site's reference, made of what it is about: public names of their docstrings, commands of their parsers."""

from __future__ import annotations

import argparse
import importlib
import inspect
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, cast

from deniable.__main__ import _parser as person
from deniable_aggregator.commands import _parser as operator

__all__ = ["MODULES", "names", "reference", "without_words"]

MODULES = ("deniable", "deniable_aggregator", "deniable_aggregator.learning")
"""What is public: what these modules say in `__all__`."""


def reference() -> dict[str, tuple[str, str]]:
    """Every page of it by its place in the site: how it is called, and its text."""
    made = {f"reference/{module}.rst": (f"In Python: {module}", "\n".join(_python(module))) for module in MODULES}
    commands = "\n".join(_commands())
    return made | {"reference/commands.md": ("Commands", commands)}


def names(module: str) -> list[str]:
    """What is public of it."""
    return sorted(importlib.import_module(module).__all__)


def _python(module: str) -> Iterator[str]:
    """A module's public names."""
    title = f"In Python: {module}"
    yield from (title, "=" * len(title), "", f".. automodule:: {module}", "   :no-members:", "")
    for name in names(module):
        value = getattr(importlib.import_module(module), name)
        yield from (name, "-" * len(name), "")
        if inspect.isclass(value):
            yield from (f".. autoclass:: {module}.{name}", "   :members:", "")
        else:
            yield from (f".. autofunction:: {module}.{name}", "")


def without_words(lines: list[str]) -> list[str]:
    """A docstring without its list of words, which is there for who reads the code."""
    if "words:" not in lines:
        return lines
    begin = lines.index("words:")
    end = next((at for at in range(begin + 1, len(lines)) if lines[at] and lines[at][0] != " "), len(lines))
    return [*lines[:begin], *lines[end:]]


class _Markdown(argparse.HelpFormatter):
    """What a parser says of itself, as Markdown; the parsers of its subcommands are put into `below`."""

    def __init__(self, below: dict[str, argparse.ArgumentParser], prog: str) -> None:
        super().__init__(prog)
        self._below = below
        self._said = list[str]()

    def add_usage(self, *_: Any, **__: Any) -> None:
        """Nothing: the table says it."""

    def start_section(self, heading: str | None) -> None:
        """Nothing: a table has a head of its own."""

    def end_section(self) -> None:
        """Nothing."""

    def add_text(self, text: str | None) -> None:
        """What it is for; an example, which is indented, as code."""
        if text is None:
            return
        words, _, code = text.partition(":\n    ")
        self._said += [words.strip() + (":" if code else ""), ""]
        if code:
            self._said += ["```text", *(line.strip() for line in code.strip().splitlines()), "```", ""]

    def add_arguments(self, actions: Iterable[argparse.Action]) -> None:
        """A table of them, without those that every command has."""
        told = list[str]()
        for action in actions:
            if isinstance(action.choices, dict):
                self._below.update(action.choices)
            elif action.dest not in {"help", "version"}:
                told.append(self._row(action))
        if told:
            self._said += ["| option | what it says |", "|---|---|", *told, ""]

    def _row(self, action: argparse.Action) -> str:
        taken = action.metavar or (" or ".join(map(str, action.choices)) if action.choices else action.dest.upper())
        values = "" if action.nargs == 0 else taken if isinstance(taken, str) else " ".join(taken)
        option = "`" + f"{', '.join(action.option_strings)} {values}".strip()
        what = (action.help or "") % {**vars(action), "prog": self._prog}
        return "| {}` | {} |".format(*(cell.replace("|", r"\|") for cell in (option, what)))

    def format_help(self) -> str:
        """All that was added."""
        return "\n".join(self._said)


def _told(parser: argparse.ArgumentParser) -> Iterator[str]:
    """A parser, and below it those of its subcommands."""
    below: dict[str, argparse.ArgumentParser] = {}
    parser.formatter_class = cast("Any", partial(_Markdown, below))
    yield parser.format_help()
    for name, each in below.items():
        yield f"### {parser.prog} {name}\n"
        yield from _told(each)


def _commands() -> Iterator[str]:
    """Every command, of whoever asks and of whoever is asked."""
    yield "# Commands\n"
    yield "Every command says the same with `--help`. It ends with 0, or with a line that says what is wrong and 2.\n"
    yield "## `deniable`: for whoever asks\n"
    yield from _told(operator())
    yield "## `python -m deniable`: for the person whose device it is\n"
    yield from _told(person())
