"""The counters in Redis or Valkey."""

from __future__ import annotations

from deniable_aggregator.store.additions import KEY, Additions, IntArray, KeyArray
from deniable_aggregator.store.durability import Durability, Level
from deniable_aggregator.store.embedded import EmbeddedStore
from deniable_aggregator.store.errors import (
    CounterOverflow,
    DataDirectoryInUse,
    EmbeddedStoreFailed,
    ShardMismatch,
    StoreError,
    StoreFull,
    StoreUnavailable,
    StoreUnfit,
)
from deniable_aggregator.store.keys import CounterKey, Window
from deniable_aggregator.store.reading import Cell, Counted
from deniable_aggregator.store.store import ID_BYTES, Admission, Store, StoreStatus

__all__ = [
    "ID_BYTES",
    "KEY",
    "Additions",
    "Admission",
    "Cell",
    "Counted",
    "CounterKey",
    "CounterOverflow",
    "DataDirectoryInUse",
    "Durability",
    "EmbeddedStore",
    "EmbeddedStoreFailed",
    "IntArray",
    "KeyArray",
    "Level",
    "ShardMismatch",
    "Store",
    "StoreError",
    "StoreFull",
    "StoreStatus",
    "StoreUnavailable",
    "StoreUnfit",
    "Window",
]
