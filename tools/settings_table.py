"""The table of all settings in docs/serving.md, made from what `deniable serve` takes.

python -m tools.settings_table --write    puts it into the page anew
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.page_parts import Part

from deniable_aggregator.commands import serve
from deniable_aggregator.commands._command import CommandParser
from deniable_aggregator.commands._settings import FILE, Setting, settings

__all__ = ["PAGE", "page", "table"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "serving.md"
_PART = Part("<!-- settings: tools/settings_table.py -->", "<!-- end of settings -->")


def table() -> Iterator[str]:
    """A line a setting."""
    top = argparse.ArgumentParser(prog="deniable")
    commands = top.add_subparsers(parser_class=CommandParser)
    serve.add(commands)
    yield "| flag | in a file | in the environment | at first | what it says |"
    yield "|---|---|---|---|---|"
    for own in settings(commands.choices["serve"]).values():
        shown = [f"`{own.option}`" if own.option else f"`{own.action.metavar}`"]
        shown += ["" if own.name == FILE else f"`{own.name}`", f"`{own.variable}`", _first(own), _said(own)]
        yield f"| {' | '.join(shown)} |"


def _first(own: Setting) -> str:
    value = own.action.default
    if own.a_switch:
        return "`false`"
    if value is None or value == []:
        return ""
    return f"`{getattr(getattr(value, 'level', None), 'value', value)}`"


def _said(own: Setting) -> str:
    text = str(own.action.help).partition(" (%(default)")[0]
    return text.replace("|", "\\|") + (" (several)" if own.several else "")


def page() -> str:
    """The page with the table of today."""
    return _PART.put(PAGE.read_text(encoding="utf-8"), "\n".join(table()))


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print("\n".join(table()))
