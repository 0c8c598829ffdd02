"""The layout of a state file, in every version that has been shipped.

words:
  version     how many of the migrations a file has seen
  migration   what makes a file of one version one of the next
"""

from __future__ import annotations

import sqlite3

from deniable.errors import StateError

__all__ = ["MIGRATIONS", "check_version", "migrate", "version_of"]

MIGRATIONS = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
    CREATE TABLE memo (
        number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, question BLOB NOT NULL, place INTEGER NOT NULL,
        remembered BLOB NOT NULL);
    CREATE TABLE raw (
        collection TEXT, digest TEXT, metric TEXT, epoch INTEGER, ends INTEGER NOT NULL, state TEXT NOT NULL,
        PRIMARY KEY (collection, digest, metric, epoch)) WITHOUT ROWID;
    CREATE TABLE ledger (
        collection TEXT, start INTEGER, metric TEXT, seconds INTEGER NOT NULL, cost INTEGER NOT NULL,
        share INTEGER NOT NULL, reserve INTEGER NOT NULL,
        PRIMARY KEY (collection, start, metric)) WITHOUT ROWID;
    CREATE TABLE settled (
        collection TEXT, metric TEXT, ends INTEGER NOT NULL, cost INTEGER NOT NULL, reserve INTEGER NOT NULL,
        PRIMARY KEY (collection, metric)) WITHOUT ROWID;
    CREATE TABLE queue (
        batch_id BLOB PRIMARY KEY, collection TEXT NOT NULL, request BLOB NOT NULL, due REAL NOT NULL) WITHOUT ROWID;
    CREATE TABLE transcript (
        number INTEGER PRIMARY KEY, batch_id BLOB, fate TEXT NOT NULL, collection TEXT NOT NULL, metric TEXT NOT NULL,
        start INTEGER NOT NULL, seconds INTEGER NOT NULL, cost INTEGER NOT NULL,
        answer TEXT NOT NULL, conclusion TEXT NOT NULL);
    CREATE TABLE health (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
    """,
    """
    CREATE TABLE charge (
        start INTEGER, metric TEXT, collection TEXT, seconds INTEGER NOT NULL,
        cost INTEGER NOT NULL, share INTEGER NOT NULL, reserve INTEGER NOT NULL,
        delta_cost INTEGER NOT NULL, delta_share INTEGER NOT NULL, delta_reserve INTEGER NOT NULL,
        PRIMARY KEY (start, metric, collection)) WITHOUT ROWID;
    INSERT INTO charge SELECT start, metric, collection, seconds, cost, share, reserve, 0, 0, 0 FROM ledger;
    DROP TABLE ledger;
    CREATE TABLE ledger (
        collection TEXT, start INTEGER, metric TEXT, seconds INTEGER NOT NULL, cost INTEGER NOT NULL,
        share INTEGER NOT NULL, reserve INTEGER NOT NULL,
        PRIMARY KEY (collection, start, metric), CHECK (0)) WITHOUT ROWID;
    CREATE TABLE settled_charge (
        collection TEXT, metric TEXT, ends INTEGER NOT NULL, cost INTEGER NOT NULL, reserve INTEGER NOT NULL,
        delta_cost INTEGER NOT NULL, delta_reserve INTEGER NOT NULL,
        PRIMARY KEY (collection, metric)) WITHOUT ROWID;
    INSERT INTO settled_charge SELECT collection, metric, ends, cost, reserve, 0, 0 FROM settled;
    DELETE FROM settled;
    ALTER TABLE transcript ADD COLUMN delta_cost INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE question (metric TEXT, question BLOB, PRIMARY KEY (metric, question)) WITHOUT ROWID;
    PRAGMA application_id = 1156127409;
    """,
    """
    ALTER TABLE queue ADD COLUMN ends INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE queue ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE queue ADD COLUMN unanswered INTEGER NOT NULL DEFAULT 1;
    UPDATE queue SET ends = coalesce(
        (SELECT max(start + seconds) FROM transcript WHERE transcript.batch_id = queue.batch_id),
        CAST(due AS INTEGER));
    DELETE FROM meta WHERE key = 'failures';
    """,
    """
    CREATE TABLE former (question BLOB, former BLOB, PRIMARY KEY (question, former)) WITHOUT ROWID;
    """,
    """
    CREATE TABLE coin (
        collection TEXT, start INTEGER, seconds INTEGER, word BLOB NOT NULL,
        PRIMARY KEY (collection, start, seconds)) WITHOUT ROWID;
    """,
)
"""What makes a file of version n one of version n + 1; a file that has been shipped is never written otherwise.

A process of an earlier version may have the file open. `ledger`, which nobody can write to any more, is there for it:
it is refused, looks again and finds that the file is of a newer version. A table that had other columns or were gone
would be damage to it, and it would set the file aside. So `raw.digest` keeps its name: since version 4 it has the
identity of the metric, and before that it had the digest of the collection."""


def version_of(connection: sqlite3.Connection) -> int:
    """The version of a file; 0 of one that has nothing yet."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def check_version(connection: sqlite3.Connection) -> int:
    """The version of a file; a newer one is none of ours to write to, and may have come while we had it open."""
    version = version_of(connection)
    if version > len(MIGRATIONS):
        raise StateError(f"the state file was written by a newer version of deniable (schema {version})")
    return version


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a file to the newest version, within a transaction of the caller's."""
    for migration in MIGRATIONS[check_version(connection) :]:
        for statement in migration.split(";"):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
