"""Who may come in: what can be said about a batch from its header alone, and for how long it is remembered.

words:
  calendar  which epochs are accepted now, and how long ids and counters of an epoch live

An id is remembered for a whole epoch longer than its epoch is accepted. So nothing is ever counted twice:
while an id can be forgotten, its batch would be refused for its age.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator.caller import REPORT, may
from deniable_aggregator.ingest.bounds import Bound, bound_of, digest_of
from deniable_aggregator.ingest.layout import Layout
from deniable_aggregator.ingest.refusal import (
    OTHER_COLLECTION,
    TOO_LARGE,
    UNKNOWN_COLLECTION,
    Refusal,
    collection_retired,
    epoch_too_new,
    epoch_too_old,
    malformed,
)
from deniable_aggregator.ingest.rows import ROW_BYTES, Batch, Lookup
from deniable_aggregator.store import ID_BYTES, EpochKey

__all__ = ["Admission", "Calendar"]

_DAY = 86400
_NO_ROWS: tuple[tuple[int, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Calendar:
    """Which epochs are accepted, and how long they leave something behind."""

    accept_late: int = 7
    """For how many epochs after its end an epoch is still accepted: devices are offline over a weekend."""
    accept_ahead: float = 3600.0
    """By how many seconds a device's clock may be ahead."""
    keep: float = 400.0 * _DAY
    """For how many seconds after an epoch's end its counters are kept, from when they begin."""
    keeps: Mapping[str, float] = field(default_factory=dict)
    """The same for collections that are kept for another time, by name."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970-01-01T00:00:00Z."""

    def __post_init__(self) -> None:
        if min(self.accept_late, self.accept_ahead, self.keep, *self.keeps.values()) < 0:
            raise ValueError("spans of time are not negative")

    def accepted(self, layout: Layout) -> range:
        """The epochs that are accepted now."""
        now = self.clock()
        first = int(now // layout.epoch_seconds) - self.accept_late
        return range(max(first, 0), int((now + self.accept_ahead) // layout.epoch_seconds) + 1)

    def lifetimes(self, layout: Layout, epoch: int) -> tuple[int, int]:
        """For how many seconds from now the ids of an epoch are remembered, and its counters kept."""
        left = (epoch + 1) * layout.epoch_seconds - int(self.clock())
        remember = left + (self.accept_late + 1) * layout.epoch_seconds
        keep = self.keeps.get(layout.name, self.keep)
        return max(remember, 1), max(remember, left + int(keep), 1)


class _Accepted:
    """What is accepted of one layout, as of some second."""

    __slots__ = ("epochs", "keys", "second", "table")

    def __init__(self, layout: Layout) -> None:
        self.table = Lookup(layout)
        self.second = -1
        self.epochs = range(0)
        self.keys: dict[int, EpochKey] = {}


class Admission:
    """Looks at the headers of batches."""

    def __init__(self, layouts: Iterable[Layout], calendar: Calendar) -> None:
        self._calendar = calendar
        self._by_digest: dict[int, _Accepted] = {}
        self.bound = Bound(0, 0)
        """What no batch of a known layout exceeds."""
        self.replace(layouts)

    def replace(self, layouts: Iterable[Layout]) -> None:
        """Know these layouts, and no others; batches that are in are not touched."""
        known = self._by_digest
        self._by_digest = {each.digest: _same(known.get(each.digest), each) or _Accepted(each) for each in layouts}
        self.bound = bound_of(accepted.table.layout for accepted in self._by_digest.values())

    def too_large(self, message: bytes) -> Refusal:
        """Why a message beyond the bound is refused: a device whose collection is not known here keeps its batch."""
        digest = digest_of(message)
        return TOO_LARGE if digest is None or digest in self._by_digest else UNKNOWN_COLLECTION

    def admit(self, request: SubmitReportsRequest) -> Batch | Refusal:
        """The batch of a request, with rows that have not been looked at; or why it is refused."""
        accepted = self._by_digest.get(request.collection_digest)
        if accepted is None:
            return UNKNOWN_COLLECTION
        if not may(REPORT, accepted.table.layout.name):
            return OTHER_COLLECTION
        table, batch_id, rows, segment = accepted.table, request.batch_id, request.rows, request.segment
        wide = request.wide_rows
        reports = len(rows) // ROW_BYTES + len(wide)
        if len(batch_id) != ID_BYTES:
            return malformed([("batch_id", f"has {ID_BYTES} bytes")])
        if segment >= table.layout.segments:
            return malformed([("segment", f"there are {table.layout.segments}")])
        if len(rows) % ROW_BYTES:
            return malformed([("rows", f"a row has {ROW_BYTES} bytes")])
        if not reports:
            return malformed([("rows", "there is no report")])
        if reports > table.metrics:
            return malformed([("rows", f"there are {table.metrics} metrics: at least one is reported twice")])
        if accepted.second != int(self._calendar.clock()):
            self._look_again(accepted)
        epoch = request.epoch
        key = accepted.keys.get(epoch)
        if key is not None:
            wide_rows = [(row.column, row.payload) for row in wide] if wide else _NO_ROWS
            return Batch(batch_id, table, key, segment, rows, wide_rows)
        if epoch in accepted.epochs and table.layout.ends is not None:
            return collection_retired(table.layout.ends)
        return epoch_too_old(accepted.epochs) if epoch < accepted.epochs.start else epoch_too_new(accepted.epochs)

    def _look_again(self, accepted: _Accepted) -> None:
        """What is accepted changes with the second, not with every batch."""
        layout = accepted.table.layout
        accepted.second = int(self._calendar.clock())
        accepted.epochs = self._calendar.accepted(layout)
        taken = accepted.epochs if layout.ends is None else range(accepted.epochs.start, layout.ends)
        accepted.keys = {epoch: EpochKey(layout.digest, epoch) for epoch in accepted.epochs if epoch in taken}


def _same(known: _Accepted | None, layout: Layout) -> _Accepted | None:
    """What is known of a layout, unless it ends otherwise now, which is no part of its digest."""
    return known if known and known.table.layout.ends == layout.ends else None
