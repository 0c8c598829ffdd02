"""One flush: its batches checked, added up, stored together, and an outcome for each.

words:
  new     the batches that go to the store: sound, and the first of their id in this flush
  repeat  a batch whose id another batch of this flush has; it shares that one's outcome
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

import numpy as np

from deniable_aggregator.ingest.admission import Calendar
from deniable_aggregator.ingest.alone import Note, entries_of
from deniable_aggregator.ingest.refusal import STORE_UNAVAILABLE, Refusal, malformed
from deniable_aggregator.ingest.rows import Batch, Rows, faults
from deniable_aggregator.ingest.wide import BoolArray
from deniable_aggregator.store import Additions, Arrivals, EpochKey, Store, Written

__all__ = ["Flush", "Outcome", "Stored"]


class Stored(Enum):
    """A batch is in the store."""

    NOW = auto()
    BEFORE = auto()
    """It had been stored before, and was not counted again."""


Outcome = Stored | Refusal


class Flush:
    """Batches of one shard on their way into the store."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.outcomes: list[Outcome] = [STORE_UNAVAILABLE] * len(batches)
        """What became of each batch, as far as it is known by now."""
        self._batches = batches
        self._rows = _rows_of(batches)
        self._new: dict[EpochKey, dict[bytes, int]] = {}
        self._repeats: list[tuple[int, int]] = []
        bad = self._rows.malformed()
        for number in bad:
            self.outcomes[number] = malformed(faults(batches[number]))
        for number, batch in enumerate(batches):
            if number in bad:
                continue
            ids = self._new.get(batch.key)
            if ids is None:
                ids = self._new[batch.key] = {}
            first = ids.setdefault(batch.id, number)
            if first != number:
                self._repeats.append((number, first))

    async def store(self, store: Store, shard: int, calendar: Calendar) -> None:
        """Store the new batches. After a StoreError the outcomes are what they would be without a store."""
        try:
            # What is known to the store drops out, and the rest tries again: every round is smaller.
            while self._new:
                known = await store.add(shard, self._arrivals(calendar), self._additions())
                if not known:
                    self._all_stored()
                for key, batch_id in known:
                    self.outcomes[self._new[key].pop(batch_id)] = Stored.BEFORE
                    if not self._new[key]:
                        del self._new[key]
        finally:
            for number, first in self._repeats:
                outcome = self.outcomes[first]
                self.outcomes[number] = Stored.BEFORE if isinstance(outcome, Stored) else outcome

    def _all_stored(self) -> None:
        for ids in self._new.values():
            for number in ids.values():
                self.outcomes[number] = Stored.NOW
        self._new = {}

    def _additions(self) -> Additions | Written:
        if isinstance(self._rows, _Alone):
            return self._rows.additions()
        keep: BoolArray = np.zeros(len(self._batches), dtype=np.bool_)
        for ids in self._new.values():
            keep[list(ids.values())] = True
        return self._rows.additions(keep)

    def _arrivals(self, calendar: Calendar) -> dict[EpochKey, Arrivals]:
        arrivals = {}
        for key, ids in self._new.items():
            layout = self._batches[next(iter(ids.values()))].table.layout
            arrivals[key] = Arrivals(list(ids), *calendar.lifetimes(layout, key.epoch))
        return arrivals


class _Alone:
    """The rows of one batch, in place of those of many (`Rows`)."""

    def __init__(self, batch: Batch, notes: tuple[Note, ...]) -> None:
        self._added = entries_of(notes, batch.rows, batch.key.epoch, batch.segment)

    def malformed(self) -> set[int]:
        """The number of the batch, if it is malformed."""
        return {0} if self._added is None else set()

    def additions(self) -> Written:
        """What it adds; it may not be malformed."""
        assert self._added
        return self._added


def _rows_of(batches: Sequence[Batch]) -> Rows | _Alone:
    notes = batches[0].table.notes if len(batches) == 1 and not batches[0].wide_rows else None
    return Rows(batches) if notes is None else _Alone(batches[0], notes)
