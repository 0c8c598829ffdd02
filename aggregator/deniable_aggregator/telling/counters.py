"""Raw counters: what the aggregator has added up for a metric, and what each of them means.

They are what estimates are made of, and can be computed back from them: they tell no more, and cost a reader as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, ClassVar

import numpy as np
from google.protobuf.timestamp_pb2 import Timestamp
from numpy.typing import NDArray

from deniable import Collection, Column, Metric
from deniable.payload import Bitmap, Codeword, Integer, Integers, Symbol
from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.analysis.question import EpochDoubt
from deniable_aggregator.telling.messages import doubt_messages
from deniable_aggregator.telling.tables import Table, doubted

__all__ = ["COUNTER_COLUMNS", "Counted", "CounterTable", "counters_message", "meanings"]

COUNTER_COLUMNS = (
    "collection",
    "metric",
    "segment",
    "start",
    "end",
    "column",
    "mechanism",
    "counter",
    "meaning",
    "count",
    "note",
)
"""Of every table of counters."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The counters of one metric, added over a window and a segment."""

    title: str
    """The collection, by a name that no other has."""
    collection: Collection
    metric: Metric
    window: range
    segment: Mapping[str, str]
    columns: Sequence[NDArray[np.int64]]
    """Of each of its columns."""
    doubts: tuple[EpochDoubt, ...]
    """Epochs of the window that an operator does not trust."""


def meanings(metric: Metric, column: Column) -> Iterator[str]:
    """What each counter of a column means, in its order."""
    place, shape = column.number - metric.columns[0].number, column.shape
    names = metric.kind.names(place)
    match shape:
        case Symbol():
            for payload in range(shape.size):
                yield f"reports that say {metric.kind.describe(place, column.mechanism, payload)}"
        case Bitmap():
            yield "reports"
            for bit in range(shape.size):
                yield f"reports that have {repr(names[bit]) if bit < len(names) else f'bit {bit}'}"
        case Integer():
            yield "reports"
            yield "levels, added up"
            yield from _squares("levels")
        case Integers():
            yield "reports"
            yield from (f"levels of entry {entry}, added up" for entry in range(shape.size))
            for limb in range(2):
                yield from (_squares(f"levels of entry {entry}")[limb] for entry in range(shape.size))
        case Codeword():
            yield "reports"
            yield from (f"entry {entry}, added up" for entry in range(shape.size))
            yield from (f"squares of entry {entry}, added up" for entry in range(shape.size))


def _squares(what: str) -> tuple[str, str]:
    return f"squares of {what}, modulo 2^32, added up", f"squares of {what}, divided by 2^32, added up"


def counters_message(found: Counted) -> Iterator[pb.ColumnCounters]:
    """They as they travel, column by column."""
    seconds = found.collection.epoch_seconds
    for column, counters in zip(found.metric.columns, found.columns, strict=True):
        yield pb.ColumnCounters(
            collection=found.title,
            metric=found.metric.name,
            column=column.number,
            mechanism=column.mechanism.name,
            first_epoch=found.window.start,
            last_epoch=found.window.stop - 1,
            start_time=Timestamp(seconds=found.window.start * seconds),
            end_time=Timestamp(seconds=found.window.stop * seconds),
            segment=found.segment,
            counters=counters.tolist(),
            meanings=meanings(found.metric, column),
            doubts=doubt_messages(found.doubts, seconds),
        )


class CounterTable(Table):
    """Raw counters, a row each, in plain Python, and what other tools make of them."""

    columns: ClassVar[tuple[str, ...]] = COUNTER_COLUMNS
    head: ClassVar[tuple[str, ...]] = ("metric", "column", "meaning", "count")

    @classmethod
    def told(cls, columns: Iterable[pb.ColumnCounters]) -> CounterTable:
        """The rows of counters as they travel."""
        return cls(row for column in columns for row in _rows(column))

    @staticmethod
    def cells(row: dict[str, Any]) -> tuple[str, ...]:
        """A row as it is shown."""
        return row["metric"], str(row["column"]), row["meaning"], f"{row['count']:,}"


def _rows(column: pb.ColumnCounters) -> Iterator[dict[str, Any]]:
    about = {
        "collection": column.collection,
        "metric": column.metric,
        "segment": ",".join(f"{name}={value}" for name, value in sorted(column.segment.items())),
        "start": column.start_time.ToDatetime(UTC),
        "end": column.end_time.ToDatetime(UTC),
        "column": column.column,
        "mechanism": column.mechanism,
    }
    note = doubted(column.doubts)
    for number, (meaning, count) in enumerate(zip(column.meanings, column.counters, strict=True)):
        yield about | {"counter": number, "meaning": meaning, "count": count, "note": note}
