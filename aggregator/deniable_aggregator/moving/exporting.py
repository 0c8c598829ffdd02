"""Counters of a store, written into a file while the store is in use.

Closed epochs, for which nothing has been accepted for an hour, are written as they will stay. Of one that is open a
file has the batches of one moment, each whole; what comes for it later can not be brought by another file, since that
would have the earlier ones again. So open epochs are written only for who asks for them: a store that takes no more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from deniable_aggregator.ingest import Calendar, Layout
from deniable_aggregator.moving.lines import MOST_COUNTERS, Lines
from deniable_aggregator.store import Counted, Doubted, EpochKey, Store

__all__ = ["Exported", "export"]

_SETTLED_SECONDS = 3600.0
"""A batch that was let in at an epoch's last moment may wait for the store yet, and clocks differ: here an epoch is
open for so much longer."""


class Exported(NamedTuple):
    """What has been written."""

    epochs: int
    open: int
    """Epochs that are accepted still, or were an hour ago: written if that was asked for, and left out otherwise."""
    doubts: int
    counters: int


class _Tally:
    """What is written, added up."""

    epochs = 0
    open = 0
    doubts = 0
    counters = 0


async def export(
    store: Store,
    file: Path,
    layouts: Sequence[Layout],
    *,
    release: str,
    wanted: Callable[[Layout, int], bool] = lambda *_: True,
    with_open: bool = False,
    calendar: Calendar | None = None,
) -> Exported:
    """Write the counters that these collections have of wanted epochs. The file is there when it is whole."""
    calendar = calendar or Calendar()
    before = replace(calendar, clock=lambda: calendar.clock() - _SETTLED_SECONDS)
    beside = file.with_name(f"{file.name}.{os.getpid()}.part")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    tally = _Tally()
    try:
        with os.fdopen(descriptor, "wb") as opened:
            lines = Lines(opened)
            lines.begin(release, simulated=await store.simulated())
            removed = await _doubts(store, lines, layouts, wanted, tally)
            for layout in sorted({own.digest: own for own in layouts}.values(), key=lambda own: own.digest):
                epochs = [
                    epoch
                    for epoch in await store.epochs(layout.digest)
                    if wanted(layout, epoch) and Doubted(layout.name, layout.epoch_seconds, epoch) not in removed
                ]
                still = before.accepted(layout).start
                closed = [epoch for epoch in epochs if epoch < still]
                tally.open += len(epochs) - len(closed)
                await _collection(store, lines, layout, epochs if with_open else closed, tally)
            lines.end()
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(beside, file)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return Exported(tally.epochs, tally.open, tally.doubts, tally.counters)


async def _doubts(
    store: Store, lines: Lines, layouts: Sequence[Layout], wanted: Callable[[Layout, int], bool], tally: _Tally
) -> set[Doubted]:
    """Write what is said of epochs; which of them are removed: their counters are nobody's."""
    by_name = {(own.name, own.epoch_seconds): own for own in layouts}
    removed: set[Doubted] = set()
    for own, doubt in sorted((await store.doubts.all()).items()):
        layout = by_name.get(own[:2])
        if layout is None or not wanted(layout, own.epoch):
            continue
        lines.say(doubt=own.epoch, collection=own.collection, epoch_seconds=own.seconds, reason=doubt.reason)
        tally.doubts += 1
        if doubt.removed:
            removed.add(own)
    return removed


async def _collection(store: Store, lines: Lines, layout: Layout, epochs: Sequence[int], tally: _Tally) -> None:
    if not epochs:
        return
    lines.say(digest=f"{layout.digest:016x}", collection=layout.name, epoch_seconds=layout.epoch_seconds)
    identity = await store.imports.identity()
    sizes = [shape.counters for _, shape in layout.columns]
    for epoch in epochs:
        key = EpochKey(layout.digest, epoch)
        columns, until = await store.snapshot(key, sizes, layout.segments)
        origins = sorted({identity, *await store.imports.origins(key)})
        if until <= 0:
            continue  # its time has come
        lines.say(epoch=epoch, until=until, origins=[each.hex() for each in origins])
        tally.epochs += 1
        for column, counted in enumerate(columns):
            tally.counters += _column(lines, column, counted)


def _column(lines: Lines, column: int, counted: Counted) -> int:
    """How many counters were written; segments and stretches without any are left out."""
    written = 0
    for segment, row in zip(counted.segments.tolist(), counted.rows, strict=True):
        for first in range(0, len(row), MOST_COUNTERS):
            counters = row[first : first + MOST_COUNTERS].tolist()
            if any(counters):
                lines.say(column=column, segment=segment, first=first, counters=counters)
                written += len(counters)
    return written
