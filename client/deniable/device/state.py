"""The device's file: one SQLite database that holds the ledger, the memo, the queue and the current epoch's values.

words:
  run         do some work in one transaction: all of it is in the file, or nothing of it
  set aside   a damaged file is renamed to NAME.damaged, erased when the epoch has ended, and a new one is begun
  lost        a file that is begun in the place of another knows nothing of what that one spent and remembered: it
              refuses to spend anything on the epoch in which it was begun, or on any before (`not_before`), and
              until somebody says so (`start_over`) anything on what has a memory or the budget of a lifetime
  health      how often what has happened to this device's answers; counts, never values

Only its owner can read the file. What is deleted is overwritten (`secure_delete`), there is no write-ahead log to
keep a copy, and nothing spills to temporary files. A transaction is on the disk when it has ended, the removal of
its journal too (`synchronous = EXTRA`): what was sent has been charged even where the power fails. Several processes
of one application can share the file. No connection crosses a fork: it is closed before, and opened anew on both
sides. What is not ours is refused and left as it is (see statefile.py).

A file that can not be written (a full disk, a read-only directory) makes `run` fail, and nothing else: what is to be
written stays with the caller. Nothing is ever answered on a ledger that is not on the disk.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from deniable._paths import why
from deniable.device import schema, statefile
from deniable.errors import StateError

__all__ = ["BusyError", "State", "count", "forget", "get", "health", "lost", "put", "reading", "start_over"]

_Result = TypeVar("_Result")

_LONGEST_READ = 1 << 24
"""Longer texts are none of ours: who only looks does not load them."""
_BUSY_SECONDS = 0.05
"""How long SQLite waits for another process with our lock held: a fork has to wait as long."""
_PATIENCE_SECONDS = 10.0
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}

_opening = threading.Lock()
"""Held while a file is opened, closed, or found out to be ours."""
_connected: weakref.WeakSet[State] = weakref.WeakSet()
"""Those that have their files open. Whoever opens and closes such a file otherwise, if only to look at it, takes all
locks of SQLite's off it: so files that this process has open are not looked at again."""


def _forget_connected() -> None:
    global _opening  # noqa: PLW0603
    _opening = threading.Lock()
    _connected.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_connected)


def _is_known(found: statefile.Identity | None) -> bool:
    """Whether this process has that file open, and so has found out that it is ours."""
    return found is not None and any(state.identity == found for state in _connected)


class BusyError(StateError):
    """Another process, or thread, has held the file for longer than there was patience."""


class _DamagedError(StateError):
    """The file has something in it that was never written there."""


class State:
    """The device's file, or for `path=None` the same in memory."""

    def __init__(
        self,
        path: str | Path | None,
        clock: Callable[[], float] = time.time,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.path = None if path is None else statefile.absolute(path)
        self._name = "the state in memory" if path is None else str(path)
        self._clock = clock
        self._warn = warn
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self.identity: statefile.Identity | None = None
        """Which file this state has opened last."""
        self._checked = False
        self._lost = False
        self._ended = False

    def run(self, work: Callable[[sqlite3.Connection], _Result], patience: float = _PATIENCE_SECONDS) -> _Result:
        """Do the work in a transaction; an exception undoes it. It is done again where the file has to be begun anew.

        StateError where the file can not be used, or is in use for longer than `patience` seconds.
        """
        end = time.monotonic() + patience
        mended = False
        while True:
            try:
                with self._lock:
                    return self._transact(work)
            except _DamagedError as error:
                if mended:
                    raise
                mended = True
                self._set_aside(str(error))
            except sqlite3.Error as error:
                if _code(error) not in _BUSY:
                    raise StateError(f"{self._name}: {error}") from error
                if time.monotonic() >= end:
                    raise BusyError(f"{self._name}: {error}") from error
                time.sleep(0.01)
            except OSError as error:
                raise StateError(f"{self._name}: {error}") from error

    def _transact(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        damaged = _DAMAGED
        try:
            connection = self._open()
            damaged = _DAMAGED | {sqlite3.SQLITE_ERROR}  # from here on no statement is wrong, unless the schema is
            connection.execute("BEGIN IMMEDIATE")
            try:
                schema.check_version(connection)
                result = work(connection)
                connection.execute("COMMIT")
            finally:
                connection.rollback()  # does nothing after a commit
        except sqlite3.Error as error:
            code = _code(error)
            if code not in _BUSY:
                self._let_go()
            if code in damaged and self.path is not None:
                raise _DamagedError(f"{self._name}: {error}") from error
            raise
        except UnicodeDecodeError as error:
            raise _DamagedError(f"{self._name}: {error}") from error
        if self._ended:
            self._let_go()
        return result

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and (self.path is None or self.identity == statefile.look(self.path)):
            return self._connection
        if self.path is None:
            self._connection = connection = self._connect(":memory:")
            _migrate(connection)
            return connection
        self._let_go()
        before = self.identity
        with _opening:
            connection = self._open_ours(self.path)
        try:
            if not self._checked:
                _check(connection)
            _migrate(connection, self._clock() if self._lost else None)
            if before not in {None, self.identity} and get(connection, "not_before") is None:
                _migrate(connection, self._clock())  # it took the place of the one in use, and does not know it
        except BaseException:
            self._let_go()
            raise
        self._checked, self._lost = True, False
        return connection

    def _open_ours(self, path: Path) -> sqlite3.Connection:
        """Connect to the file, which is begun where there is none; StateError where it is not ours."""
        found = statefile.look(path)
        if found is None and self.identity is not None:
            self._lost = True  # removed while in use, and what it knew with it
        if found is None or not _is_known(found):
            found, lost = statefile.prepare(path, schema.MIGRATIONS[0])
            self._lost = self._lost or lost
        self.identity = found
        self._connection = connection = self._connect(path)
        _connected.add(self)
        return connection

    def _connect(self, where: str | Path) -> sqlite3.Connection:
        connection = sqlite3.connect(where, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            if self.path is not None and statefile.look(self.path) != self.identity:
                raise BusyError(f"{self.path}: another file has just taken its name")
            for pragma in (
                "journal_mode = DELETE",
                "synchronous = EXTRA",
                "secure_delete = ON",
                "temp_store = MEMORY",
            ):
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_aside(self, reason: str) -> None:
        with self._lock:
            self._let_go()
            self._checked = False
            assert self.path is not None
            with _opening:
                if self.identity != statefile.look(self.path):
                    return  # another process was faster
                statefile.set_aside(self.path, schema.MIGRATIONS[0], self._clock())
            self._lost = True
        self._warn(
            f"{reason}: set aside as {self.path}.damaged until the epoch ends; what it knew of this device's "
            "spending is lost, and so nothing is answered for this epoch"
        )

    def erase_set_aside(self, before: float) -> None:
        """Overwrite and remove what was set aside before a time: it has values in it."""
        if self.path is not None:
            statefile.erase(self.path, schema.MIGRATIONS[0], before)

    def close(self) -> None:
        """Close the file; who still runs something opens it for as long as that takes. What was in memory is gone."""
        with self._lock:
            self._ended = True
            if self.path is None and self._connection is not None:
                self._connection.close()
                self._connection = None
            self._let_go()

    def _let_go(self) -> None:
        """Close the file until it is needed again; what is in memory stays."""
        if self._connection is not None and self.path is not None:
            with _opening:
                self._connection.close()
                self._connection = None
                _connected.discard(self)

    def before_fork(self) -> None:
        """Let no connection, and no lock of SQLite's, cross the fork."""
        self._lock.acquire()
        self._let_go()

    def after_fork_in_parent(self) -> None:
        """Let the file be used again after a fork."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Let the file be used in a child, with a lock that nobody holds; what was in memory stays the parent's."""
        self._lock = threading.RLock()
        self._connection = None


def _code(error: sqlite3.Error) -> int:
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)  # not every error of the module has one
    return code & 0xFF


def _check(connection: sqlite3.Connection) -> None:
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise _DamagedError(f"the state file is damaged: {found}")


def _migrate(connection: sqlite3.Connection, lost_at: float | None = None) -> None:
    if schema.version_of(connection) == len(schema.MIGRATIONS) and lost_at is None:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        schema.migrate(connection)
        if lost_at is not None:
            put(connection, "not_before", max(lost_at, get(connection, "not_before") or 0.0))
            put(connection, "lost", lost_at)
        connection.execute("COMMIT")
    finally:
        connection.rollback()


@contextmanager
def reading(path: str | Path) -> Iterator[sqlite3.Connection]:
    """Look into a state file: for those who show it to the person that it belongs to.

    Nothing is written but what a process that died has left half done, which SQLite undoes when it opens the file.
    """
    whole = Path(path).absolute()
    try:
        with _opening:
            found = statefile.look(whole)
            if not _is_known(found):
                statefile.require_ours(whole, schema.MIGRATIONS[0])
        with closing(sqlite3.connect(f"{whole.as_uri()}?mode=rw", uri=True)) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_READ)
            if (version := schema.version_of(connection)) != len(schema.MIGRATIONS):
                raise StateError(
                    f"{path}: written by another version of deniable (schema {version}, here "
                    f"{len(schema.MIGRATIONS)}); start the application once with this one, or look with that one"
                )
            yield connection
    except statefile.StrangerError as error:
        raise StateError(f"{path}: can not be read as a state file: {error.what}") from error
    except (sqlite3.Error, OSError) as error:
        raise StateError(f"{path}: can not be read as a state file: {why(error)}") from error


def get(connection: sqlite3.Connection, key: str) -> Any:
    """One thing that the file knows by name."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else row[0]


def put(connection: sqlite3.Connection, key: str, value: float | str | bytes) -> None:
    """Keep one thing under a name."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def lost(connection: sqlite3.Connection) -> bool:
    """Whether what was spent and remembered before this file was begun is not known, and nobody has said to go on."""
    return get(connection, "lost") is not None


def start_over(connection: sqlite3.Connection) -> None:
    """Go on with a ledger and a memo that begin at nothing."""
    if lost(connection):
        connection.execute("DELETE FROM meta WHERE key = 'lost'")
        count(connection, "started over")


def count(connection: sqlite3.Connection, name: str, times: int = 1) -> None:
    """Count something that has happened to this device's answers."""
    if times:
        connection.execute(
            "INSERT INTO health VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET count = count + excluded.count",
            (name, times),
        )


def health(connection: sqlite3.Connection) -> dict[str, int]:
    """What has happened to this device's answers, and how often."""
    return dict(connection.execute("SELECT name, count FROM health ORDER BY name"))


def forget(connection: sqlite3.Connection) -> None:
    """Forget all counts, and when the last batch left."""
    connection.execute("DELETE FROM health")
    connection.execute("DELETE FROM meta WHERE key = 'left'")
