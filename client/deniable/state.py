"""The device's file: one SQLite database that holds the ledger, the memo, the queue and the current epoch's values.

words:
  transaction   everything in it is in the file, or nothing of it is
  health        how often what has happened to this device's answers; counts, never values

Only its owner can read the file. What is deleted is overwritten (`secure_delete`), and there is no write-ahead
log to keep a copy. A transaction is on the disk when it has ended (`synchronous = FULL`). Several processes of one
application can share the file. A connection never crosses a fork: the child leaves the parent's alone, for
closing it could roll back what the parent is writing, and opens its own.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deniable.errors import StateError

__all__ = ["State", "count"]

SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE memo (key BLOB PRIMARY KEY, remembered BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE raw (
    digest TEXT, metric TEXT, epoch INTEGER, state TEXT NOT NULL,
    PRIMARY KEY (digest, metric, epoch)) WITHOUT ROWID;
CREATE TABLE ledger (
    collection TEXT, metric TEXT, start INTEGER, seconds INTEGER NOT NULL, cost INTEGER NOT NULL,
    PRIMARY KEY (collection, metric, start)) WITHOUT ROWID;
CREATE TABLE queue (
    batch_id BLOB PRIMARY KEY, request BLOB NOT NULL, due REAL NOT NULL, leased_until REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE health (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
"""
_BUSY_SECONDS = 10.0
_abandoned: list[sqlite3.Connection] = []
"""Connections that belong to a parent process: kept, so that nothing closes them here."""


class State:
    """The device's file, or for `path=None` the same in memory."""

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            if self.path is not None:
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
                self.path.chmod(0o600)
            connection = sqlite3.connect(
                self.path or ":memory:",
                timeout=_BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            self._migrate(connection)
        except (OSError, sqlite3.Error) as error:
            raise StateError(f"{self.path}: can not be used as a state file: {error}") from error
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA_VERSION:
            connection.execute("ROLLBACK")
            raise StateError(f"{self.path}: written by a newer version of deniable (schema {version})")
        if version < 1:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection inside a transaction; an exception undoes it."""
        with self._lock:
            if self._connection is None:
                self._connection = self._open()
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def health(self) -> dict[str, int]:
        """How often what has happened."""
        with self.transaction() as connection:
            return dict(connection.execute("SELECT name, count FROM health"))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def after_fork(self) -> None:
        """In the child: leave the parent's connection and lock alone."""
        self._lock = threading.RLock()
        if self._connection is not None:
            _abandoned.append(self._connection)
            self._connection = None


def count(connection: sqlite3.Connection, name: str, times: int = 1) -> None:
    """Count what has happened, within a transaction."""
    if times:
        connection.execute(
            "INSERT INTO health VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET count = count + excluded.count",
            (name, times),
        )
