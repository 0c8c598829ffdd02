"""A stranger's file under a state file's name: nothing of it is read for long, changed, renamed or erased."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import deniable
from deniable import Client, Collection, Consent, Settings, StateError
from deniable.device import schema
from deniable.device.ledger import charges, read
from deniable.device.state import BusyError, State, count, get, health
from deniable.device.statefile import MARK

NOW = 1_800_000_000.0
COLLECTION = Collection.loads(
    """
[collection]
name = "files"
epoch = "1d"
owner = "o"
[budget]
epoch = 2
lifetime = 2
[metrics.one]
kind = "boolean"
description = "d"
epsilon = 1
"""
)


def clock() -> float:
    """A moment."""
    return NOW


def client(path: str | Path, *, strict: bool = False) -> Client:
    """A client as an application makes it, with the person's consent."""
    settings = Settings(clock=clock, write_behind=0.01)
    return Client(COLLECTION, state=path, consent=Consent.GRANTED, settings=settings, strict=strict)


def database(path: Path, *statements: str) -> None:
    """Another application's database."""
    connection = sqlite3.connect(path)
    connection.executescript(
        ";".join(("CREATE TABLE notes (text)", "INSERT INTO notes VALUES ('mine')", *statements))
    )
    connection.close()


def of_the_first_layout(path: Path, *statements: str) -> None:
    """A file as the first version wrote it."""
    connection = sqlite3.connect(path)
    connection.executescript(schema.MIGRATIONS[0] + ";" + ";".join(statements))
    connection.executescript("PRAGMA user_version = 1")
    connection.close()


def linked(path: Path) -> None:
    """A link to a file of somebody else's, one that is even a state file."""
    State(path.with_name("elsewhere.db"), clock).run(health)
    path.symlink_to(path.with_name("elsewhere.db"))


def beheaded(path: Path) -> None:
    """A database whose first bytes are gone, and with them what would say whose it is."""
    database(path)
    path.write_bytes(bytes(100) + path.read_bytes()[100:])


STRANGERS: dict[str, Callable[[Path], object]] = {
    "a database with a version": lambda path: database(path, "PRAGMA user_version = 1"),
    "a database without one": database,
    "a database with an id of its own": lambda path: database(path, "PRAGMA application_id = 1"),
    "an empty database": lambda path: database(path, "DROP TABLE notes"),
    "our first tables and one more": lambda path: of_the_first_layout(path, "CREATE TABLE notes (text)"),
    "a text": lambda path: path.write_text("Dear diary, " * 1000),
    "one byte": lambda path: path.write_bytes(b"x"),
    "a database without its head": beheaded,
    "a link": linked,
    "a link to nothing": lambda path: path.symlink_to(path.with_name("nothing")),
    "a link to itself": lambda path: path.symlink_to(path),
    "a directory": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a text where the journal belongs": lambda path: path.with_name("app.db-journal").write_text("Dear diary"),
    "a link where the journal belongs": lambda path: path.with_name("app.db-journal").symlink_to(
        path.with_name("nothing")
    ),
    "a directory where the damaged belong": lambda path: path.with_name("app.db.damaged").mkdir(),
}


def everything(directory: Path) -> dict[str, tuple[object, ...]]:
    """What can be seen of all files, their contents and times included."""
    seen: dict[str, tuple[object, ...]] = {}
    for path in sorted(directory.iterdir()):
        found = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(found.st_mode) else None
        link = path.readlink() if stat.S_ISLNK(found.st_mode) else None
        seen[path.name] = (found.st_mode, found.st_ino, found.st_mtime_ns, found.st_nlink, content, link)
    return seen


@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=list(STRANGERS))
def test_what_is_not_ours_is_refused_and_left_byte_for_byte(
    tmp_path: Path, stranger: Callable[[Path], object]
) -> None:
    """The client says why, collects nothing on it, and erases nothing: neither with a yes nor with a no."""
    path = tmp_path / "app.db"
    stranger(path)
    before = everything(tmp_path)
    with client(path) as device:
        assert "left as it is" in device.status().trouble
        assert "state_path" in device.status().trouble
        device.record("one", True)
        assert not device.flush(0.2)
        device.set_consent(Consent.WITHHELD)
        device._state.erase_set_aside(float("inf"))
        assert device.ledger() == []
    assert everything(tmp_path) == before
    with pytest.raises(StateError, match="left as it is"):
        client(path, strict=True)
    with pytest.raises(StateError):
        read(path)
    assert everything(tmp_path) == before


def test_a_device_is_refused() -> None:
    """It may do anything when it is opened, so it is not; here a terminal, which harms nobody if it were."""
    master, terminal = os.openpty()
    path = Path(os.ttyname(terminal))
    mode = path.stat().st_mode
    with pytest.raises(StateError, match="but a device"):
        client(path, strict=True)
    assert path.stat().st_mode == mode
    os.close(terminal)
    os.close(master)


def test_a_link_in_the_place_of_the_damaged_is_not_followed(tmp_path: Path) -> None:
    """Somebody who may write to the directory points it at another file: that is neither emptied nor removed."""
    victim = tmp_path / "victim"
    victim.write_text("precious " * 100)
    (tmp_path / "app.db.damaged").symlink_to(victim)
    os.utime(victim, (NOW - 10 * 86400,) * 2)
    with client(tmp_path / "app.db") as device:
        assert "a symbolic link" in device.status().trouble
        device.record("one", True)
        device.flush(0.2)
        device._state.erase_set_aside(float("inf"))
    assert victim.read_text() == "precious " * 100
    assert (tmp_path / "app.db.damaged").is_symlink()


def test_a_file_of_somebody_elses_in_the_place_of_the_damaged_stays(tmp_path: Path) -> None:
    """It is not erased in time, and not replaced when there is something to set aside: then nothing is answered."""
    path, aside = tmp_path / "app.db", tmp_path / "app.db.damaged"
    client(path).close()
    aside.write_text("precious")
    os.utime(aside, (NOW - 10 * 86400,) * 2)
    with client(path) as device:
        device.record("one", True)
        device.flush(0.2)
        assert device.status().counts == {"answered": 1}
    assert aside.read_text() == "precious"
    path.write_bytes(path.read_bytes()[:100] + b"damaged " * 1000)
    before = everything(tmp_path)
    with client(path) as device:
        assert "app.db.damaged: not a state file" in device.status().trouble
        device.record("one", True)
        assert not device.flush(0.2)
    assert everything(tmp_path) == before


def test_a_file_that_is_overwritten_in_use_is_not_ours_any_more(tmp_path: Path) -> None:
    """Who copies another file over it while the application runs finds that file untouched."""
    path, other = tmp_path / "app.db", tmp_path / "other.db"
    database(other)
    with client(path) as device:
        path.write_bytes(other.read_bytes())
        device.record("one", True)
        assert not device.flush(0.2)
        assert path.read_bytes() == other.read_bytes()


def test_damage_twice_in_an_epoch_leaves_no_copy_behind(tmp_path: Path) -> None:
    """What was set aside first is overwritten before the second takes its name."""
    path, first = tmp_path / "app.db", tmp_path / "first"
    device = State(path, clock)
    for damage in (b"a secret value " * 500, b"damage " * 500):
        device.run(lambda connection: count(connection, "ticks"))
        path.write_bytes(path.read_bytes()[:100] + damage)
        device.run(lambda connection: count(connection, "ticks"))
        if not first.exists():
            first.hardlink_to(tmp_path / "app.db.damaged")
    assert b"secret" not in first.read_bytes()
    assert b"damage damage" in (tmp_path / "app.db.damaged").read_bytes()
    device.close()


def test_a_relative_name_is_refused_with_the_next_step() -> None:
    """It would be a ledger for each directory that the application is started in: 40 of them, 40 budgets."""
    for name in ("app-state.db", "./app.db", "~/app.db", ""):
        with pytest.raises(ValueError, match=r"absolute path, such as deniable\.state_path"):
            client(name)


def test_links_that_lead_nowhere_are_trouble_and_nothing_else(tmp_path: Path) -> None:
    """A directory that is a link to itself is told of as any other that can not be used."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with client(loop / "app.db") as device:
        assert "loop" in device.status().trouble
        assert not device.flush(0.1)


def test_a_change_of_directory_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither does a directory that is linked, when the link changes: the file is the one of the construction."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    link = tmp_path / "link"
    link.symlink_to("one")
    with client(link / "app.db") as device:
        link.unlink()
        link.symlink_to("two")
        monkeypatch.chdir(tmp_path / "two")
        device.record("one", True)
        device.flush(0.2)
    assert list((tmp_path / "two").iterdir()) == []
    assert len(read(tmp_path / "one" / "app.db")) == 1


def test_the_conventional_place_is_one_for_an_application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is absolute, below the person's own directory, whatever the working directory; a bad name has no place."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert deniable.state_path("my-app") == tmp_path / "my-app" / "telemetry.db"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for given in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", given)
        assert deniable.state_path("my-app") == tmp_path / "home/.local/state/my-app/telemetry.db"
    for name in ("", ".", "..", "a/b", "a\\b", "/a", "a\0b"):
        with pytest.raises(ValueError, match="name of a directory"):
            deniable.state_path(name)
    with client(deniable.state_path("my-app")) as device:
        assert device.status().trouble == ""


def test_a_file_of_the_first_layout_is_taken_over_with_all_that_it_knows(tmp_path: Path) -> None:
    """It had no mark: it is known by its tables, word for word. Charges and reserves go on counting."""
    path = tmp_path / "app.db"
    lines = [
        "INSERT INTO ledger VALUES ('files', 1728000, 'one', 86400, 1000000000000, 1000000000000, 1000000000000)",
        "INSERT INTO settled VALUES ('files', 'one', 864000, 500000000000, 500000000000)",
        "INSERT INTO health VALUES ('answered', 3)",
    ]
    of_the_first_layout(path, *lines)
    with client(path, strict=True) as device:
        device.record("one", True)
        device.flush(0.2)
        assert device.status().counts == {"answered": 3, "refused by the ledger": 1}, "one and a half of two is spent"
        assert [(charge.start, charge.epsilon, charge.delta) for charge in device.ledger()] == [
            (0, 0.5, 0.0),
            (1_728_000, 1.0, 0.0),
        ]
    found = sqlite3.connect(path)
    assert found.execute("PRAGMA application_id").fetchone() == (MARK,)
    assert found.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS),)
    found.close()


def test_a_damaged_file_of_the_first_layout_is_set_aside_and_erased(tmp_path: Path) -> None:
    """Its tables are what it is known by, until it is gone."""
    path = tmp_path / "app.db"
    of_the_first_layout(path, *(f"INSERT INTO meta VALUES ('{key}', '{'x' * 500}')" for key in range(100)))
    content = bytearray(path.read_bytes())
    begin = content.index(b"x" * 400) // 4096 * 4096
    content[begin : begin + 4096] = bytes(4096)
    path.write_bytes(content)
    device = State(path, clock)
    assert device.run(lambda connection: get(connection, "lost")) == NOW
    assert (tmp_path / "app.db.damaged").read_bytes() == content
    device.erase_set_aside(NOW + 1)
    assert list(tmp_path.iterdir()) == [path]
    device.close()


WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    connection.execute("BEGIN IMMEDIATE")
    print("wrote")
except sqlite3.OperationalError as error:
    print(error)
"""


def test_opening_a_file_again_takes_nobodys_lock_away(tmp_path: Path) -> None:
    """POSIX takes all of a process's locks off a file with the first of its descriptors that is closed.

    A second client of the process, or a look at the ledger, must not let another process write into a transaction.
    """
    path = tmp_path / "app.db"
    device = State(path, clock)
    device.run(health)
    said = []

    def work(_connection: sqlite3.Connection) -> None:
        with pytest.raises(BusyError):
            State(path, clock).run(health, patience=0.0)
        looker = threading.Thread(target=lambda: read(path))
        looker.start()
        looker.join()
        said.append(subprocess.run([sys.executable, "-c", WRITER, path], capture_output=True, text=True).stdout)

    device.run(work)
    assert said == ["database is locked\n"]
    assert device.run(charges) == []
    device.close()


def test_a_database_that_is_refused_keeps_its_locks(tmp_path: Path) -> None:
    """An application gives its own database by mistake, in the middle of a transaction: nobody writes into that."""
    path = tmp_path / "app.db"
    database(path)
    own = sqlite3.connect(path, isolation_level=None)
    own.execute("BEGIN IMMEDIATE")
    with client(path) as device:
        assert "another application" in device.status().trouble
    with pytest.raises(StateError):
        read(path)
    said = subprocess.run([sys.executable, "-c", WRITER, path], capture_output=True, text=True).stdout
    own.close()
    assert said == "database is locked\n"
