"""From the rows of many batches to the sums that they add to the counters, on arrays.

words:
  table      a layout's columns as arrays, to look up all rows of a flush at once
  row        eight bytes: a column's number and a payload of 48 bits; a wide row has its payload beside it
  sheet      all rows of a flush that answer one layout
  group      an epoch and a segment; rows of one group and one column add to one key
  slot       a counter of one of the layout's columns, in one of the groups
  malformed  a batch with a row that its column does not have; no row of it is added, and no row of another
             batch is harmed by it

Nothing here is done report by report in Python, but for wide rows, which are gathered one by one (`wide.py`), for
codewords, each of which takes a hash (`directions.py`), and for batches that are malformed, whose faults are put into
words. A batch that is flushed alone: `alone.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.payload import PAYLOAD_BITS, Bitmap, Codeword, Integer, Integers, Shape, Symbol
from deniable_aggregator.ingest.alone import notes_of
from deniable_aggregator.ingest.directions import told
from deniable_aggregator.ingest.layout import Layout
from deniable_aggregator.ingest.refusal import Fault
from deniable_aggregator.ingest.wide import BoolArray, Entries, begins, gather, too_long, wide_bytes
from deniable_aggregator.store import KEY, Additions, EpochKey, IntArray, KeyArray

__all__ = ["ROW_BYTES", "Batch", "Lookup", "Rows", "faults"]

ROW_BYTES = 8
"""The length of a row."""

_MOST_FAULTS = 8
"""A device is told no more faults of one batch than this."""

_PAYLOAD_MASK = (1 << PAYLOAD_BITS) - 1
_PAYLOAD, _TO_COLUMN = np.uint64(_PAYLOAD_MASK), np.uint64(PAYLOAD_BITS)
_ALL = (1 << 64) - 1
_LIMB = (1 << 32) - 1

_FEW_SLOTS = 1 << 15
"""So many slots are added up faster in an array of all of them (measured: up to 50,000) than by sorting."""

_ENTRY_BYTES = 4
"""Of a vector that is sent."""
_COUNTER_BYTES = 16
"""Of an entry of an increment: which counter it is of, and what it adds."""
_NOBODY = np.zeros(0, dtype=np.int64)


class Lookup:
    """A layout's columns as arrays. A column that does not exist looks up the entry behind the last."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.codewords = [column for column, (_, shape) in enumerate(layout.columns) if isinstance(shape, Codeword)]
        """The columns of that shape: of most layouts none."""
        self.made = sum(_ENTRY_BYTES * shape.size for _, shape in layout.columns if isinstance(shape, Codeword))
        """The bytes that a batch's codewords would have if they were sent: as long as it takes to make them, as many
        batches may wait, and be flushed together."""
        self.opened = sum(
            _COUNTER_BYTES * shape.counters for _, shape in layout.columns if isinstance(shape, Codeword)
        )
        """The bytes of the counters of all codewords, of one epoch and segment."""
        self.notes = None if self.codewords else notes_of(layout)
        """The same for one row at a time; None where a row can add thousands of numbers."""
        self.shapes: tuple[Shape | None, ...] = (*(shape for _, shape in layout.columns), None)
        names = [metric for metric, _ in layout.columns]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        self.metrics = len(numbers)
        """How many metrics there are: the most rows that a batch can have."""
        self.metric = np.array([numbers[name] for name in names] + [self.metrics])
        self.limit = np.array([_limit(shape) for shape in self.shapes], dtype=np.uint64)
        """Payloads of a column are below this; 0 where no row is allowed."""
        self.weighed = np.array([_weighed(shape) for shape in self.shapes], dtype=np.uint64)
        """Which of a payload's bits are counted."""
        self.any_weighed = bool(self.weighed.any())
        self.weight = np.array([_weight(shape) for shape in self.shapes], dtype=np.uint8)
        """How many of those are set."""
        self.symbol = np.array([_ALL if isinstance(shape, Symbol) else 0 for shape in self.shapes], dtype=np.uint64)
        """Which of a payload's bits say the counter that it adds one to: it is the first where none does."""
        self.bitmap = _columns(self.shapes, Bitmap)
        self.integer = _columns(self.shapes, Integer)
        """The columns of that shape that have narrow rows; None where no column is one."""
        self.gap = np.array(
            [shape.gap if isinstance(shape, Integer) else 0 for shape in self.shapes], dtype=np.uint64
        )
        """How much farther out the outermost integers of a column count."""
        self.keys = np.zeros(len(layout.columns), dtype=KEY)
        self.keys["digest"], self.keys["column"] = layout.digest, np.arange(len(layout.columns))
        """The keys of all columns, for epoch and segment 0."""
        self.sizes = np.array([shape.counters for _, shape in layout.columns])
        self.slots = int(self.sizes.sum())
        """How many counters all columns have."""
        self.starts = np.cumsum(self.sizes) - self.sizes
        """The first slot of each column."""
        self._raw, self._counter = _NOBODY, _NOBODY

    def flat(self, groups: int) -> tuple[IntArray, IntArray]:
        """The column of each slot, counted through so many groups, and its number in that column."""
        if len(self._raw) < groups * self.slots:
            raw = np.repeat(np.arange(len(self.sizes) * groups), np.tile(self.sizes, groups))
            self._counter = np.tile(np.arange(self.slots), groups) - np.tile(self.starts, groups)[raw]
            self._raw = raw  # last: another thread that finds it finds the other, too
        return self._raw, self._counter


def _columns(shapes: Sequence[Shape | None], kind: type[Shape]) -> BoolArray | None:
    """Which columns are narrow and of a kind; None where none is."""
    found = np.array([isinstance(shape, kind) and not shape.wide for shape in shapes])
    return found if found.any() else None


def _limit(shape: Shape | None) -> int:
    match shape:
        case Symbol(size) | Integer(size):
            return size
        case Bitmap(size) if not shape.wide:
            return 1 << size
        case Codeword():
            return shape.seeds * shape.codewords
        case _:
            return 0


def _weight(shape: Shape | None) -> int:
    return (isinstance(shape, Bitmap) and not shape.wide and shape.weight) or 0


def _weighed(shape: Shape | None) -> int:
    return _ALL if isinstance(shape, Bitmap) and not shape.wide and shape.weight is not None else 0


class Batch(NamedTuple):
    """One device's reports for one epoch, as far as they have been looked at."""

    id: bytes
    table: Lookup
    key: EpochKey
    segment: int
    rows: bytes
    """Whole rows."""
    wide_rows: Sequence[tuple[int, bytes]]
    """Column and payload of each."""


class Rows:
    """The rows of some batches."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        tables = dict.fromkeys([batch.table for batch in batches])
        self._sheets = []
        for table in tables:
            numbers = [number for number, batch in enumerate(batches) if batch.table is table]
            own = batches if len(tables) == 1 else [batches[number] for number in numbers]
            self._sheets.append(_Sheet(table, np.array(numbers), own))

    def malformed(self) -> set[int]:
        """The numbers of the batches that are malformed."""
        return {number for sheet in self._sheets for number in sheet.malformed().tolist()}

    def additions(self, keep: BoolArray) -> Additions:
        """What the batches that are kept add up to; none of them may be malformed, and one has to be kept."""
        parts: list[Additions] = []
        for sheet in self._sheets:
            for raw, counter, amount in sheet.entries(keep):
                own, entries = _counted(raw, sheet.most_keys)
                sizes = sheet.table.sizes.take(own, None, None, "wrap")
                parts.append(Additions(sheet.keys(own), sizes, entries, counter, amount))
        return parts[0] if len(parts) == 1 else Additions(*map(np.concatenate, zip(*parts, strict=True)))


class _Sheet:
    """All rows of a flush that answer one layout. Batches are counted from 0 here; `numbers` are the flush's."""

    def __init__(self, table: Lookup, numbers: IntArray, batches: Sequence[Batch]) -> None:
        self.table = table
        self._numbers = numbers
        groups: dict[tuple[int, int], int] = {}
        self._group = np.array([groups.setdefault((b.key.epoch, b.segment), len(groups)) for b in batches])
        self._groups = list(groups)
        self.most_keys = len(groups) * len(table.sizes)
        """How many keys there can be."""
        rows = np.frombuffer(b"".join([batch.rows for batch in batches]), dtype="<u8")
        self._owner = np.arange(len(batches)).repeat([len(batch.rows) // ROW_BYTES for batch in batches])
        self._payload = rows & _PAYLOAD
        self._column = (rows >> _TO_COLUMN).view(np.int64)
        self._wide, self._bad_wide = gather(table.shapes, [batch.wide_rows for batch in batches])

    def keys(self, raw: IntArray) -> KeyArray:
        """The keys that `entries` numbers so."""
        keys: KeyArray = self.table.keys.take(raw, None, None, "wrap")
        epoch, segment = self._groups[0]
        if len(self._groups) > 1:
            epoch, segment = np.array(self._groups)[raw // len(self.table.sizes)].T
        keys["epoch"], keys["segment"] = epoch, segment
        return keys

    def malformed(self) -> IntArray:
        """The flush's number of every batch with a row that cannot be, or with two rows of one metric."""
        table, column, payload = self.table, self._column, self._payload
        bad = payload >= _of(table.limit, column)
        if table.any_weighed:
            bad |= np.bitwise_count(payload & _of(table.weighed, column)) != _of(table.weight, column)
        metrics = self._owner * (table.metrics + 1) + _of(table.metric, column)
        if self._wide:
            wide_metrics = [wide.owner * (table.metrics + 1) + table.metric[wide.column] for wide in self._wide]
            metrics = np.concatenate([metrics, *wide_metrics])
        metrics.sort()
        same = metrics[1:] == metrics[:-1]
        if not (self._wide or self._bad_wide or np.count_nonzero(bad) or np.count_nonzero(same)):
            return _NOBODY
        twice = metrics[1:][same] // (table.metrics + 1)
        owners = [self._owner[bad], twice, np.array(self._bad_wide, dtype=np.int64)]
        owners += [wide.owner[wide.bad()] for wide in self._wide]
        numbers: IntArray = self._numbers[np.concatenate(owners)]
        return numbers

    def entries(self, keep: BoolArray) -> Iterator[Entries]:
        """What the rows of the batches that are kept add: the narrow ones together, wide ones column by column."""
        kept = keep[self._numbers]
        column, payload, group = self._column, self._payload, self._group.take(self._owner)
        if np.count_nonzero(kept) < len(kept):
            rows = kept[self._owner]
            column, payload, group = column[rows], payload[rows], group[rows]
        if len(column):
            yield self._narrow(column, payload, group)
        for wide in self._wide:
            chosen = kept[wide.owner]
            if chosen.any():
                own = self._group[wide.owner[chosen]]
                yield wide.entries(own * len(self.table.sizes) + wide.column, chosen)

    def _narrow(self, column: IntArray, payload: NDArray[np.uint64], group: IntArray) -> Entries:
        table = self.table
        first = table.starts.take(column)
        if len(self._groups) > 1:
            first += group * table.slots
        slots = [first + (payload & table.symbol.take(column)).view(np.int64)]
        if table.bitmap is not None:
            (chosen,) = table.bitmap.take(column).nonzero()
            slots.append(_bits(first.take(chosen), payload.take(chosen)))
        amounts = _NOBODY
        if table.integer is not None:
            (chosen,) = table.integer.take(column).nonzero()
            own = column.take(chosen)
            levels = _levels(payload.take(chosen), table.limit.take(own), table.gap.take(own))
            more, amounts = _moments(first.take(chosen), levels)
            slots.append(more)
        for number in table.codewords:
            (chosen,) = (column == number).nonzero()
            if len(chosen):
                shape = table.shapes[number]
                assert isinstance(shape, Codeword)
                more, sums = told(shape, first.take(chosen), payload.take(chosen))
                slots.append(more)
                amounts = np.concatenate([amounts, sums])
        every = slots[0] if len(slots) == 1 else np.concatenate(slots)
        if table.slots * len(self._groups) <= _FEW_SLOTS:
            raw, counter = table.flat(len(self._groups))
            slot, amount = _added(every, amounts, table.slots * len(self._groups))
            return raw.take(slot), counter.take(slot), amount
        slot, amount = _merged(every, amounts)
        group, within = np.divmod(slot, table.slots)
        column = table.starts.searchsorted(within, side="right") - 1
        return group * len(table.sizes) + column, within - table.starts[column], amount


_MOMENTS = np.arange(1, 4)[:, None]


def _of(values: NDArray[Any], column: IntArray) -> NDArray[Any]:
    """What the columns have; those that do not exist, what stands behind the last."""
    return values.take(column, None, None, "clip")


def _counted(values: IntArray, most: int) -> tuple[IntArray, IntArray]:
    """The values, which are in order and below `most`, each once, and how often each of them is there."""
    if most <= _FEW_SLOTS:
        counts = np.bincount(values)
        (own,) = counts.nonzero()
        return own, counts.take(own)
    (starts,) = begins(values).nonzero()
    return values[starts], np.diff(np.append(starts, len(values)))


def _bits(first: IntArray, payload: NDArray[np.uint64]) -> IntArray:
    """The slot of every bit that is set; the first slot of a bitmap is that of its reports."""
    bits = np.unpackbits(payload.astype("<u8", copy=False).view(np.uint8), bitorder="little")
    (places,) = bits.view(np.bool_).nonzero()
    slots: IntArray = (first + 1).take(places >> 6)
    slots += places & 63
    return slots


def _levels(payload: NDArray[np.uint64], size: NDArray[np.uint64], gap: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """What integers count as, from the lowest one on."""
    two = np.uint64(2)
    levels: NDArray[np.uint64] = payload + gap * ((payload >= two).astype(np.uint64) + (payload >= size - two))
    return levels


def _moments(first: IntArray, levels: NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
    """Slots and amounts of integers, beside one for the report: the level, and its square in two limbs."""
    squares = levels * levels  # levels are below 2^32
    amounts = np.empty((3, len(levels)), dtype=np.int64)
    amounts[0] = levels
    amounts[1], amounts[2] = squares & np.uint64(_LIMB), squares >> np.uint64(32)
    return (first + _MOMENTS).ravel(), amounts.ravel()


def _added(slots: IntArray, amounts: IntArray, most: int) -> tuple[IntArray, IntArray]:
    """The slots to which something is added, in order, and the sum of it: to the last slots the amounts, to those
    before them one each. Slots are below `most`, and may be there more than once."""
    ones = len(slots) - len(amounts)
    sums = np.bincount(slots[:ones], minlength=most)
    if len(amounts):
        np.add.at(sums, slots[ones:], amounts)
    (slot,) = sums.astype(np.bool_).nonzero()
    return slot, sums.take(slot)


def _merged(slots: IntArray, amounts: IntArray) -> tuple[IntArray, IntArray]:
    """The same, where there can be too many slots for an array of all of them."""
    every = np.concatenate([np.ones(len(slots) - len(amounts), dtype=np.int64), amounts])
    order = np.argsort(slots, kind="stable")
    ordered = slots[order]
    (starts,) = begins(ordered).nonzero()
    return ordered[starts], np.add.reduceat(every[order], starts)


def faults(batch: Batch) -> list[Fault]:
    """What is wrong with a malformed batch, in words: the first faults, up to a limit."""
    table = batch.table
    found: list[Fault] = []
    metrics: set[str] = set()
    rows = np.frombuffer(batch.rows, dtype="<u8").tolist()
    fields = [(f"rows[{i}]", row >> PAYLOAD_BITS, row & _PAYLOAD_MASK) for i, row in enumerate(rows)]
    fields += [(f"wide_rows[{i}]", column, payload) for i, (column, payload) in enumerate(batch.wide_rows)]
    for field, column, payload in fields:
        if column >= len(table.sizes):
            found.append((field, "no such column"))
            continue
        metric, shape = table.layout.columns[column]
        fault = _narrow_fault(shape, payload) if isinstance(payload, int) else _wide_fault(shape, payload)
        if fault:
            found.append((field, f"{metric}: {fault}"))
        elif metric in metrics:
            found.append((field, f"{metric}: reported twice"))
        metrics.add(metric)
    return found[:_MOST_FAULTS]


def _narrow_fault(shape: Shape, payload: int) -> str | None:
    if shape.wide:
        return "needs a wide row"
    if payload >= _limit(shape):
        return "the payload is out of the column's domain"
    if isinstance(shape, Bitmap) and shape.weight not in {None, payload.bit_count()}:
        return f"{shape.weight} bits are set in every payload"
    return None


def _wide_fault(shape: Shape, payload: bytes) -> str | None:
    length = wide_bytes(shape)
    if length < 0:
        return "needs a row of eight bytes"
    if len(payload) != length:
        return f"the payload has {length} bytes"
    if isinstance(shape, Bitmap):
        bits = int.from_bytes(payload, "little")
        if bits >> shape.size:
            return "the payload is out of the column's domain"
        if shape.weight not in {None, bits.bit_count()}:
            return f"{shape.weight} bits are set in every payload"
    elif isinstance(shape, Integers):
        entries = np.frombuffer(payload, "<i4")
        if np.abs(entries.astype(np.int64)).max() > shape.bound:
            return "an entry is out of its bounds"
        if too_long(shape, entries[np.newaxis]).any():
            return "the vector is longer than noise makes one"
    return None
