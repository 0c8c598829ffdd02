"""What commands share that reach a store themselves, while an aggregator uses it or not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable_aggregator.commands._command import Parser

if TYPE_CHECKING:
    from deniable_aggregator.ingest import Layout
    from deniable_aggregator.store import Store

__all__ = ["add_collections", "add_store", "layouts", "stored"]


def add_store(parser: Parser) -> None:
    """Which store."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--data", type=Path, default=Path("deniable-data"),
                       help="the aggregator's directory, as deniable serve was given it (%(default)s)")  # fmt: skip
    where.add_argument("--redis", metavar="URL", help="its own Redis or Valkey, as deniable serve was given it")


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
async def stored(options: Any) -> AsyncIterator[Store]:
    """The store that options name, which an aggregator has begun."""
    from deniable_aggregator.store import Store, reached

    if options.redis:
        store = await Store.begun(options.redis)
        try:
            yield store
        finally:
            await store.close()
        return
    async with reached(options.data) as url:
        store = await Store.begun(url)
        try:
            yield store
        finally:
            await store.close()
