"""A copy of an embedded store, made while it is used: a directory that an aggregator can be given as its own.

The server writes down what it has at one moment, ids and counters together: whatever batch is in the copy is known
there, and one that is sent to it again is not counted again. The copy has been opened once before it has its name, so
a directory of that name is one that can be gone on with.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from deniable_aggregator.store.embedded import EmbeddedStore, reached, require_begun
from deniable_aggregator.store.errors import StoreError
from deniable_aggregator.store.store import Store

__all__ = ["Backup", "back_up"]

_SNAPSHOT = "dump.rdb"
_FILES = "appendonlydir"
_BASE = "appendonly.aof.1.base.rdb"
_MANIFEST = "appendonly.aof.manifest"
"""What the server calls what it begins with, and its list of files."""
_POLL_SECONDS = 0.05


class Backup(NamedTuple):
    """A copy that was made."""

    bytes: int
    collections: int
    """Of how many it has heard."""


async def back_up(data: Path, copy: Path) -> Backup:
    """Copy the store of a directory into another one, which is not there; a StoreError where that can not be."""
    if await asyncio.to_thread(os.path.lexists, copy):
        raise StoreError(f"{copy} is there already: name a directory that is not, such as one of today")
    await asyncio.to_thread(require_begun, data)
    beside = copy.with_name(f"{copy.name}.{os.getpid()}.part")
    try:
        with _alone(data):
            async with reached(data) as url:
                await _save(url)
            await asyncio.to_thread(_move, data / _SNAPSHOT, beside / _FILES)
        found = await _opened(beside)
        os.rename(beside, copy)
        _sync(copy.parent)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return found


@contextlib.contextmanager
def _alone(data: Path) -> Iterator[None]:
    """While one backup of a directory is made, no other is: there is one snapshot."""
    lock = os.open(data / "backup.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise StoreError(f"another backup of {data} is being made") from None
    finally:
        os.close(lock)


async def _save(url: str) -> None:
    """Have the server write down what it has now."""
    store = await Store.begun(url)
    try:
        (before,) = await store.conditions()
        while before.number("rdb_bgsave_in_progress"):  # that one began before
            await asyncio.sleep(_POLL_SECONDS)
            (before,) = await store.conditions()
        await store.save()
        now = before
        while now.number("rdb_saves") == before.number("rdb_saves") or now.number("rdb_bgsave_in_progress"):
            await asyncio.sleep(_POLL_SECONDS)  # it has not begun, or not ended
            (now,) = await store.conditions()
        if now.info.get("rdb_last_bgsave_status") != "ok":
            raise StoreError("the store can not write a snapshot: is there room on its disk? valkey.log says more")
    finally:
        await store.close()


def _move(snapshot: Path, files: Path) -> None:
    """Make a snapshot the beginning of a store's files."""
    files.parent.mkdir(mode=0o700, parents=True)
    files.mkdir(mode=0o700)
    shutil.move(snapshot, files / _BASE)
    (files / _BASE).chmod(0o600)
    (files / _MANIFEST).write_text(f"file {_BASE} seq 1 type b\n")
    for each in (files / _BASE, files / _MANIFEST, files, files.parent):
        _sync(each)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


async def _opened(copy: Path) -> Backup:
    """What a copy has, by a server that has loaded it."""
    size = (copy / _FILES / _BASE).stat().st_size
    embedded = EmbeddedStore(copy)
    await embedded.start()
    try:
        store = await Store.begun(embedded.url)
        try:
            return Backup(size, len(await store.known.all()))
        finally:
            await store.close()
    finally:
        await embedded.stop()
