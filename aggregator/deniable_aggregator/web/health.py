"""How the aggregator itself is: what has come, what was refused, how long storing takes, how the store is."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from deniable_aggregator.ingest import IngestStats, Layout
from deniable_aggregator.serving.server import Aggregator
from deniable_aggregator.store import EpochKey, StoreError, StoreStatus

__all__ = ["SCHEMA", "VERSION", "Fleet", "Health", "State"]

VERSION = version("deniable-aggregator")


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_COUNT, _SECONDS, _TEXT = {"type": "integer"}, {"type": "number"}, {"type": "string"}
_HISTOGRAM = _object(
    bounds={"type": "array", "items": _SECONDS}, counts={"type": "array", "items": _COUNT}, total=_SECONDS
)
_COUNTS = {"type": "object", "additionalProperties": _COUNT}
SCHEMA = _object(
    version=_TEXT,
    started=_SECONDS,
    time=_SECONDS,
    ingest=_object(
        accepted=_COUNT,
        reports=_COUNT,
        duplicate=_COUNT,
        waiting=_COUNT,
        flushes=_COUNT,
        refused=_COUNTS,
        storeErrors=_COUNTS,
        flushSeconds=_HISTOGRAM,
        flushBatches=_HISTOGRAM,
    ),
    store={
        "anyOf": [
            {"type": "null"},
            _object(seconds=_SECONDS, memory_bytes=_COUNT, memory_limit_bytes=_COUNT, evicted=_COUNT, server=_TEXT),
        ]
    },
    reloads={
        "type": "array",
        "items": _object(time=_SECONDS, changes={"type": "array", "items": _TEXT}),
    },
    fleets={
        "type": "array",
        "items": _object(
            collection=_TEXT,
            digest=_TEXT,
            epochSeconds=_COUNT,
            batches=_COUNTS,
            marginSeconds={"type": ["number", "null"]},
            retired={"type": ["string", "null"]},
        ),
    },
)
"""What is told as plain JSON, as JSON Schema says it."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """What has come for one collection."""

    layout: Layout
    batches: dict[int, int]
    """By epoch, of those that are accepted or remembered."""
    margin: float | None
    """For how many seconds ids are remembered beyond the time at which their epoch is no longer accepted, at the
    least. While it is positive nothing is counted twice. None where there are no ids."""


@dataclass(frozen=True, slots=True)
class State:
    """The aggregator at one moment."""

    ingest: IngestStats
    store: StoreStatus | None
    """None where it does not answer."""
    fleets: list[Fleet]


class Health:
    """Looks after an aggregator."""

    def __init__(self, server: Aggregator) -> None:
        self._server = server
        self._started = time.time()

    async def state(self) -> State:
        """How it is now."""
        try:
            status = await self._server.store.status()
            fleets = [await self._fleet(layout) for layout in self._server.layouts]
        except StoreError:
            return State(self._server.totals(), None, [])
        return State(self._server.totals(), status, fleets)

    async def _fleet(self, layout: Layout) -> Fleet:
        calendar, store = self._server.calendar, self._server.store
        accepted = calendar.accepted(layout)
        keys = [EpochKey(layout.digest, epoch) for epoch in accepted]
        batches, left = await store.batches(keys), await store.remembered(keys)
        now = calendar.clock()
        ends = [(epoch + 1 + calendar.accept_late) * layout.epoch_seconds - now for epoch in accepted]
        margins = [seconds - end for seconds, end in zip(left, ends, strict=True) if seconds is not None]
        counted = {epoch: own for epoch, own in zip(accepted, batches, strict=True) if own}
        return Fleet(layout, counted, min(margins, default=None))

    async def now(self) -> dict[str, Any]:
        """The same in plain JSON."""
        state = await self.state()
        ingest = state.ingest
        return {
            "version": VERSION,
            "started": self._started,
            "time": time.time(),
            "ingest": {
                "accepted": ingest.accepted,
                "reports": ingest.reports,
                "duplicate": ingest.duplicate,
                "waiting": ingest.waiting,
                "flushes": ingest.flushes,
                "refused": dict(ingest.refused),
                "storeErrors": dict(ingest.store_errors),
                "flushSeconds": _plain(ingest.flush_seconds),
                "flushBatches": _plain(ingest.flush_batches),
            },
            "store": state.store._asdict() if state.store else None,
            "reloads": [{"time": own.time, "changes": own.changes} for own in self._server.reloads],
            "fleets": [
                {
                    "collection": fleet.layout.name,
                    "digest": f"{fleet.layout.digest:016x}",
                    "epochSeconds": fleet.layout.epoch_seconds,
                    "batches": fleet.batches,
                    "marginSeconds": fleet.margin,
                    "retired": _first_day(fleet.layout),
                }
                for fleet in state.fleets
            ],
        }


def _first_day(layout: Layout) -> str | None:
    """The first day of which nothing is taken, where its collection is retired."""
    if layout.ends is None:
        return None
    return dt.datetime.fromtimestamp(layout.ends * layout.epoch_seconds, dt.UTC).date().isoformat()


def _plain(histogram: Any) -> dict[str, Any]:
    return {"bounds": histogram.bounds, "counts": histogram.counts, "total": histogram.total}
