"""The collection files that an aggregator is given: what they say, and what tells that they have changed.

words:
  version  one of several collections of a name, which are served together; each has a number of its own in its file,
           by which it is known which is newer
  text     a collection as it is served: a bundle where it names files, so that what is served is one text
  watched  the files of directories, and the files that these collections name; by their stamps
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from deniable import Collection, CollectionError
from deniable.collection import Files, Stamp, bundle, stamp_of
from deniable.errors import Problem

__all__ = ["Reload", "Sources", "Texts", "collections_of"]

Texts = tuple[tuple[str, str], ...]
"""Collection files: what each is called, and what it says."""
_LOADED: dict[tuple[str, str], Collection] = {}
"""Those of the last time. What is loaded when workers are forked need not be read by each of them anew: of a metric
of thousands of values that takes as long as all else that a worker begins with."""


class Reload(NamedTuple):
    """That other collections are served than before."""

    time: float
    """When, in seconds since 1970-01-01T00:00:00Z."""
    changes: tuple[str, ...]
    """What is otherwise than before, in sentences."""


def collections_of(texts: Texts) -> list[Collection]:
    """All collections, or a CollectionError for the first that does not load, or of which it is not known whether it
    is newer than another one."""
    found: list[Collection] = []
    versions: dict[tuple[str, int], tuple[str, Collection]] = {}
    for file, text in texts:
        own = _LOADED.get((file, text)) or Collection.loads(text, file)
        found.append(own)
        other, known = versions.setdefault((own.name, own.version), (file, own))
        if known.digest != own.digest:
            said = (
                f"is {own.version} as in {other}, and asks something else: give the newer one a greater number, such "
                f"as version = {own.version + 1}; a version is no part of a digest, devices that have it go on"
            )
            raise CollectionError([Problem(file, "collection.version", said)])
    _LOADED.clear()
    _LOADED.update(zip(texts, found, strict=True))
    return found


@dataclass(slots=True)
class Sources:
    """Where collections come from."""

    paths: tuple[Path, ...]
    """Files, and directories of which every .toml file is one."""
    _watched: dict[Path, Stamp | None] = field(default_factory=dict, init=False)
    """What was there when it was last read."""

    def read(self) -> Texts:
        """What all files say, or a CollectionError for the first that does not load."""
        self._watched = self._directories()  # first: what changes while it is read is read again
        return tuple((str(file), self._bundled(file)) for file in self._files())

    def changed(self) -> bool:
        """Whether a directory, or a file that its collections name, is not as it was read.

        Files that were given by name are only read when asked to.
        """
        now = {path: stamp_of(path) for path in self._watched} | self._directories()
        return now != self._watched

    def _bundled(self, file: Path) -> str:
        files = Files(file.parent)
        if file in self._watched and not file.is_file():  # of a pipe it would wait for somebody who writes
            raise CollectionError([Problem(str(file), "", "can not be read: it is not a file")])
        try:
            return bundle(file, files)
        finally:  # what could not be read is waited for
            if file in self._watched:
                self._watched |= files.stamps

    def _files(self) -> list[Path]:
        return [file for path in self.paths for file in (sorted(path.glob("*.toml")) if path.is_dir() else [path])]

    def _directories(self) -> dict[Path, Stamp | None]:
        return {file: stamp_of(file) for path in self.paths if path.is_dir() for file in path.glob("*.toml")}
