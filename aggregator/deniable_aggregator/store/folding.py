"""How increments get into the counters.

words:
  head  the increments that have waited longest. One script reads them, one reads the counters that they add to, and
        one writes the sums and drops them; what lies in between is done here

Each script is atomic, and the last two act only while the increments are at their places in the list. So any number
of processes may fold, a reply that is lost costs nothing, and a server that takes over with another history is never
written what does not belong to it. The server is busy for a small part of the time that it would take to add each
increment by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import numpy as np

from deniable_aggregator.store.additions import NONCE_BYTES, Sum, add_up
from deniable_aggregator.store.keys import counts_name, increments_name
from deniable_aggregator.store.servers import Places, Script, packed

__all__ = ["Folding"]

_LOG = logging.getLogger(__name__)
_FOLD_SECONDS = 1.0
_AT_ONCE = 4
"""So many shards are folded at the same time: what is added waits for scripts of others."""
_MOST_INCREMENTS = 1024
_MOST_BYTES = 8 << 20
"""So many increments, and so many bytes of them, are added up together at the most, but for one increment alone."""
_MOST_WORK = 3 << 14
"""Of one fold: the server does nothing else for about a tenth of a second, or a few where many keys begin."""

_HEAD, _LOOK, _FOLD = (Script(name) for name in ("head", "look", "fold"))


class Folding:
    """Folds the increments of a store's shards."""

    def __init__(self, servers: Places) -> None:
        self._servers = servers
        self._together = _MOST_INCREMENTS
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def keep(self, shard: int) -> None:
        """Fold a shard again and again; whatever goes wrong, what waits must not wait for ever."""
        failing = False
        while True:
            try:
                async with self._turns:
                    await self.fold(shard)
            except Exception as error:  # noqa: BLE001
                if not failing:
                    _LOG.warning(
                        "what has been added can not be folded into the counters (shard %d): %s", shard, error
                    )
                failing = True
            else:
                if failing:
                    _LOG.warning("what has been added is folded into the counters again (shard %d)", shard)
                failing = False
            await asyncio.sleep(_FOLD_SECONDS)

    async def fold(self, shard: int) -> None:
        """Add the increments that wait in a shard to its counters."""
        name = increments_name(shard)
        (left,) = await self._servers.ask(name, ("LLEN", name))
        while left > 0:
            increments = await self._servers.run(_HEAD, [name], _MOST_INCREMENTS, _MOST_BYTES)
            if not increments:
                return
            left -= await self._some(shard, increments) or 1  # somebody else was faster

    async def _some(self, shard: int, increments: Sequence[bytes]) -> int:
        """Fold the increments at the head of a shard's list; how many have gone.

        The more are folded together, the more of them fall on the same counters. Where they do not, fewer are
        folded together, so that the server is not busy for long.
        """
        done = 0
        while done < len(increments):
            together = increments[done : done + self._together]
            added = await asyncio.to_thread(add_up, together)
            if added.work > _MOST_WORK and added.increments > 1:
                self._together = added.increments // 2
                continue
            if not await self._write(shard, together[added.increments - 1][:NONCE_BYTES], added):
                break
            done += added.increments
            if added.work < _MOST_WORK // 2:
                self._together = min(2 * self._together, _MOST_INCREMENTS)
        return done

    async def _write(self, shard: int, last: bytes, added: Sum) -> bool:
        """Add a sum of increments to the counters while the last of them is at its place; whether it was added."""
        names = [increments_name(shard), *(counts_name(shard, key) for key in added.keys)]
        columns, runs = (added.sizes, added.runs_of_key), packed(added.runs)
        while True:
            found = await self._servers.run(
                _LOOK, names, last, added.increments, packed(np.column_stack(columns)), runs
            )
            if found is None:
                return False
            there = np.frombuffer(found, np.uint8, len(added.keys))
            sums = added.onto(np.frombuffer(found, "<i8", offset=len(added.keys)))
            keys = packed(np.column_stack((*columns, added.expires, there)))
            written = await self._servers.run(
                _FOLD, names, last, added.increments, keys, runs, sums.astype("<i8").tobytes()
            )
            if written >= 0:
                return bool(written)
