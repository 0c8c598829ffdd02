"""What a fleet sends in a day, what the store keeps of it, and how much of a processor that takes.

words:
  message   a batch as it travels: its bytes are counted, those of the connection are not
  figure    what was measured, from the least to the most, with the page of docs/benchmarks that has it

Everything but the processors is counted: from the shapes of the columns, the segments and the epochs that are kept.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from deniable import Collection, Metric
from deniable.payload import Bitmap, Codeword, Integers, Shape
from deniable.v1.report_service_pb2 import SubmitReportsRequest, WideRow
from deniable_aggregator.ingest.admission import Calendar

__all__ = ["CODEWORD", "VISIT", "Figure", "Load", "load"]

_DAY = 86_400
_ROW, _ID, _COUNTER = 8, 16, 8


class Figure(NamedTuple):
    """Microseconds of a processor, from the least to the most that was measured."""

    least: float
    most: float
    of: str
    """What takes them."""
    source: str
    """The page that has both."""


VISIT = Figure(740, 1_180, "a device's visit, with its handshake, of 20 reports", "docs/benchmarks/visits.md")
"""Where all devices come at once, and where they come one at a time."""
CODEWORD = Figure(1.8, 28.5, "a vector's codeword, of 16 to 4,096 entries", "docs/benchmarks/vectors.md")


class Load(NamedTuple):
    """What so many devices make, if each answers everything in every epoch; where coins draw it, on average."""

    calls: float
    """Of a device in a day."""
    message: int
    """Bytes of its batch, of an epoch."""
    bytes: float
    """Of a device in a day."""
    fleet_bytes: float
    """Of all devices in a day."""
    counters: int
    """Of one epoch, over all segments."""
    epochs: int
    """For which counters are kept."""
    store: int
    """Bytes of all these counters, in one shard."""
    ids: int
    """Bytes of the ids of the batches that are remembered."""
    processors: tuple[float, float]
    """How many are busy: the least and the most of what was measured."""


def load(collection: Collection, devices: int) -> Load:
    """Of so many devices."""
    calendar, epoch = Calendar(), collection.epoch_seconds
    calls, message = _DAY / epoch * float(collection.sample), _message(collection)
    epochs = math.ceil(calendar.keep / epoch) + 1
    shapes = [column.shape for metric in collection.metrics.values() for column in metric.columns]
    counters = collection.segment_count * sum(shape.counters for shape in shapes)
    remembered = calendar.accept_late + 2  # the epoch itself, those that are taken late, and one more
    reporting = round(devices * collection.sample)
    busy = [devices * calls * micros / (_DAY * 1e6) for micros in _micros(collection)]
    return Load(
        calls, message, calls * message, devices * calls * message, counters, epochs,
        _COUNTER * counters * epochs, _ID * reporting * remembered, (busy[0], busy[1]),
    )  # fmt: skip


def _micros(collection: Collection) -> tuple[float, float]:
    """Of a visit: as measured, and each vector's codeword besides."""
    codewords = sum(isinstance(metric.columns[0].shape, Codeword) for metric in collection.metrics.values())
    return VISIT.least + codewords * CODEWORD.least, VISIT.most + codewords * CODEWORD.most


def _message(collection: Collection) -> int:
    """The bytes of a batch of today's, of the longest payloads."""
    metrics = collection.metrics.values()
    wide = [_widest(metric) for metric in metrics if any(column.shape.wide for column in metric.columns)]
    return SubmitReportsRequest(
        batch_id=bytes(_ID),
        collection_digest=collection.digest or 1,
        epoch=int(time.time()) // collection.epoch_seconds,
        segment=collection.segment_count - 1,
        rows=bytes(_ROW * (len(metrics) - len(wide))),
        wide_rows=wide,
    ).ByteSize()


def _widest(metric: Metric) -> WideRow:
    column = max(metric.columns, key=lambda own: _payload(own.shape))
    return WideRow(column=column.number, payload=bytes(_payload(column.shape)))


def _payload(shape: Shape) -> int:
    """The bytes of a payload in a wide row."""
    match shape:
        case Bitmap(size):
            return -(-size // 8)
        case Integers(size):
            return 4 * size
    return _ROW
