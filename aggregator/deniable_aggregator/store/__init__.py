"""The counters in Redis or Valkey."""

from __future__ import annotations

from deniable_aggregator.store.additions import KEY, Additions, IntArray, KeyArray, Written
from deniable_aggregator.store.backup import Backup, back_up
from deniable_aggregator.store.condition import Condition
from deniable_aggregator.store.doubts import MOST_DOUBTS, MOST_REASON, Doubt, Doubted, Doubts
from deniable_aggregator.store.durability import Durability, Promise
from deniable_aggregator.store.embedded import EmbeddedStore, is_begun, reached, refuse_strangers
from deniable_aggregator.store.errors import (
    CounterOverflow,
    DataDirectoryInUse,
    EmbeddedStoreFailed,
    SchemaMismatch,
    ShardMismatch,
    StoreError,
    StoreFull,
    StoreUnavailable,
    StoreUnfit,
)
from deniable_aggregator.store.imports import IDENTITY_BYTES, Claim
from deniable_aggregator.store.keys import CounterKey, EpochKey
from deniable_aggregator.store.known import Named
from deniable_aggregator.store.reading import Cell, Counted
from deniable_aggregator.store.snapshots import Snapshot
from deniable_aggregator.store.store import ID_BYTES, Arrivals, Store, StoreStatus

__all__ = [
    "IDENTITY_BYTES",
    "ID_BYTES",
    "KEY",
    "MOST_DOUBTS",
    "MOST_REASON",
    "Additions",
    "Arrivals",
    "Backup",
    "Cell",
    "Claim",
    "Condition",
    "Counted",
    "CounterKey",
    "CounterOverflow",
    "DataDirectoryInUse",
    "Doubt",
    "Doubted",
    "Doubts",
    "Durability",
    "EmbeddedStore",
    "EmbeddedStoreFailed",
    "EpochKey",
    "IntArray",
    "KeyArray",
    "Named",
    "Promise",
    "SchemaMismatch",
    "ShardMismatch",
    "Snapshot",
    "Store",
    "StoreError",
    "StoreFull",
    "StoreStatus",
    "StoreUnavailable",
    "StoreUnfit",
    "Written",
    "back_up",
    "is_begun",
    "reached",
    "refuse_strangers",
]
