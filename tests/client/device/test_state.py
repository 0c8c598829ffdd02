"""The device's file: all or nothing, owner only, erased what is deleted, brought up to date, shared by processes."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from deniable import StateError
from deniable.device import schema
from deniable.device.state import State, count, get, health, put, reading
from support.state_files import filled, opened, tick, ticks
from support.waiting import PATIENCE, soon


def test_work_that_fails_leaves_nothing() -> None:
    """An exception undoes all that was done before it, and the next work finds the file as it was."""
    device = State(None)
    device.run(tick)

    def work(connection: sqlite3.Connection) -> None:
        count(connection, "ticks", 5)
        put(connection, "half", "done")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        device.run(work)
    assert ticks(device) == 1
    assert device.run(lambda connection: get(connection, "half")) is None


def test_only_its_owner_reads_the_file(tmp_path: Path) -> None:
    """It is made for the owner alone, whatever the umask; a file that was open to others is closed to them."""
    path = tmp_path / "device.db"
    before = os.umask(0)
    try:
        opened(path).run(tick)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o666)
    opened(path).run(tick)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_journal_is_the_owners_too(tmp_path: Path) -> None:
    """While something is written, what it replaces is in a file that nobody else reads either."""
    path, seen = tmp_path / "device.db", list[int]()
    device = opened(path)
    device.run(tick)

    def work(connection: sqlite3.Connection) -> None:
        tick(connection)
        connection.execute("PRAGMA cache_spill = 1")
        seen.extend(entry.stat().st_mode for entry in tmp_path.iterdir())

    device.run(work)
    assert len(seen) == 2
    assert {stat.S_IMODE(mode) for mode in seen} == {0o600}


def test_what_is_deleted_is_overwritten(tmp_path: Path) -> None:
    """No trace of it is left in the file, and no journal after a transaction."""
    path = tmp_path / "device.db"
    device = opened(path)
    secret = "a value that must not stay"
    device.run(lambda connection: put(connection, "value", secret * 50))
    assert secret.encode() in path.read_bytes()
    device.run(lambda connection: connection.execute("DELETE FROM meta"))
    assert secret.encode() not in path.read_bytes()
    assert list(tmp_path.iterdir()) == [path]


def test_a_transaction_is_on_the_disk_when_it_has_ended(tmp_path: Path) -> None:
    """The file, its journal, and the journal's removal: a power failure does not give back what was spent."""
    device = opened(tmp_path / "device.db")
    expected = {"synchronous": 3, "journal_mode": "delete", "secure_delete": 1, "temp_store": 2}

    def pragmas(connection: sqlite3.Connection) -> dict[str, object]:
        return {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in expected}

    assert device.run(pragmas) == expected


def test_its_directory_is_made(tmp_path: Path) -> None:
    """An application's directory may not be there at its first start."""
    opened(tmp_path / "new" / "directory" / "device.db").run(tick)


def test_a_file_of_an_older_version_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has is kept, and a migration happens once however many processes see the old file."""
    path = tmp_path / "device.db"
    device = opened(path)
    device.run(tick)
    device.close()
    later = "CREATE TABLE more (number INTEGER); INSERT INTO more VALUES (1)"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, later))
    devices = [opened(path) for _ in range(4)]
    threads = [threading.Thread(target=each.run, args=(tick,)) for each in devices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ticks(opened(path)) == 5
    assert opened(path).run(lambda connection: connection.execute("SELECT * FROM more").fetchall()) == [(1,)]
    with reading(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS),)


def test_batches_of_the_first_version_are_kept(tmp_path: Path) -> None:
    """They end when their reports' epoch did, and may have been sent: their ids stay."""
    path = tmp_path / "device.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema.MIGRATIONS[0])
        connection.execute("INSERT INTO queue VALUES (?, 'c', X'00', 9000.5)", (b"with a transcript",))
        connection.execute("INSERT INTO queue VALUES (?, 'c', X'00', 9000.5)", (b"without",))
        entry = (b"with a transcript", "sent", "c", "m", 3600, 3600, 1, "a", "b")
        connection.execute("INSERT INTO transcript VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", entry)
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    query = "SELECT batch_id, request, due, ends, failures, unanswered FROM queue ORDER BY batch_id"
    found = opened(path).run(lambda connection: connection.execute(query).fetchall())
    assert found == [(b"with a transcript", b"\0", 9000.5, 7200, 0, 1), (b"without", b"\0", 9000.5, 9000, 0, 1)]


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old version goes on with its file."""
    path, migrations = tmp_path / "device.db", schema.MIGRATIONS
    device = opened(path)
    device.run(tick)
    monkeypatch.setattr(schema, "MIGRATIONS", (*migrations, "CREATE TABLE more (number INTEGER); SELECT nonsense"))
    with pytest.raises(StateError):
        opened(path).run(tick)
    monkeypatch.setattr(schema, "MIGRATIONS", migrations)
    assert ticks(opened(path)) == 1


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    """An application that was downgraded neither reads nor changes what it does not understand."""
    path = tmp_path / "device.db"
    opened(path).run(lambda connection: connection.execute("PRAGMA user_version = 99"))
    before = path.read_bytes()
    with pytest.raises(StateError, match="newer version"):
        opened(path).run(tick)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_half_done_is_undone(tmp_path: Path) -> None:
    """Its journal is played back by whoever opens the file next."""
    path, journal = tmp_path / "device.db", tmp_path / "device.db-journal"
    device, warnings = opened(path), list[str]()
    device.run(filled)
    half_done: list[bytes] = []

    def work(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA cache_size = 1")  # so that pages are written before the end
        connection.execute("UPDATE meta SET value = 'y'")
        half_done.extend((path.read_bytes(), journal.read_bytes()))

    device.run(work)
    device.close()
    path.write_bytes(half_done[0])
    journal.write_bytes(half_done[1])
    assert opened(path, warnings).run(lambda connection: get(connection, "key 1")) == "x" * 500
    assert warnings == []


def test_a_file_that_can_not_be_written_is_an_error_that_says_why(tmp_path: Path) -> None:
    """And nothing else: the work has not been done, and the next work tries again."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    device = opened(blocked / "device.db")
    with pytest.raises(StateError, match="device"):
        device.run(tick)
    blocked.unlink()
    device.run(tick)
    assert ticks(device) == 1


FULL = """
import resource, sys
from deniable import StateError
from deniable.device.state import State, health, put, count
device = State(sys.argv[1])
device.run(lambda connection: count(connection, "ticks"))
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
try:
    device.run(lambda connection: (put(connection, "much", "x" * 200_000), count(connection, "ticks")))
    raise SystemExit("written beyond the limit")
except StateError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
device.run(lambda connection: count(connection, "ticks"))
assert device.run(health) == {"ticks": 2}
"""


def test_a_disk_without_room_undoes_the_work(tmp_path: Path) -> None:
    """Where the system refuses to let the file grow, it stays as it was; with room again all goes on."""
    ran = subprocess.run([sys.executable, "-c", FULL, tmp_path / "device.db"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "device.db" in ran.stdout


def test_work_waits_for_other_processes_as_long_as_it_has_patience(tmp_path: Path) -> None:
    """A file in use is waited for; in use for longer is an error."""
    path = tmp_path / "device.db"
    device = opened(path)
    device.run(tick)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StateError, match="locked"):
        device.run(tick, patience=0.1)
    timer = threading.Timer(0.3, other.rollback)
    timer.start()
    device.run(tick)
    timer.join()
    other.close()
    assert ticks(device) == 2


def test_a_wait_does_not_hold_up_a_fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for another process lets go of the file again and again, so that a fork gets through."""
    path = tmp_path / "device.db"
    device = opened(path)
    device.run(tick)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    tries, transact = [0], device._transact

    def tried(work: Callable[[sqlite3.Connection], object]) -> object:
        tries[0] += 1
        return transact(work)

    monkeypatch.setattr(device, "_transact", tried)
    waiting = threading.Thread(target=device.run, args=(tick, PATIENCE))
    waiting.start()
    soon(lambda: tries[0] > 3)
    device.before_fork()  # returns, though the file is still locked
    device.after_fork_in_parent()
    other.rollback()
    other.close()
    waiting.join()
    assert ticks(device) == 2


WRITER = """
import sys
from deniable.device.state import BusyError, State, count

device, done = State(sys.argv[1]), 0
while done < 100:
    try:
        device.run(lambda connection: count(connection, "ticks"))
        done += 1
    except BusyError:  # on a machine that is slow enough the others have it for longer than is waited
        pass
"""


def test_processes_share_a_file(tmp_path: Path) -> None:
    """Four processes that write at the same time lose nothing."""
    path = tmp_path / "device.db"
    processes = [subprocess.Popen([sys.executable, "-c", WRITER, path]) for _ in range(4)]
    assert [process.wait(PATIENCE) for process in processes] == [0] * 4
    assert ticks(opened(path)) == 400


def test_a_file_can_be_looked_at_without_writing(tmp_path: Path) -> None:
    """Reading changes nothing, writing fails, and what is no state file is called that."""
    path = tmp_path / "device.db"
    opened(path).run(tick)
    before = path.read_bytes()
    with reading(path) as connection:
        assert health(connection) == {"ticks": 1}
    with pytest.raises(StateError, match="read as a state file"), reading(path) as connection:
        tick(connection)
    assert path.read_bytes() == before
    with pytest.raises(StateError, match="nowhere"), reading(tmp_path / "nowhere.db"):
        pass
    other = tmp_path / "other.db"
    other.write_text("something else")
    with pytest.raises(StateError, match="other"), reading(other):
        pass
