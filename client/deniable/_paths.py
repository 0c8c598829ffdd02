"""What keeps a path from being used, in words: which one, what was tried, and what to do. The system's own words say
none of it but "Permission denied".
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

__all__ = ["told", "unheard", "why"]

_ALWAYS = {
    errno.ENOSPC: "there is no room left on its disk: make room, or name another place",
    errno.EDQUOT: "this account has no room left on its disk: make room, or name another place",
    errno.EISDIR: "it is a directory: name a file in it",
    errno.EROFS: "nothing can be written to its disk: name another place",
}
"""Wherever it is."""


def told(error: OSError) -> str:
    """All of it in a line, with the path; what has been said in words already stays as it is."""
    named = _named(error)
    if named is None:
        return why(error)
    return f"{error.filename}: can not be {_tried(named, error)}: {why(error)}"


def unheard(error: OSError) -> str:
    """That standard output takes no more, and why."""
    return f"what it says can not be written: {why(error)}"


def why(error: Exception) -> str:
    """Why, and what to do; without the path, and what was tried."""
    if not isinstance(error, OSError) or error.errno is None:
        return str(error)
    if error.errno in _ALWAYS:
        return _ALWAYS[error.errno]
    named = _named(error)
    if named is None:
        return error.strerror or str(error)
    if error.errno in {errno.EACCES, errno.EPERM}:
        return _barred(named)
    if error.errno == errno.ENOENT:
        return _missing(named)
    if error.errno == errno.ENOTDIR:
        return f"{_on_the_way(named)} is a file, and not a directory: name another place"
    if error.errno == errno.EEXIST:
        return "it is a file: name a directory" if os.path.isfile(named) else "it is there already: name another one"
    return error.strerror or str(error)


def _named(error: OSError) -> Path | None:
    """The path that an error is about; descriptors have none."""
    if isinstance(error.filename, str | bytes) and error.filename:
        return Path(os.path.abspath(os.fsdecode(error.filename)))
    return None


def _tried(path: Path, error: OSError) -> str:
    """What was tried with it, as far as that can be told afterwards."""
    if error.errno == errno.EEXIST:
        return "made"
    if os.path.lexists(path):
        return "written" if error.errno != errno.EISDIR and _may(path, os.R_OK) else "read"
    if error.errno == errno.ENOENT:
        return "read" if path.parent.is_dir() else "reached"
    return "reached" if error.errno == errno.ENOTDIR or _shut(path) else "made"


def _missing(path: Path) -> str:
    if path.parent.is_dir():
        return f"there is nothing of that name in {path.parent}"
    from shlex import quote

    return f"there is no directory {path.parent}: name another place, or mkdir -p {quote(str(path.parent))}"


def _on_the_way(path: Path) -> Path:
    """The nearest of a path's directories that is none."""
    return next((each for each in path.parents if os.path.isfile(each)), path)


def _barred(path: Path) -> str:
    """What keeps this account from it, and who could let it in."""
    place = _shut(path) or (path if os.path.lexists(path) else path.parent)
    whose = _owner(place)
    return f"{place} is {whose}'s, and not for this account: run it as {whose}, or have it let in (chmod, chown)"


def _shut(path: Path) -> Path | None:
    """The first of a path's directories that may not be gone through, from the top."""
    return next((each for each in reversed(path.parents) if os.path.isdir(each) and not _may(each, os.X_OK)), None)


def _may(path: Path, what: int) -> bool:
    return os.access(path, what, effective_ids=os.access in os.supports_effective_ids)


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except (OSError, KeyError, NotImplementedError):
        return "somebody else"
