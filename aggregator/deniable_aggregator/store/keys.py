"""The names of what is stored.

words:
  shard    one of the parts that counters and ids are spread over; a batch belongs to the one its id says
  seen     of an epoch of one collection: the set of ids in which a batch of that epoch is looked up
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

__all__ = [
    "DOUBTS_KEY",
    "IDENTITY_KEY",
    "KNOWN_KEY",
    "SCHEMA_KEY",
    "SHARDS_KEY",
    "SIMULATED_KEY",
    "CounterKey",
    "EpochKey",
    "counter_key",
    "counts_begin",
    "counts_name",
    "counts_of_collection",
    "counts_of_epoch",
    "imported_name",
    "increments_name",
    "origins_name",
    "seen_begin",
    "seen_name",
]

SHARDS_KEY = b"deniable:shards"
"""Where the store keeps the number of shards that its counters were begun with."""
SIMULATED_KEY = b"deniable:simulated"
"""Where it keeps that it was begun for simulated devices."""
DOUBTS_KEY = b"deniable:doubts"
"""Where it keeps what an operator says of epochs."""
KNOWN_KEY = b"deniable:collections"
"""Where it keeps which collection each digest is of."""
SCHEMA_KEY = b"deniable:schema"
"""Where it keeps by which rules all of this is laid out."""
IDENTITY_KEY = b"deniable:identity"
"""Where it keeps the random word by which it is known among stores; its copies have the same."""


class EpochKey(NamedTuple):
    """One epoch of one collection."""

    digest: int
    epoch: int


class CounterKey(NamedTuple):
    """The counters of one column, for one epoch and one segment."""

    digest: int
    column: int
    epoch: int
    segment: int


# The shard is the hash tag: all keys of one shard lie in one slot of a cluster, within reach of one script.
@lru_cache(maxsize=4096)
def seen_name(shard: int, key: EpochKey) -> bytes:
    """The set of the ids that a shard knows of an epoch."""
    return b"deniable:{%d}:seen:%016x.%d" % (shard, key.digest, key.epoch)


@lru_cache(maxsize=65536)
def counts_name(shard: int, key: CounterKey) -> bytes:
    """A shard's packed counters of one column, epoch and segment."""
    return b"deniable:{%d}:counts:%016x.%d:%d:%d" % (shard, key.digest, key.column, key.epoch, key.segment)


def counts_of_epoch(epoch: int) -> bytes:
    """What the names of all counters of an epoch look like, of whatever collection, in whatever shard."""
    return b"deniable:{*}:counts:*.*:%d:*" % epoch


def counts_of_collection(digest: int) -> bytes:
    """What the names of all counters of a collection look like, of whatever epoch, in whatever shard."""
    return b"deniable:{*}:counts:%016x.*" % digest


def imported_name(shard: int, key: EpochKey) -> bytes:
    """The set of the ids of parcels that a shard has been given of an epoch."""
    return b"deniable:{%d}:imported:%016x.%d" % (shard, key.digest, key.epoch)


def origins_name(key: EpochKey) -> bytes:
    """Whose devices an epoch has counters of that came in files, and which file brought each. All of them carry one
    hash tag, so that one script judges a whole file."""
    return b"deniable:{imports}:origins:%016x.%d" % key


def counter_key(name: bytes) -> CounterKey:
    """Whose counters have this name."""
    digest, _, rest = name.rpartition(b":counts:")[2].partition(b".")
    return CounterKey(int(digest, 16), *map(int, rest.split(b":")))


@lru_cache(maxsize=1024)
def increments_name(shard: int) -> bytes:
    """The list of what has been added to a shard and is not in its counters yet."""
    return b"deniable:{%d}:deltas" % shard  # what they were called: so none is left behind


@lru_cache(maxsize=1024)
def counts_begin(shard: int, digest: int) -> bytes:
    """How the names of a shard's counters of a collection begin."""
    return b"deniable:{%d}:counts:%016x." % (shard, digest)


@lru_cache(maxsize=1024)
def seen_begin(shard: int, digest: int) -> bytes:
    """How the names of a shard's sets of ids of a collection begin."""
    return b"deniable:{%d}:seen:%016x." % (shard, digest)
