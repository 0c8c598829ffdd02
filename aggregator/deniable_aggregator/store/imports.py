"""What came into a store in files, remembered so that nothing comes twice.

words:
  origin  a store whose devices counters are of, by its identity
  claim   that a file brings the counters of some origins for an epoch. No other file may bring these again: a later
          one of the same store has the same batches in it, and more
  parcel  what is added at once: counters of an epoch, under an id of their own (`Store.merge`)

A file claims all that it brings before any of it is added, all or nothing. Who brings the same file again has its
claims already, and of its parcels those are added that are not there: so an import that was killed goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from deniable_aggregator.store.keys import IDENTITY_KEY, EpochKey, origins_name
from deniable_aggregator.store.servers import Places, Script, packed

__all__ = ["IDENTITY_BYTES", "Claim", "Imports"]

IDENTITY_BYTES = 16

_CLAIM = Script("claim")


class Claim(NamedTuple):
    """What a file brings of an epoch."""

    origins: Sequence[bytes]
    """Whose devices' counters they are."""
    until: int
    """Until when it is remembered, in seconds since 1970."""


class Imports:
    """The claims of a store."""

    def __init__(self, servers: Places) -> None:
        self._servers = servers

    async def identity(self) -> bytes:
        """The store's own."""
        (found,) = await self._servers.ask(IDENTITY_KEY, ("GET", IDENTITY_KEY))
        return bytes(found)

    async def origins(self, key: EpochKey) -> list[bytes]:
        """Whose devices an epoch has counters of, beside the store's own."""
        name = origins_name(key)
        (found,) = await self._servers.ask(name, ("HKEYS", name))
        return sorted(found)

    async def claim(self, file: bytes, claims: Mapping[EpochKey, Claim]) -> dict[EpochKey, bytes]:
        """Claim all of it for a file; or, where another file has brought some of it, change nothing and say of which
        epochs, and which file that was."""
        keys = list(claims)
        found = await self._servers.run(
            _CLAIM,
            [origins_name(key) for key in keys],
            file,
            packed([(len(own.origins), own.until) for own in claims.values()]),
            b"".join(origin for own in claims.values() for origin in own.origins),
            durably=True,  # what is brought under it may not outlive it: another file could bring it again
        )
        return {keys[place]: bytes(other) for place, other in zip(found[::2], found[1::2], strict=True)}
