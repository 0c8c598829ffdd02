"""The person whose device it is, at a terminal, and a device that has answered."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from deniable import Collection
from deniable.__main__ import main
from deniable.device.transcript import SENT
from support.collection_files import head, metric
from support.device import Device

__all__ = ["COLLECTION", "DAY", "FIRST", "TEXT", "VALUES", "Person", "answered", "rows"]

DAY = 86_400
TEXT = (
    head("editor", 6, lifetime=12)
    + metric("dark_mode", "boolean", "The dark theme is on")
    + metric("crashed", "boolean", "It crashed today", epsilon="ln 3")
    + metric("theme", "category", "The theme", values=["light", "dark", "sepia"], memoize=True)
)
COLLECTION = Collection.loads(TEXT)
VALUES: Mapping[str, Any] = {"dark_mode": True, "crashed": False, "theme": "sepia"}
FIRST = 20_000


class Said(NamedTuple):
    """What a command has said."""

    code: int
    out: str
    error: str


class Person:
    """Somebody at a terminal."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str | Path) -> Said:
        """Run a command."""
        code = main([str(argument) for argument in arguments])
        return Said(code, *self._capsys.readouterr())


def answered(path: Path, epochs: int = 3, *, sent: bool = True) -> Path:
    """A state file of a device that has answered for some days."""
    path.parent.mkdir(parents=True, exist_ok=True)
    device = Device(COLLECTION, path)
    device.answers(VALUES, range(FIRST, FIRST + epochs))
    if sent:
        device.state.run(lambda connection: connection.execute("UPDATE transcript SET fate = ?", (SENT,)))
    device.state.close()
    return path


def rows(path: Path, query: str) -> list[Any]:
    """What a file has, read by somebody else."""
    connection = sqlite3.connect(path)
    found = connection.execute(query).fetchall()
    connection.close()
    return found
