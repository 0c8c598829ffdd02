"""Tells the store which collections its counters are of, whenever others are served than before.

And finds those that are left out: a newer version that is served without the older one's file would seem to have lost
what was reported.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from deniable_aggregator.ingest import Layout
from deniable_aggregator.store import Named, Store, StoreError

__all__ = ["LeftOut", "Naming", "left_out"]

_LOG = logging.getLogger(__name__)


class LeftOut(NamedTuple):
    """A version that has counters, and whose file is not served, while another version's is."""

    digest: int
    collection: str
    """The name that both have."""
    epochs: int
    """Of how many epochs there are counters."""

    def __str__(self) -> str:
        return (
            f"{self.collection}: the store has reports to another version ({self.digest:016x}) in {self.epochs} "
            f"epoch{'s' * (self.epochs > 1)}, and its file is not served: they are not shown"
        )


async def left_out(store: Store, served: Iterable[tuple[int, str]]) -> list[LeftOut]:
    """Such versions of the collections that are served, by digest and name."""
    names = dict(served)
    found = []
    for digest, known in (await store.known.all()).items():
        if digest in names or known.collection not in names.values():
            continue
        if epochs := await store.epochs(digest):
            found.append(LeftOut(digest, known.collection, len(epochs)))
    return found


class Naming:
    """What the store has been told."""

    def __init__(self, *, warns: bool) -> None:
        self._told: Sequence[Layout] = ()
        self._warns = warns  # one process of all that serve the same

    async def tell(self, store: Store, served: Sequence[Layout]) -> None:
        """Tell it, if it has not been told; a store that is away or full is told later."""
        if self._told is served or not served:
            return
        with contextlib.suppress(StoreError):
            await store.known.put({own.digest: Named(own.name, own.epoch_seconds) for own in served})
            self._told = served
            if self._warns:
                for each in await left_out(store, ((own.digest, own.name) for own in served)):
                    _LOG.warning("%s; serve it, too (docs/changing.md)", each)
