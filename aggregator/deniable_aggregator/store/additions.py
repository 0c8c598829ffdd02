"""What a flush adds to the counters: checked, as an increment that waits in the store, and as the sum of increments.

words:
  entry  an amount for one counter
  increment  additions as bytes. Writing one down takes the store a single command, however many keys it has
  fold   to add up increments, and to add their sum to the counters
  run    counters that follow each other and are read, added to and written together
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.store.errors import CounterOverflow
from deniable_aggregator.store.keys import CounterKey, EpochKey

__all__ = ["KEY", "NONCE_BYTES", "Additions", "IntArray", "KeyArray", "Sum", "Written", "add_up", "increment_of"]

IntArray = NDArray[np.int64]
KeyArray = NDArray[np.void]

KEY = np.dtype([("digest", "<u8"), ("column", "<u4"), ("epoch", "<u4"), ("segment", "<u4")])
"""A CounterKey in an array."""

NONCE_BYTES = 8
"""An increment begins with so many random bytes, so that no two are the same."""

_COUNTS = struct.Struct("<II")
_EXPIRES = struct.Struct("<I")
_SIZE_BYTES, _AMOUNT_BYTES = 4, 8
_HEAD_BYTES = NONCE_BYTES + _COUNTS.size
_BRIDGE = 16
"""Entries of a key up to this far apart share a run: to reach for another run takes the store as long as to move some
fifty counters more (1.7 microseconds against 0.03), but its file grows by each of them."""
_COUNTERS_A_RUN = 64
_MOST_COUNTERS = 1 << 26
"""A Redis string holds 512 MB."""
_COUNTER_BITS = 26
_COLUMN_BITS = 32
_LARGEST = float(1 << 62)


class Additions(NamedTuple):
    """Entries, in the order of their keys and, within a key, of its counters; each key has some."""

    keys: KeyArray
    sizes: NDArray[np.integer[Any]]
    """How many counters each key has."""
    entries: NDArray[np.integer[Any]]
    """How many entries each key has."""
    counter: NDArray[np.integer[Any]]
    """For each entry, which of the key's counters it adds to."""
    amount: IntArray
    """For each entry, what it adds."""

    @property
    def key(self) -> IntArray:
        """For each entry, the number of its key."""
        return np.repeat(np.arange(len(self.keys)), self.entries)

    @classmethod
    def checked(
        cls,
        keys: Sequence[CounterKey],
        sizes: Sequence[int],
        key: IntArray,
        counter: NDArray[np.integer[Any]],
        amount: IntArray,
    ) -> Additions:
        """Entries, each with the number of its key, of somebody who may be wrong about their order."""
        if len(counter) != len(key) or len(amount) != len(key) or len(sizes) != len(keys):
            raise ValueError("additions are not of one length")
        steps = np.diff(key)
        if not len(key) or key[0] != 0 or key[-1] != len(keys) - 1:
            raise ValueError("every key needs an entry, and every entry a key")
        if np.any((steps < 0) | (steps > 1) | ((steps == 0) & (np.diff(counter) <= 0))):
            raise ValueError("additions are not in the order of keys and counters")
        if max(sizes) > _MOST_COUNTERS:
            raise ValueError(f"a key holds up to {_MOST_COUNTERS} counters, not {max(sizes)}")
        if np.any((counter < 0) | (counter >= np.asarray(sizes)[key])):
            raise ValueError("an entry lies outside of its key's counters")
        return cls(np.array(keys, dtype=KEY), np.array(sizes), np.bincount(key), counter, amount)

    def increment(self, keep: Mapping[EpochKey, int]) -> bytes:
        """These as bytes; for so many seconds from now each epoch's counters are kept if they begin with these."""
        if len(keep) == 1:
            return self.written().increment(keep)
        expires, now = np.zeros(len(self.keys), dtype="<u4"), int(time.time())
        for key, seconds in keep.items():
            expires[(self.keys["digest"] == key.digest) & (self.keys["epoch"] == key.epoch)] = now + seconds
        return increment_of(self.written(), expires.tobytes())

    def written(self) -> Written:
        """These, written down."""
        keys, sizes, entries, counter, amount = self
        numbers = entries.astype("<u4", copy=False).tobytes() + counter.astype("<u4", copy=False).tobytes()
        return Written(
            keys.tobytes(),
            sizes.astype("<u4", copy=False).tobytes(),
            numbers,
            amount.astype("<i8", copy=False).tobytes(),
        )


class Written(NamedTuple):
    """Additions as they stand in an increment."""

    keys: bytes
    sizes: bytes
    numbers: bytes
    """How many entries each key has, then which counter each entry adds to."""
    amounts: bytes

    def increment(self, keep: Mapping[EpochKey, int]) -> bytes:
        """These as an increment; for so many seconds from now the counters of their one epoch are kept if they begin
        with these."""
        (seconds,) = keep.values()
        return increment_of(self, _EXPIRES.pack(int(time.time()) + seconds) * (len(self.sizes) // _SIZE_BYTES))


def increment_of(written: Written, expires: bytes) -> bytes:
    """Additions as bytes; `expires` says for each key when what it begins expires, in seconds since 1970."""
    keys, sizes, numbers, amounts = written
    counts = _COUNTS.pack(len(sizes) // _SIZE_BYTES, len(amounts) // _AMOUNT_BYTES)
    return b"".join((os.urandom(NONCE_BYTES), counts, keys, sizes, expires, numbers, amounts))


class _Increment:
    """An increment, read again."""

    def __init__(self, increment: bytes) -> None:
        keys, entries = _COUNTS.unpack_from(increment, NONCE_BYTES)
        self._increment, self._at = increment, _HEAD_BYTES
        self.keys = self._next(KEY, keys)
        self.sizes = self._next("<u4", keys)
        self.expires = self._next("<u4", keys)
        self.entries = self._next("<u4", keys)
        self.counter = self._next("<u4", entries)
        self.amount = self._next("<i8", entries)

    def _next(self, dtype: np.dtype[np.void] | str, count: int) -> NDArray[np.generic]:
        found = np.frombuffer(self._increment, dtype, count, self._at)
        self._at += found.nbytes
        return found


class Sum(NamedTuple):
    """Increments, added up."""

    increments: int
    """How many increments it is the sum of."""
    keys: list[CounterKey]
    sizes: IntArray
    """For each key, how many counters it has."""
    runs_of_key: IntArray
    """For each key, how many runs."""
    expires: IntArray
    """For each key, when it expires if it begins here."""
    runs: IntArray
    """For each run, its first counter, and how many it has."""
    amounts: IntArray
    """What is added to every counter of every run."""

    @property
    def work(self) -> int:
        """How long the store is busy with it: about two microseconds for each of these. Keys that begin cost more."""
        return len(self.runs) + 2 * len(self.keys) + len(self.amounts) // _COUNTERS_A_RUN

    def onto(self, counters: IntArray) -> IntArray:
        """The sums with what has been counted, where the runs are; a CounterOverflow if one leaves 64 bits."""
        sums = counters + self.amounts
        # It has left them where both have one sign and the sum has the other.
        beyond = np.flatnonzero((counters ^ sums) & (self.amounts ^ sums) < 0)
        if len(beyond):
            run = np.searchsorted(np.cumsum(self.runs[:, 1]), beyond[0], side="right")
            key = self.keys[np.searchsorted(np.cumsum(self.runs_of_key), run, side="right")]
            raise CounterOverflow(f"a counter of {key} would leave 64 bits")
        return sums


def add_up(increments: Sequence[bytes]) -> Sum:
    """The sum of all increments; or of the first one alone, where all might be more than 64 bits hold."""
    read = [_Increment(increment) for increment in increments]
    largest = sum(float(np.abs(each.amount.astype(np.float64)).max()) for each in read)
    if largest >= _LARGEST:
        read = read[:1]
    keys, same = _distinct(np.concatenate([each.keys for each in read]))
    sizes, expires = np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=np.int64)
    sizes[same] = np.concatenate([each.sizes for each in read])
    np.maximum.at(expires, same, np.concatenate([each.expires for each in read]).astype(np.int64))
    key = np.repeat(same, np.concatenate([each.entries for each in read]))
    place = (key << _COUNTER_BITS) + np.concatenate([each.counter for each in read])
    order = np.argsort(place, kind="stable")
    place = place[order]
    starts = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
    amount = np.add.reduceat(np.concatenate([each.amount for each in read])[order], starts)
    place = place[starts]
    runs_of_key, runs, amounts = _runs(place >> _COUNTER_BITS, place & (1 << _COUNTER_BITS) - 1, amount)
    return Sum(len(read), keys, sizes, runs_of_key, expires, runs, amounts)


def _distinct(keys: KeyArray) -> tuple[list[CounterKey], IntArray]:
    """The keys, each once, and for every one that was given its number among them.

    Keys of one increment come segment by segment. So what they have in common but the column is looked up once a
    segment, and only numbers are sorted: numpy sorts records ten times slower than Python looks up names.
    """
    parts = [keys[name] for name in ("digest", "epoch", "segment")]
    changes = np.logical_or.reduce([part[1:] != part[:-1] for part in parts])
    starts = np.flatnonzero(np.append(True, changes))
    numbers: dict[tuple[int, ...], int] = {}
    groups = [
        numbers.setdefault(group, len(numbers))
        for group in zip(*(part[starts].tolist() for part in parts), strict=True)
    ]
    group = np.repeat(groups, np.diff(np.append(starts, len(keys))))
    distinct, same = np.unique(group << _COLUMN_BITS | keys["column"], return_inverse=True)
    names = list(numbers)
    found = zip((distinct >> _COLUMN_BITS).tolist(), (distinct & (1 << _COLUMN_BITS) - 1).tolist(), strict=True)
    return [CounterKey(names[group][0], column, *names[group][1:]) for group, column in found], same


def _runs(key: IntArray, counter: IntArray, amount: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Entries gathered into runs; the counters between two entries of a run get a zero."""
    begins = np.append(True, (np.diff(key) != 0) | (np.diff(counter) > _BRIDGE))
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(key)) - 1
    lengths = counter[ends] - counter[starts] + 1
    offsets = np.cumsum(lengths) - lengths
    amounts = np.zeros(int(lengths.sum()), dtype=np.int64)
    amounts[counter + (offsets - counter[starts])[np.cumsum(begins) - 1]] = amount
    return np.bincount(key[starts]), np.column_stack((counter[starts], lengths)), amounts
