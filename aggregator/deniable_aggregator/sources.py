"""The collection files that an aggregator is given: what they say, and what tells that they have changed."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from deniable import Collection
from deniable.collection import text_of

__all__ = ["Sources", "Texts", "collections_of"]

Texts = tuple[tuple[str, str], ...]
"""Collection files: what each is called, and what it says."""


def collections_of(texts: Texts) -> list[Collection]:
    """All collections, or a CollectionError for the first that does not load."""
    return [Collection.loads(text, file) for file, text in texts]


@dataclass(frozen=True, slots=True)
class Sources:
    """Where collections come from."""

    paths: tuple[Path, ...]
    """Files, and directories of which every .toml file is one."""

    def read(self) -> Texts:
        """What all files say, or a CollectionError for the first that can not be read."""
        return tuple((str(file), text_of(file)) for file in self._files())

    def _files(self) -> list[Path]:
        return [file for path in self.paths for file in (sorted(path.glob("*.toml")) if path.is_dir() else [path])]

    def state(self) -> dict[Path, tuple[int, int]]:
        """What tells that a directory has changed; files that were given by name are only read when asked to."""
        found = {}
        for file in (file for path in self.paths if path.is_dir() for file in path.glob("*.toml")):
            with contextlib.suppress(FileNotFoundError):
                status = file.stat()
                found[file] = (status.st_mtime_ns, status.st_size)
        return found
