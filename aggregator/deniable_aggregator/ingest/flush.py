"""One flush: its batches checked, added up, stored together, and an outcome for each.

words:
  new     the batches that go to the store: sound, and the first of their id in this flush
  repeat  a batch whose id another batch of this flush has; it shares that one's outcome
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, auto

import numpy as np

from deniable_aggregator.ingest.admission import Calendar
from deniable_aggregator.ingest.refusal import STORE_UNAVAILABLE, Refusal, malformed
from deniable_aggregator.ingest.rows import Batch, BoolArray, Rows, faults
from deniable_aggregator.store import Additions, Admission, Store, Window

__all__ = ["Flush", "Outcome", "Stored"]


class Stored(Enum):
    """A batch is in the store."""

    NOW = auto()
    BEFORE = auto()
    """It had been stored before, and was not counted again."""


Outcome = Stored | Refusal

_Name = tuple[Window, bytes]
"""What a batch is known by: an id is looked up among those of its own window."""


class Flush:
    """Batches of one shard on their way into the store."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.outcomes: list[Outcome] = [STORE_UNAVAILABLE] * len(batches)
        """What became of each batch, as far as it is known by now."""
        self._batches = batches
        self._rows = Rows(batches)
        self._new: dict[_Name, int] = {}
        self._repeats: list[tuple[int, int]] = []
        bad = self._rows.malformed()
        for number, batch in enumerate(batches):
            if number in bad:
                self.outcomes[number] = malformed(faults(batch))
                continue
            name = Window(batch.table.layout.digest, batch.epoch), batch.id
            first = self._new.setdefault(name, number)
            if first != number:
                self._repeats.append((number, first))

    async def store(self, store: Store, shard: int, calendar: Calendar) -> None:
        """Store the new batches. After a StoreError the outcomes are what they would be without a store."""
        try:
            # What is known to the store drops out, and the rest tries again: every round is smaller.
            while self._new:
                known = await store.add(shard, self._admissions(calendar), self._additions())
                self._settle(known or list(self._new), Stored.BEFORE if known else Stored.NOW)
        finally:
            for number, first in self._repeats:
                outcome = self.outcomes[first]
                self.outcomes[number] = Stored.BEFORE if isinstance(outcome, Stored) else outcome

    def _settle(self, names: Iterable[_Name], outcome: Stored) -> None:
        for name in names:
            self.outcomes[self._new.pop(name)] = outcome

    def _additions(self) -> Additions:
        keep: BoolArray = np.zeros(len(self._batches), dtype=np.bool_)
        keep[list(self._new.values())] = True
        return self._rows.additions(keep)

    def _admissions(self, calendar: Calendar) -> dict[Window, Admission]:
        ids: dict[Window, list[bytes]] = {}
        admissions: dict[Window, Admission] = {}
        for (window, batch_id), number in self._new.items():
            if window not in ids:
                lifetimes = calendar.lifetimes(self._batches[number].table.layout, window.epoch)
                ids[window] = []
                admissions[window] = Admission(ids[window], *lifetimes)
            ids[window].append(batch_id)
        return admissions
