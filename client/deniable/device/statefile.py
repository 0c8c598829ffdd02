"""Whose file it is: nothing is opened, changed or erased under a state file's name that is not known as one of ours.

words:
  mark       four bytes of ours, where SQLite keeps the id of an application: bytes 68 to 72 of the file
  ours       a regular file with the mark, or one of the first layout, which had none: it is known by its exact schema
  stranger   anything else: another application's database, a text, a link, a directory, a device. It is refused with
             the reason, and not one byte of it, nor its name or mode, is changed
  damaged    ours, and not readable as a whole: the mark is there. Where the mark is gone too, nobody can tell it from
             a stranger, and it is treated as one
  aside      NAME.damaged, what was damaged, until it is erased

A file is erased in place, its first hundred bytes left for last: they have no value in them, and say whose it is.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

from deniable.errors import StateError

__all__ = [
    "MARK",
    "StrangerError",
    "absolute",
    "erase",
    "found",
    "look",
    "prepare",
    "require_ours",
    "set_aside",
    "state_path",
]

MARK = 0x44E91AB1
"""`PRAGMA application_id` of every state file."""
JOURNAL = "-journal"
ASIDE = ".damaged"

_NAME = "telemetry.db"
_HEADER = 100
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_OPEN = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
_CHUNK = 1 << 20

Identity = tuple[int, int]
"""Which file it is, whatever its name: device and inode."""


class StrangerError(StateError):
    """A file under a state file's name that is not ours."""

    def __init__(self, path: Path, what: str) -> None:
        self.what = what
        """What it is instead."""
        super().__init__(
            f"{path}: {what}; it is left as it is: give the state a file of its own, such as "
            'deniable.state_path("my-application"), or move this one away'
        )


def absolute(path: str | Path) -> Path:
    """The path, wherever the program changes its directory to; ValueError for one that is relative."""
    path = Path(path)
    if not path.is_absolute():
        raise ValueError(
            f"state: {str(path)!r} is another file in every directory that the program is started in, and each would "
            'have budgets of its own; give an absolute path, such as deniable.state_path("my-application")'
        )
    try:
        return path.parent.resolve() / path.name
    except (OSError, RuntimeError):  # links that lead nowhere: what is wrong is told when it is opened
        return path


def state_path(application: str) -> Path:
    """Where the state file of an application belongs on this platform, for the person who is logged in.

    `~/.local/state/APPLICATION/telemetry.db` (or below `$XDG_STATE_HOME`), on macOS
    `~/Library/Application Support/APPLICATION/telemetry.db`, on Windows `%LOCALAPPDATA%\\APPLICATION\\telemetry.db`.
    """
    if not application.strip(". ") or any(sign in application for sign in '/\\:\0"<>|?*'):
        raise ValueError(f"an application's name can be the name of a directory, which {application!r} can not")
    return _home() / application / _NAME


def found() -> list[Path]:
    """The files where `state_path` puts those of this person's applications, in the order of their names."""
    homes = {_home(), _default_home()}  # an application may have been started without the XDG_STATE_HOME of now
    return sorted(path for home in homes for path in home.glob(f"*/{_NAME}"))


def _home() -> Path:
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    return given if sys.platform not in {"darwin", "win32"} and given.is_absolute() else _default_home()


def _default_home() -> Path:
    try:
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Application Support"
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        return Path.home() / ".local" / "state"
    except RuntimeError as error:
        raise StateError(f"{error}: name a state file of your own, by its absolute path") from error


def look(path: Path) -> Identity | None:
    """Which file has the name now, itself and not what it may link to; None where there is none."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def prepare(path: Path, first: str) -> tuple[Identity, bool]:
    """Make sure that the file is there, ours, and its owner's alone; which it is, and whether an older one is lost.

    `first` is the schema of the first layout. A new file begins where one was set aside: what that knew is lost.
    """
    aside = beside(path, ASIDE)
    for each in (path, beside(path, JOURNAL), aside):
        _require_regular(each)
    _require_journal(beside(path, JOURNAL))
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | _OPEN, 0o600))
    except FileExistsError:
        require_ours(path, first)
        _close_to_others(path)
    found = path.lstat()
    return (found.st_dev, found.st_ino), found.st_size == 0 and look(aside) is not None


def require_ours(path: Path, first: str) -> None:
    """StateError for a stranger, and where there is no file. An empty file is ours: who empties one has deleted it.

    SQLite looks first, without locks and without playing anything back: were the file another database that this
    process has open, to open and close it here would take all locks off it.
    """
    _require_regular(path)
    if path.lstat().st_size == 0:
        return
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as found:
            ours = found.execute("PRAGMA application_id").fetchone() == (MARK,) or _is_first_layout(found, first)
        sort = "the database of another application"
    except (sqlite3.Error, UnicodeDecodeError):
        ours, sort = _read(path)[68:72] == MARK.to_bytes(4, "big"), "not a state file"
    if not ours:
        raise StrangerError(path, sort)


def _read(path: Path) -> bytes:
    """The first bytes of a file."""
    descriptor = os.open(path, os.O_RDONLY | _OPEN)
    try:
        return os.read(descriptor, _HEADER)
    finally:
        os.close(descriptor)


def _is_first_layout(found: sqlite3.Connection, first: str) -> bool:
    """Whether a database has exactly our first tables."""
    schema = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
    if found.execute("PRAGMA user_version").fetchone() != (1,):
        return False
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(first)
        return bool(found.execute(schema).fetchall() == made.execute(schema).fetchall())


def _close_to_others(path: Path) -> None:
    """Let nobody but its owner read or write it."""
    if stat.S_IMODE(path.lstat().st_mode) != 0o600 and hasattr(os, "fchmod"):
        descriptor = os.open(path, os.O_RDONLY | _OPEN)
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)


def beside(path: Path, suffix: str) -> Path:
    """The path in the same directory whose name has that suffix, too."""
    return path.with_name(path.name + suffix)


def _require_regular(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise StrangerError(path, f"not a state file but {_SORTS.get(stat.S_IFMT(mode), 'something else')}")


_SORTS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def _require_journal(path: Path) -> None:
    """What has the name of a journal is one: SQLite would delete it."""
    try:
        begin = _read(path)[: len(_JOURNAL_MAGIC)]
    except FileNotFoundError:
        return
    if begin not in {b"", bytes(len(_JOURNAL_MAGIC)), _JOURNAL_MAGIC}:
        raise StrangerError(path, "not the journal of a state file")


def set_aside(path: Path, first: str, now: float) -> None:
    """Rename what is ours and damaged, and erase what was set aside before it; StateError where either is a stranger.

    Its journal is erased: the new file would take it for its own.
    """
    aside = beside(path, ASIDE)
    require_ours(path, first)
    if path.stat().st_size == 0:
        return
    if look(aside) is not None:
        require_ours(aside, first)
        _overwrite(aside, _HEADER)
    _require_regular(beside(path, JOURNAL))
    _require_journal(beside(path, JOURNAL))
    if look(beside(path, JOURNAL)) is not None:
        _overwrite(beside(path, JOURNAL), 0)
    path.rename(aside)
    os.utime(aside, (now, now))


def erase(path: Path, first: str, before: float) -> None:
    """Overwrite and remove what was set aside before a time: it has values in it. A stranger there stays."""
    aside = beside(path, ASIDE)
    try:
        if aside.lstat().st_mtime < before:
            require_ours(aside, first)
            _overwrite(aside, _HEADER)
    except (OSError, StateError):
        return


def _overwrite(path: Path, begin: int) -> None:
    """Overwrite a file in place from a byte on, and remove it: one that is cut first is written elsewhere."""
    descriptor = os.open(path, os.O_RDWR | _OPEN)
    try:
        os.lseek(descriptor, begin, os.SEEK_SET)
        left = os.fstat(descriptor).st_size - begin
        while left > 0:
            left -= os.write(descriptor, bytes(min(left, _CHUNK)))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    path.unlink()
