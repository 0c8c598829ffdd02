"""Doubts: what an operator says of epochs, kept in the store beside the counters.

words:
  doubt     what is said of one epoch of a collection, with the reason
  doubtful  of an epoch: its counters are there, and are left out of answers unless somebody asks for them
  removed   of an epoch: its counters are gone, and what still comes for it is never answered

A doubt is of a collection's name and the length of its epochs, and so of all versions whose counters are added.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from deniable_aggregator.store.errors import StoreError
from deniable_aggregator.store.keys import DOUBTS_KEY
from deniable_aggregator.store.servers import Places

__all__ = ["MOST_DOUBTS", "MOST_REASON", "Doubt", "Doubted", "Doubts"]

MOST_DOUBTS = 4000
"""So many epochs can be doubted: doubts are read with every question."""
MOST_REASON = 300
"""So many characters a reason has at most."""


class Doubted(NamedTuple):
    """An epoch that something is said of."""

    collection: str
    """The collection's name."""
    seconds: int
    """How long its epochs are."""
    epoch: int


class Doubt(NamedTuple):
    """What is said of it."""

    reason: str
    removed: bool = False


class Doubts:
    """The doubts of a store."""

    def __init__(self, servers: Places) -> None:
        self._servers = servers

    async def all(self) -> Mapping[Doubted, Doubt]:
        """Every epoch that is doubted."""
        (pairs,) = await self._servers.ask(DOUBTS_KEY, ("HGETALL", DOUBTS_KEY))
        fields = zip(pairs[::2], pairs[1::2], strict=True)
        return {_doubted(field): Doubt(**json.loads(value)) for field, value in fields}

    async def put(self, doubts: Mapping[Doubted, Doubt]) -> None:
        """Doubt epochs, all of them or none; a ValueError where a reason is none, a StoreError where there are too
        many."""
        if not all(1 <= len(doubt.reason) <= MOST_REASON and doubt.reason.isprintable() for doubt in doubts.values()):
            raise ValueError(f"a reason is one line of 1 to {MOST_REASON} characters")
        if len({*doubts, *await self.all()}) > MOST_DOUBTS:
            raise StoreError(f"{MOST_DOUBTS} epochs are doubted at most: withdraw what is no longer doubted")
        pairs = [part for own, doubt in doubts.items() for part in (_field(own), json.dumps(doubt._asdict()))]
        await self._servers.ask(DOUBTS_KEY, ("HSET", DOUBTS_KEY, *pairs))

    async def withdraw(self, doubted: Iterable[Doubted]) -> None:
        """Say nothing of epochs any more."""
        await self._servers.ask(DOUBTS_KEY, ("HDEL", DOUBTS_KEY, *map(_field, doubted)))


def _field(own: Doubted) -> bytes:
    return f"{own.seconds}:{own.epoch}:{own.collection}".encode()


def _doubted(field: bytes) -> Doubted:
    seconds, epoch, collection = field.decode().split(":", 2)
    return Doubted(collection, int(seconds), int(epoch))
