"""Which collection each digest is of, as aggregators have served them: kept in the store beside their counters.

Counters are under digests, and doubts under names: who removes an epoch has to find the counters of all versions,
also of those whose files are no longer there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from deniable_aggregator.store.keys import KNOWN_KEY
from deniable_aggregator.store.servers import Places

__all__ = ["Known", "Named"]


class Named(NamedTuple):
    """What versions of one collection have in common."""

    collection: str
    """The collection's name."""
    seconds: int
    """How long its epochs are."""


class Known:
    """The digests that a store has heard of."""

    def __init__(self, servers: Places) -> None:
        self._servers = servers

    async def all(self) -> Mapping[int, Named]:
        """What each is of."""
        (pairs,) = await self._servers.ask(KNOWN_KEY, ("HGETALL", KNOWN_KEY))
        return {
            int(digest, 16): _named(value.decode()) for digest, value in zip(pairs[::2], pairs[1::2], strict=True)
        }

    async def put(self, served: Mapping[int, Named]) -> None:
        """Have it hear of some more."""
        pairs = [
            part for digest, own in served.items() for part in (f"{digest:016x}", f"{own.seconds}:{own.collection}")
        ]
        await self._servers.ask(KNOWN_KEY, ("HSET", KNOWN_KEY, *pairs))


def _named(text: str) -> Named:
    seconds, _, collection = text.partition(":")
    return Named(collection, int(seconds))
