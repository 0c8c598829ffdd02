"""What commands share that reach a store themselves, while an aggregator uses it or not."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable_aggregator.commands._command import Parser, UsageError

if TYPE_CHECKING:
    from deniable_aggregator.ingest import Layout
    from deniable_aggregator.store import Durability, Store

__all__ = ["add_collections", "add_durability", "add_store", "check_durability", "layouts", "stored"]


def add_store(parser: Parser) -> None:
    """Which store."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--data", type=Path, default=Path("deniable-data"),
                       help="the aggregator's directory, as deniable serve was given it (%(default)s)")  # fmt: skip
    where.add_argument("--redis", metavar="URL", help="its own Redis or Valkey, as deniable serve was given it")


def add_durability(parser: Parser, what: str) -> None:
    """What something has to have survived."""
    parser.add_argument(
        "--durability",
        type=_durability,
        default="fsync",
        metavar="memory|fsync|replicated[:N]",
        help=f"what {what} has to have survived before it is acknowledged, with --redis (%(default)s)",
    )


def _durability(text: str) -> Durability:
    from deniable_aggregator.store import Durability, Promise

    level, colon, replicas = text.partition(":")
    try:
        if colon and level != Promise.REPLICATED.value:
            raise ValueError(text)
        return Durability(Promise(level), int(replicas) if colon else 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"is memory, fsync, replicated or replicated:N, not {text!r}") from None


def check_durability(options: Any) -> None:
    """A UsageError where it is said of a store that has one of its own."""
    from deniable_aggregator.store import Promise

    if options.durability.level is not Promise.FSYNC and not options.redis:
        raise UsageError("the embedded store syncs everything: --durability is for --redis URL")


def add_collections(parser: Parser) -> None:
    """Of which collections."""
    parser.add_argument("collections", nargs="+", type=Path, metavar="COLLECTION",
                        help="collection files, or directories of them, as deniable serve is given them")  # fmt: skip


def layouts(paths: list[Path]) -> list[Layout]:
    """What the files say, as far as counters are concerned."""
    from deniable_aggregator.serving.server import layout_of
    from deniable_aggregator.serving.sources import Sources, collections_of

    return [layout_of(own) for own in collections_of(Sources(tuple(paths)).read())]


@asynccontextmanager
async def stored(options: Any, durability: Durability | None = None) -> AsyncIterator[Store]:
    """The store that options name, which an aggregator has begun; what is written waits for no more than a reply,
    unless it is said what for."""
    from deniable_aggregator.store import Durability, Store, reached

    durability = durability or Durability()
    if options.redis:
        store = await Store.begun(options.redis, durability)
        try:
            yield store
        finally:
            await store.close()
        return
    async with reached(options.data) as url:
        store = await Store.begun(url, durability)
        try:
            yield store
        finally:
            await store.close()
