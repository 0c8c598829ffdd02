"""Tells the store which collections its counters are of, whenever others are served than before."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from deniable_aggregator.ingest import Layout
from deniable_aggregator.store import Named, Store, StoreError

__all__ = ["Naming"]


class Naming:
    """What the store has been told."""

    def __init__(self) -> None:
        self._told: Sequence[Layout] = ()

    async def tell(self, store: Store, served: Sequence[Layout]) -> None:
        """Tell it, if it has not been told; a store that is away or full is told later."""
        if self._told is served or not served:
            return
        with contextlib.suppress(StoreError):
            await store.known.put({own.digest: Named(own.name, own.epoch_seconds) for own in served})
            self._told = served
