"""The directory of a site: what was published before is replaced, and what is not published any more is gone.

words:
  first    the page that is opened first. It is written last, and has the names of all files of the site in a comment
  ours     of a directory: its first page was written here. In another one nothing is written over
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["FIRST", "listed", "write"]

FIRST = "index.html"
_OURS = '<meta name="generator" content="deniable">'
_LIST = re.compile(r"<!-- published: (.*) -->\n\Z")
_NAME = re.compile(r"[a-z0-9_]+(-notice)?\.(html|csv|json)")
"""A file of a site: nothing beside its directory can be called so."""


def listed(first: str, names: Iterable[str]) -> str:
    """The first page, with the names of the site's files."""
    return f"{first}<!-- published: {' '.join(sorted(names))} -->\n"


def write(directory: Path, files: Mapping[str, str]) -> list[str]:
    """Write the files, each as a whole, and remove those of the last time that are not among them; which these are. A
    ValueError where something else is in their place."""
    before = _read(directory / FIRST)
    there = [name for name in files if (directory / name).exists()]
    if there and _OURS not in before:
        raise ValueError(f"{directory / there[0]} is there, and not by publish: take a directory of its own")
    directory.mkdir(parents=True, exist_ok=True)
    gone = [name for name in _published(before) if name not in files and (directory / name).is_file()]
    for name in gone:
        (directory / name).unlink()
    for name in sorted(files, key=lambda name: name == FIRST):
        beside = directory / f".{name}.new"
        beside.write_text(files[name], encoding="utf-8")
        os.replace(beside, directory / name)
    return gone


def _read(first: Path) -> str:
    return first.read_text(encoding="utf-8", errors="replace") if first.exists() else ""


def _published(first: str) -> list[str]:
    """The files that a first page of ours has the names of."""
    found = _LIST.search(first) if _OURS in first else None
    return [name for name in found[1].split() if _NAME.fullmatch(name)] if found else []
