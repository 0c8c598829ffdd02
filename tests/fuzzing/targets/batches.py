"""Batches: what a device sends, and what anybody sends who calls as one.

The first byte of an input says how the rest of it is used: as the message itself, or behind the head of a sound batch
of one of six collections, as fields that go on, as rows, or as reports that are mostly sound. So the search need not
find a digest by chance, nor a bitmap with seven bits of sixty.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from random import Random

from google.protobuf.message import DecodeError

from deniable.payload import Bitmap, Codeword, Integer, Integers, Shape, Symbol
from deniable.v1.report_service_pb2 import SubmitReportsRequest, WideRow
from deniable.wire.protobuf import bytes_field
from deniable.wire.rows import encode_rows, encode_wide_rows
from deniable_aggregator.ingest import Calendar, Layout
from deniable_aggregator.ingest.admission import Admission
from deniable_aggregator.ingest.flush import Flush, Stored
from deniable_aggregator.ingest.refusal import NOT_A_REQUEST, Refusal
from deniable_aggregator.ingest.rows import Batch
from deniable_aggregator.serving.server import layout_of
from deniable_aggregator.store import Additions, CounterKey, EpochKey
from fuzzing.plain import Plain, Sums, batch_of, sums
from fuzzing.target import Target
from planning.everything import EVERYTHING, VALUES
from support.aggregator_server import LAYOUT, NOW
from support.plain_rows import GAPS, NARROW, TOLD, arrays

__all__ = [
    "DOOR", "LAYOUTS", "TARGET", "added", "expected", "flushed", "message_of", "narrow_payload", "refused", "seeds",
    "wide_payload", "without_zeros",
]  # fmt: skip

EVERY = layout_of(EVERYTHING)
_MANY = tuple((f"m{number}", Symbol(2 + number % 3)) for number in range(520))
LARGE = Layout("large", 11, 3600, 2, (*_MANY, ("bits", Bitmap(60)), ("entries", Integers(3, 1000))))
"""Its batches are longer than what may have any number of fields."""
LAYOUTS = (LAYOUT, GAPS, TOLD, NARROW, EVERY, LARGE)
"""Of every shape, and of all mechanisms."""
BY_DIGEST = {layout.digest: (layout, len({metric for metric, _ in layout.columns})) for layout in LAYOUTS}
CALENDAR = Calendar(clock=lambda: NOW)
DOOR = Admission(LAYOUTS, CALENDAR)
_OFTEN = 5
"""So many of them are chosen by a byte; the last one takes long."""
_REPEATED = 0x3F
_ROWS = 5
_NOTHING: Sums = Counter()
_ID = bytes(range(16))


def head(layout: Layout) -> bytes:
    """How a sound batch of it begins: all that is not a report."""
    epoch = CALENDAR.accepted(layout)[1]
    return SubmitReportsRequest(batch_id=_ID, collection_digest=layout.digest, epoch=epoch).SerializeToString()


_HEADS = tuple(head(layout) for layout in LAYOUTS)


def message_of(data: bytes) -> bytes:
    """The message that an input stands for."""
    mode, rest = data[0] if data else 0, data[1:]
    if mode == 0:
        return rest
    if mode == _REPEATED:
        return _HEADS[-1] + (bytes_field(1, _ID * 4) + rest) * (4200 // (64 + len(rest)))
    layout, own = LAYOUTS[mode % _OFTEN], _HEADS[mode % _OFTEN]
    if mode < 0x40:
        return own + rest
    if mode < 0x80:
        return own + bytes_field(_ROWS, rest[: len(rest) // 8 * 8])
    return own + fitted(layout, rest)


def fitted(layout: Layout, rest: bytes) -> bytes:
    """Reports of seven bytes each: a column, and what its payload is made of. One in 256 is not fitted."""
    rows, wide, metrics = [], [], set()
    for at in range(0, len(rest) - 6, 7):
        column = rest[at] % (len(layout.columns) + (rest[at] == 255))
        payload = int.from_bytes(rest[at + 1 : at + 7], "little")
        metric, shape = layout.columns[column] if column < len(layout.columns) else ("", None)
        if metric in metrics and rest[at] < 0xF0:
            continue
        metrics.add(metric)
        if shape is None or payload >> 40 == 255:
            rows.append(column << 48 | payload)
        elif shape.wide:
            wide.append(WideRow(column=column, payload=wide_payload(shape, payload)))
        else:
            rows.append(column << 48 | narrow_payload(shape, payload))
    return SubmitReportsRequest(rows=struct.pack(f"<{len(rows)}Q", *rows), wide_rows=wide).SerializeToString()


def narrow_payload(shape: Shape, payload: int) -> int:
    """A payload of a shape, often at its end."""
    match shape:
        case Symbol(size) | Integer(size):
            return payload % size if payload & 1 else size - 1 - payload % min(size, 3)
        case Codeword(_, codewords, seeds):
            return payload % (codewords * seeds)
        case Bitmap(size, weight):
            return payload % (1 << size) if weight is None else _chosen(size, weight, payload)
        case _:
            raise AssertionError(shape)


def wide_payload(shape: Shape, payload: int) -> bytes:
    """A wide row's payload of a shape."""
    chance = Random(payload)
    match shape:
        case Bitmap(size, weight):
            bits = chance.getrandbits(size) if weight is None else _chosen(size, weight, payload)
            return bits.to_bytes(-(-size // 8), "little")
        case Integers(size, bound, _, norm):
            most = min(bound, math.isqrt(norm**2 // size)) if norm else bound
            return struct.pack(
                f"<{size}i", *(chance.choice((-most, most, chance.randint(-most, most))) for _ in range(size))
            )
        case _:
            raise AssertionError(shape)


def _chosen(size: int, weight: int, payload: int) -> int:
    return sum(1 << bit for bit in Random(payload).sample(range(size), weight))


def expected(message: bytes) -> tuple[str, Plain | None, Sums]:
    """What is to become of a message: a reason, or `stored` and what it adds."""
    batch = batch_of(message)
    if batch is None:
        return "MALFORMED_BATCH", None, _NOTHING
    if batch.digest not in BY_DIGEST:
        return "UNKNOWN_COLLECTION", batch, _NOTHING
    layout, metrics = BY_DIGEST[batch.digest]
    reports = len(batch.rows) // 8 + len(batch.wide_rows)
    if len(batch.batch_id) != 16 or batch.segment >= layout.segments or len(batch.rows) % 8:
        return "MALFORMED_BATCH", batch, _NOTHING
    if not 1 <= reports <= metrics:
        return "MALFORMED_BATCH", batch, _NOTHING
    accepted = CALENDAR.accepted(layout)
    if batch.epoch not in accepted:
        return "EPOCH_TOO_OLD" if batch.epoch < accepted[0] else "EPOCH_TOO_NEW", batch, _NOTHING
    total = sums(layout, batch)
    return ("stored", batch, total) if total is not None else ("MALFORMED_BATCH", batch, _NOTHING)


def judge(data: bytes) -> str:
    """A message is stored, and counted as what it says; or refused for what is wrong with it."""
    message = message_of(data)
    wanted, batch, total = expected(message)
    if not DOOR.bound.holds(message):
        # More than any batch: it says something twice, or what nobody has asked.
        told = DOOR.too_large(message)
        assert told.reason in {"MALFORMED_BATCH", "UNKNOWN_COLLECTION"}, told
        if batch is not None and wanted == "stored":
            own = written(batch)
            assert len(own) < len(message), "as short as a batch can be, and refused"
            assert DOOR.bound.holds(own)
        return "too large"
    outcome, found = flushed(message)
    assert outcome == wanted, (outcome, wanted)
    if outcome == "stored":
        assert batch is not None
        assert found == without_zeros(total), (found, total)
        own = written(batch)
        assert DOOR.bound.holds(own)
        assert batch_of(own) == batch
    return outcome


def written(batch: Plain) -> bytes:
    """A batch as protobuf writes it."""
    wide = [WideRow(column=column, payload=payload) for column, payload in batch.wide_rows]
    own = SubmitReportsRequest(
        batch_id=batch.batch_id, collection_digest=batch.digest, epoch=batch.epoch, segment=batch.segment,
        rows=batch.rows, wide_rows=wide,
    )  # fmt: skip
    return own.SerializeToString()


def flushed(message: bytes) -> tuple[str, Sums]:
    """What the product makes of a message, up to the store: a reason, or `stored` and what it adds."""
    try:
        request = SubmitReportsRequest.FromString(message)
    except DecodeError:
        return refused(NOT_A_REQUEST), _NOTHING
    batch = DOOR.admit(request)
    if isinstance(batch, Refusal):
        return refused(batch), _NOTHING
    flush = Flush([batch])
    (outcome,) = flush.outcomes
    if not flush._new:
        assert isinstance(outcome, Refusal)
        return refused(outcome), _NOTHING
    additions = flush._additions()
    flush._all_stored()
    assert flush.outcomes == [Stored.NOW]
    return "stored", added([batch], arrays(additions))[batch.key, batch.segment]


def refused(refusal: Refusal) -> str:
    """The word for it; what a device is told of it can be written."""
    assert refusal.message
    assert len(refusal.details()) < 4096
    return refusal.reason


def added(batches: list[Batch], additions: Additions) -> dict[tuple[EpochKey, int], Sums]:
    """What is added to the counters of each epoch and segment; what is said of keys is theirs."""
    tables = {batch.key.digest: batch.table.layout for batch in batches}
    found: dict[tuple[EpochKey, int], Sums] = {(batch.key, batch.segment): Counter() for batch in batches}
    keys = [CounterKey(*key) for key in additions.keys.tolist()]
    for key, size in zip(keys, additions.sizes.tolist(), strict=True):
        assert size == tables[key.digest].columns[key.column][1].counters
    entries = zip(additions.key.tolist(), additions.counter.tolist(), additions.amount.tolist(), strict=True)
    for number, counter, amount in entries:
        key = keys[number]
        assert 0 <= counter < int(additions.sizes[number])
        own = found[EpochKey(key.digest, key.epoch), key.segment]
        assert (key.column, counter) not in own, "said twice"
        own[key.column, counter] = amount
    return {group: without_zeros(own) for group, own in found.items()}


def without_zeros(own: Sums) -> Sums:
    """What changes a counter."""
    return Counter({entry: amount for entry, amount in own.items() if amount})


def sound() -> list[bytes]:
    """The messages of devices: each metric of everything that can be asked, alone and together."""
    reports = [
        EVERYTHING.metrics[name].randomize(EVERYTHING.metrics[name].kind.check(value))
        for name, values in VALUES.items()
        for value in values[:2]
    ]
    made = []
    for chosen in [*([each] for each in reports), reports[::2]]:
        rows = encode_rows(chosen, EVERYTHING.columns)
        wide = [WideRow(column=c, payload=p) for c, p in encode_wide_rows(chosen, EVERYTHING.columns)]
        made.append(
            _HEADS[LAYOUTS.index(EVERY)] + SubmitReportsRequest(rows=rows, wide_rows=wide).SerializeToString()
        )
    return made


def seeds() -> list[bytes]:
    """Whole messages, and the same behind a head."""
    every = _HEADS[LAYOUTS.index(EVERY)]
    behind = [b"\4" + each.removeprefix(every) for each in sound()]
    of_each = [bytes([mode + place, *range(70)]) for place in range(5, 10) for mode in (0x40, 0x80)]
    alone = [bytes([0x80 + 2, column, *range(3, 9)]) for column in range(len(LAYOUT.columns))]
    many = bytes([_REPEATED]) + b"\x2a\x08" + bytes(8)
    return [*(b"\0" + each for each in sound()), *behind, *of_each, *alone, many]


TARGET = Target(
    judge,
    seeds,
    frozenset({"stored", "MALFORMED_BATCH", "UNKNOWN_COLLECTION", "EPOCH_TOO_OLD", "EPOCH_TOO_NEW", "too large"}),
    words=tuple(_HEADS),
    longest=512,
)
