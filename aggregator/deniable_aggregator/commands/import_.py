"""`deniable import`: a file of counters, added to a store."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable_aggregator.commands._command import UsageError, command
from deniable_aggregator.commands._stores import (
    add_collections,
    add_durability,
    add_store,
    check_durability,
    layouts,
    stored,
)

if TYPE_CHECKING:
    from deniable_aggregator.moving import Imported

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable import` to the commands, with its options."""
    what = "a file of deniable export, added to a store: once, however often it is imported; while it is served, too"
    parser = command(commands, "import", run, what, "europe.counters metrics.toml --data ./data")
    parser.add_argument("file", type=Path, metavar="FILE", help="checked to its end before anything of it is added")
    add_collections(parser)
    add_store(parser)
    add_durability(parser, "what is added")


def run(options: Any) -> None:
    """Run `deniable import` with the options that were given."""
    check_durability(options)
    try:
        found = asyncio.run(_bring(options))
    except ValueError as error:  # nothing of the file has been added
        raise UsageError(f"{options.file}: {error}") from error
    if found.added:
        print(f"added counters of {found.epochs:,} epochs")
    elif not found.known:
        print(f"nothing is added: the file has no counters{' that would be kept' if found.over else ''}")
    else:
        print(f"nothing is added: all counters of {found.epochs:,} epochs have been imported before")
    if found.added and found.known:
        print(
            f"{found.known:,} of {found.added + found.known:,} parcels were there: an import of this file had begun"
        )
    if found.over:
        print(f"{found.over:,} epochs are left out: their counters would be kept no longer")
    if found.doubts:
        print(f"{found.doubts:,} epochs are doubted, as they were where the counters come from")


async def _bring(options: Any) -> Imported:
    from deniable_aggregator.moving import bring

    own = layouts(options.collections)
    async with stored(options, options.durability) as store:
        return await bring(store, options.file, own)
