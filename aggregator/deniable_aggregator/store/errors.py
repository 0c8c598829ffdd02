"""What can go wrong between the aggregator and its store."""

# ruff: noqa: N818  (what happened is the better name)
from __future__ import annotations

__all__ = [
    "CounterOverflow",
    "DataDirectoryInUse",
    "EmbeddedStoreFailed",
    "SchemaMismatch",
    "ShardMismatch",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "StoreUnfit",
]


class StoreError(Exception):
    """The store did not do what it was asked to."""


class StoreUnavailable(StoreError):
    """The store is away, slow or starting. What it was asked to do may have been done: ask again."""


class StoreFull(StoreError):
    """The store takes no more: its memory or its disk is full, or nobody folds. Nothing was changed."""


class CounterOverflow(StoreError):
    """A counter would leave 64 bits. What was to be added to it still waits."""


class ShardMismatch(StoreError):
    """The store's counters were begun with another number of shards."""


class SchemaMismatch(StoreError):
    """The store is laid out by the rules of a newer release."""


class StoreUnfit(StoreError):
    """The store can not promise what it is asked to, or its address makes no sense."""


class EmbeddedStoreFailed(StoreError):
    """The embedded server did not start."""


class DataDirectoryInUse(EmbeddedStoreFailed):
    """Another process owns the embedded server's data directory."""
