"""What keeps a path from being used is told with the path, what was tried, and what to do."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable._paths import told, why

NOBODY = 65_534


@contextlib.contextmanager
def no_root() -> Iterator[None]:
    """As an account that is not root, which may do everything."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def kept(path: Path, tried: str = "r") -> OSError:
    """The error of who tries to open something."""
    try:
        path.open(tried).close()
    except OSError as error:
        return error
    raise AssertionError(f"{path} can be opened")


def test_what_is_not_there(tmp_path: Path) -> None:
    """The file, or its directory, which can be made."""
    assert told(kept(tmp_path / "a")) == f"{tmp_path}/a: can not be read: there is nothing of that name in {tmp_path}"
    place = tmp_path / "my files"
    assert told(kept(place / "a", "w")) == (
        f"{place}/a: can not be reached: there is no directory {place}: name another place, or mkdir -p '{place}'"
    )


def test_what_is_something_else(tmp_path: Path) -> None:
    """A directory in the place of a file, and the other way round."""
    assert told(kept(tmp_path)) == f"{tmp_path}: can not be read: it is a directory: name a file in it"
    file = tmp_path / "file"
    file.touch()
    assert told(kept(file / "a" / "b")) == (
        f"{file}/a/b: can not be reached: {file} is a file, and not a directory: name another place"
    )
    assert told(kept(file, "x")) == f"{file}: can not be made: it is a file: name a directory"
    with pytest.raises(FileExistsError) as raised:
        tmp_path.mkdir()
    assert told(raised.value) == f"{tmp_path}: can not be made: it is there already: name another one"


@pytest.mark.parametrize(("mode", "tried", "words"), [(0o200, "r", "read"), (0o400, "w", "written")])
def test_what_is_for_others(mode: int, tried: str, words: str) -> None:
    """A file that may not be read, or not be written: whose it is, and what to do."""
    with no_root(), tempfile.TemporaryDirectory(dir="/tmp") as other:
        own = Path(other) / "file"
        own.touch()
        own.chmod(mode)
        said = told(kept(own, tried))
    assert re.fullmatch(
        rf"{own}: can not be {words}: {own} is (\S+)'s, and not for this account: run it as \1, or have it let in .*",
        said,
    )


def test_a_directory_on_the_way_that_is_shut() -> None:
    """It is the one that is named, and not what is in it."""
    with no_root(), tempfile.TemporaryDirectory(dir="/tmp") as other:
        shut = Path(other) / "shut"
        shut.mkdir()
        (shut / "file").touch()
        shut.chmod(0)
        said = told(kept(shut / "file"))
        shut.chmod(0o500)
        new = told(kept(shut / "new", "w"))
        shut.chmod(0o700)
    assert said.startswith(f"{shut}/file: can not be reached: {shut} is ")
    assert new.startswith(f"{shut}/new: can not be made: {shut} is ")


def test_a_full_disk() -> None:
    """A file that takes nothing; the error of a file that is open has no path."""
    with pytest.raises(OSError, match="No space") as raised, open("/dev/full", "w", buffering=1) as full:
        full.write("a\n")
    assert told(raised.value) == "there is no room left on its disk: make room, or name another place"


def test_what_is_said_in_words_already() -> None:
    """It stays as it is; what nobody has words for is said in the system's."""
    assert told(OSError("tokens: line 2: takes report or read")) == "tokens: line 2: takes report or read"
    assert why(ValueError("no TOML")) == "no TOML"
    assert why(OSError(40, "Too many levels of symbolic links", "loop")) == "Too many levels of symbolic links"
    assert why(ConnectionRefusedError(111, "Connection refused")) == "Connection refused"
