"""`deniable export`: the counters of a store as a file, for another store to add."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable_aggregator.commands._command import UsageError, command
from deniable_aggregator.commands._stores import add_collections, add_store, layouts, stored

if TYPE_CHECKING:
    from deniable_aggregator.ingest import Layout
    from deniable_aggregator.moving import Exported

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable export` to the commands, with its options."""
    what = "the counters of a store as a file, which another store adds by deniable import; while it is served, too"
    parser = command(commands, "export", run, what, "europe.counters metrics.toml --data ./data")
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="where to; what is there is replaced once all is written"
    )
    add_collections(parser)
    parser.add_argument("--from", dest="from_", metavar="DAY", help="epochs from this day on, such as 2026-11-01")
    parser.add_argument("--to", metavar="DAY", help="and up to this one")
    parser.add_argument(
        "--open",
        action="store_true",
        help="epochs for which reports are still taken, too: only from a store that takes no more, since what comes "
        "later can not be brought by another file",
    )
    add_store(parser)


def run(options: Any) -> None:
    """Run `deniable export` with the options that were given."""
    own = layouts(options.collections)
    found = asyncio.run(_export(options, own, _wanted(options, own)))
    print(
        f"{options.file}: {found.counters:,} counters of {found.epochs:,} epochs, {found.doubts:,} doubts; sums alone"
    )
    if found.open and not options.open:
        print(
            f"{found.open:,} epochs are left out, for which reports are taken, or were an hour ago: export them later"
        )
    elif found.open:
        print(f"{found.open:,} epochs are open: what still comes for them can not be brought by another file")


async def _export(options: Any, own: Sequence[Layout], wanted: Callable[[Layout, int], bool]) -> Exported:
    from deniable_aggregator.moving import export

    async with stored(options) as store:
        return await export(
            store, options.file, own,
            release=version("deniable-aggregator"), wanted=wanted, with_open=options.open,
        )  # fmt: skip


def _wanted(options: Any, own: Sequence[Layout]) -> Callable[[Layout, int], bool]:
    """Which epochs are asked for."""
    from deniable_aggregator.analysis.dates import Dates, window

    spans, now = {}, time.time()
    for layout in own:
        said = Dates(start=options.from_ or "", end=options.to or "")
        try:
            found = window(
                said, layout.epoch_seconds, now, int(now // layout.epoch_seconds), ("--from", "--to", "--last")
            )
        except ValueError as error:
            raise UsageError(str(error)) from error
        first = found.last_epoch - found.epochs + 1 if options.from_ else 0
        spans[layout.digest] = range(first, found.last_epoch + 1) if found.last_epoch else range(1 << 32)
    return lambda layout, epoch: epoch in spans[layout.digest]
