"""A file of counters, added to a store that may be in use: exactly once, wherever it is interrupted.

The file is checked to its end before anything of it is added. Then the store remembers that this file brings these
epochs of these stores, all or nothing; then doubts are said, so that nothing is trusted for a moment that is not to
be; then parcels are added, each with an id by which it is known. Who imports the file again begins at the beginning,
and adds what is missing.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from deniable_aggregator.ingest import Calendar, Layout
from deniable_aggregator.moving.lines import LONGEST_KEPT, Beginning, Doubtful, Epoch, FileFault, Part, lines_of
from deniable_aggregator.store import (
    ID_BYTES,
    MOST_DOUBTS,
    Additions,
    Arrivals,
    Claim,
    CounterKey,
    Doubt,
    Doubted,
    EpochKey,
    Named,
    Store,
)

__all__ = ["ImportRefused", "Imported", "bring"]

_MOST_IN_A_PARCEL = 1 << 16
"""Counters."""
_FOLD_EVERY = 64
"""Parcels: what waits to be folded is bounded, and devices' batches wait behind it."""
_MOST_BYTES = 4 << 30
_BLOCK = 1 << 20
_DAY = 86_400
_SHOWN = 5


class ImportRefused(ValueError):  # noqa: N818  (what happened is the better name)
    """A file is whole, and is not for this store; nothing has been changed."""


class Imported(NamedTuple):
    """What has become of a file."""

    epochs: int
    added: int
    """Parcels that were not there."""
    known: int
    """Parcels that were."""
    over: int
    """Epochs whose time has come: their counters would be gone at once."""
    doubts: int


class _Found(NamedTuple):
    """What a file has, once it has been read to its end."""

    digest: bytes
    simulated: bool
    epochs: Sequence[Epoch]
    doubts: Mapping[Doubted, str]


class _Parcel(NamedTuple):
    epoch: Epoch
    number: int
    """Among those of its file."""
    parts: Sequence[Part]


async def bring(store: Store, file: Path, layouts: Sequence[Layout], *, calendar: Calendar | None = None) -> Imported:
    """Add a file's counters to a store; a FileFault or an ImportRefused where nothing of it was."""
    calendar = calendar or Calendar()
    by_digest = {own.digest: own for own in layouts}
    with _copied(file) as opened:
        found = _checked(opened, by_digest)
        now = int(time.time())
        there = [epoch for epoch in found.epochs if epoch.until > now + 1]
        await _check_doubts(store, found.doubts)  # first: what is claimed stays so
        await _claim(store, found, there)
        doubts = await _doubt(store, found.doubts)
        if there:
            own = {epoch.key.digest: epoch.layout for epoch in there}
            await store.known.put({digest: Named(each.name, each.epoch_seconds) for digest, each in own.items()})
        opened.seek(0)
        added = known = 0
        for parcel in _parcels(opened, by_digest):
            if parcel.epoch.until <= now + 1:
                continue
            additions = _additions(parcel.epoch.key, parcel.epoch.layout, parcel.parts)
            if additions is None:
                continue
            if await _add(store, found.digest, parcel, additions, calendar, now):
                added += 1
            else:
                known += 1
            if (added + known) % _FOLD_EVERY == 0:
                await _fold(store)
        await _fold(store)
    return Imported(len(there), added, known, len(found.epochs) - len(there), doubts)


def _copied(file: Path) -> IO[bytes]:
    """A file's copy, which nobody else changes between being checked and being added."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - it is the caller's
    try:
        with file.open("rb") as opened:
            _check_length(os.fstat(opened.fileno()).st_size)
            while block := opened.read(_BLOCK):
                copy.write(block)
                _check_length(copy.tell())
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy


def _check_length(size: int) -> None:
    if size > _MOST_BYTES:
        raise FileFault(f"the file is longer than {_MOST_BYTES >> 30} GiB: export fewer epochs at a time")


def _checked(opened: IO[bytes], layouts: Mapping[int, Layout]) -> _Found:
    """What a file has; a FileFault where anything in it is wrong."""
    simulated, epochs, doubts = False, list[Epoch](), dict[Doubted, str]()
    for line in lines_of(opened, layouts):
        if isinstance(line, bytes):
            return _Found(line, simulated, epochs, doubts)
        if isinstance(line, Beginning):
            simulated = line.simulated
        elif isinstance(line, Doubtful):
            doubts[line.doubted] = line.reason
        elif isinstance(line, Epoch):
            epochs.append(line)
    raise AssertionError("lines end with a digest, or with a fault")


async def _claim(store: Store, found: _Found, there: Sequence[Epoch]) -> None:
    """Have the store remember what the file brings, or refuse it."""
    if found.simulated != await store.simulated():
        one, other = ("simulated", "real") if found.simulated else ("real", "simulated")
        raise ImportRefused(f"it has counters of {one} devices, and this store is for {other} ones")
    identity = await store.imports.identity()
    own = [epoch for epoch in there if identity in epoch.origins]
    if own:
        raise ImportRefused(f"this store has these counters already, they are its own: {_named(own)}")
    claims = {epoch.key: Claim(epoch.origins, _longest(epoch)) for epoch in there}
    others = await store.imports.claim(found.digest, claims) if claims else {}
    if others:
        held = [epoch for epoch in there if epoch.key in others]
        raise ImportRefused(
            f"another file has brought counters of the same devices already: {_named(held)}; export the other epochs "
            "alone (--from, --to), or import into a store that has none of them"
        )


def _longest(epoch: Epoch) -> int:
    """Until when counters of an epoch can be here at all: this store may keep them for longer than theirs."""
    return min((epoch.key.epoch + 1) * epoch.layout.epoch_seconds + LONGEST_KEPT + _DAY, (1 << 32) - 1)


def _named(epochs: Sequence[Epoch]) -> str:
    shown = [f"epoch {epoch.key.epoch} of {epoch.layout.name}" for epoch in epochs[:_SHOWN]]
    more = f" and {len(epochs) - _SHOWN} more" if len(epochs) > _SHOWN else ""
    return ", ".join(shown) + more


async def _check_doubts(store: Store, doubts: Mapping[Doubted, str]) -> None:
    if len({*doubts, *await store.doubts.all()}) > MOST_DOUBTS:
        raise ImportRefused(
            f"it doubts {len(doubts)} epochs, and this store can have {MOST_DOUBTS} doubts in all: withdraw what is "
            "no longer doubted, there or here (deniable doubt), or export fewer epochs at a time (--from, --to)"
        )


async def _doubt(store: Store, doubts: Mapping[Doubted, str]) -> int:
    """Doubt what was doubted where the counters come from, unless something is said of it here."""
    here = await store.doubts.all()
    new = {own: Doubt(reason) for own, reason in doubts.items() if own not in here}
    if new:
        await store.doubts.put(new)
    return len(new)


def _parcels(opened: IO[bytes], layouts: Mapping[int, Layout]) -> Iterator[_Parcel]:
    """What is added at once: the same of the same file, whenever it is read."""
    epoch: Epoch | None = None
    parts: list[Part] = []
    number = size = 0
    for line in lines_of(opened, layouts):
        full = isinstance(line, Part) and size + len(line.counters) > _MOST_IN_A_PARCEL
        if parts and (full or not isinstance(line, Part)):
            assert epoch is not None
            yield _Parcel(epoch, number, parts)
            number, size, parts = number + 1, 0, []
        if isinstance(line, Epoch):
            epoch = line
        elif isinstance(line, Part):
            parts.append(line)
            size += len(line.counters)


async def _add(
    store: Store, digest: bytes, parcel: _Parcel, additions: Additions, calendar: Calendar, now: int
) -> bool:
    """Whether it was added; it may have been before."""
    key, layout = parcel.epoch.key, parcel.epoch.layout
    parcel_id = hashlib.sha256(digest + parcel.number.to_bytes(8, "big")).digest()[:ID_BYTES]
    remember, _ = calendar.lifetimes(layout, key.epoch)
    return await store.merge(key, Arrivals([parcel_id], max(remember, _DAY), parcel.epoch.until - now), additions)


def _additions(key: EpochKey, layout: Layout, parts: Sequence[Part]) -> Additions | None:
    """They as the store takes them; None where there is nothing but zeros."""
    keys: list[CounterKey] = []
    numbers, counters, amounts = [], [], []
    for part in parts:
        values = np.array(part.counters, dtype=np.int64)
        (places,) = np.nonzero(values)
        if not len(places):
            continue
        own = CounterKey(key.digest, part.column, key.epoch, part.segment)
        if not keys or keys[-1] != own:
            keys.append(own)
        numbers.append(np.full(len(places), len(keys) - 1))
        counters.append(places + part.first)
        amounts.append(values[places])
    if not keys:
        return None
    sizes = [layout.columns[own.column][1].counters for own in keys]
    return Additions.checked(keys, sizes, np.concatenate(numbers), np.concatenate(counters), np.concatenate(amounts))


async def _fold(store: Store) -> None:
    for shard in range(store.shards):
        await store.fold(shard)
