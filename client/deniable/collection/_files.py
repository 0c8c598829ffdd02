"""Files that a collection names: beside it while it is written, in its own text once it is a bundle.

words:
  beside   in the directory of the collection's file or below it, under a name such as data/regions.csv
  bundle   the text of a collection with the text of every file that it names, in a table [files] after it: it reads
           to the same collection, with the same digest, and needs no files
  stamp    what tells that a file has changed

What counts is a file's text, not how an editor has written it: line ends are one sign, and a mark of UTF-8 is none.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

from deniable._paths import why
from deniable._section import File, a_text

__all__ = ["MOST_BYTES", "Files", "Stamp", "a_content", "a_path", "stamp_of"]

MOST_BYTES = 1 << 24
"""The longest file that can be named."""

Stamp = tuple[int, int]
"""When a file was written, and its length."""

_PIECE = 1 << 20
"""Bytes that are read at once: as many are asked for, however short a file is."""
_MOST_SIGNS = 255
_SPECIAL = set('\\:*?"<>|')
_OPEN = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ENDING_QUOTES = re.compile(r'"(?="|\Z)')


class Files:
    """The files that one collection names, as they are read."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self.texts: dict[str, str] = {}
        """What those that could be read say."""
        self.stamps: dict[Path, Stamp | None] = {}
        """Of all that were named; None for those that could not be read."""

    def read(self, name: str) -> File:
        """What a file says; a ValueError where it can not be read."""
        if self._directory is None:
            raise ValueError(
                f"{name!r} is a file, and of this collection there is only a text: bundle it first: deniable bundle"
            )
        path = self._directory / name
        self.stamps[path] = None
        try:
            found = path.resolve(strict=True)
            if not found.is_relative_to(self._directory.resolve()):
                raise ValueError(f"{name!r} leads out of the directory of the collection")
            content, self.stamps[path] = _read(found, name)
        except (OSError, RuntimeError) as error:  # links that lead to themselves are the latter
            raise ValueError(f"{name!r} can not be read: {why(error)}") from error
        self.texts[name] = _decoded(content, name)
        return File(str(path), self.texts[name])

    def bundled(self, text: str) -> str:
        """The text of the collection that has named them, with all of them in it."""
        if not self.texts:
            return text
        files = "".join(f'"{name}" = {_whole(content)}\n' for name, content in sorted(self.texts.items()))
        return f"{text.rstrip()}\n\n# The files that are named above, by `deniable bundle`.\n[files]\n{files}"


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of a file; None where there is none."""
    try:
        return _stamp(path.stat())
    except OSError:
        return None


def a_path(value: Any) -> str:
    """The name of a file beside a collection: the same on every system, and nothing that leads elsewhere."""
    name = a_text(value)
    plain = name.isprintable() and len(name) <= _MOST_SIGNS and not _SPECIAL & set(name)
    if not plain or any(part.strip(" ") != part or part in {"", ".", ".."} for part in name.split("/")):
        raise ValueError(
            "must name a file in the directory of the collection or below it, such as data/regions.csv, "
            f"not {value!r}"
        )
    return name


def a_content(value: Any) -> str:
    """What a bundled file says."""
    if not isinstance(value, str):
        raise TypeError(f"must be the text of a file, not {value!r}")
    if len(value.encode()) > MOST_BYTES:
        raise ValueError(f"is longer than the {MOST_BYTES} bytes that a file can have")
    return _one_end(value)


def _read(path: Path, name: str) -> tuple[bytes, Stamp]:
    descriptor = os.open(path, _OPEN)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{name!r} is not a file")
        content = b""
        while len(content) <= MOST_BYTES and (piece := file.read(_PIECE)):
            content += piece
    if len(content) > MOST_BYTES:
        raise ValueError(f"{name!r} is longer than the {MOST_BYTES} bytes that a file can have")
    return content, _stamp(status)


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_size


def _decoded(content: bytes, name: str) -> str:
    try:
        return _one_end(content.decode("utf-8")).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = _one_end(content[: error.start].decode("utf-8")).count("\n") + 1
        raise ValueError(f"{name}:{line}: is not UTF-8: {error.reason}") from error


def _one_end(text: str) -> str:
    """The text with one sign for the end of a line, whichever system has written it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _whole(text: str) -> str:
    """A text of many lines as TOML writes it: as it is, unless something in it can not stand there."""
    if "'''" not in text and not _CONTROLS.search(text):
        return f"'''\n{text}'''"
    escaped = _ENDING_QUOTES.sub(r'\\"', text.replace("\\", r"\\"))
    escaped = _CONTROLS.sub(lambda control: f"\\u{ord(control[0]):04x}", escaped)
    return f'"""\n{escaped}"""'
