"""Messages of streams: a gateway's batches, of which each stands or falls by itself, in one flush.

The first byte of an input says whether the rest is the message itself, or inputs of `batches` in a row, each behind
its length, which get ids of their own.
"""

from __future__ import annotations

from collections import Counter

from google.protobuf.message import DecodeError

from deniable.v1.report_service_pb2 import StreamReportsRequest
from deniable.wire.protobuf import bytes_field, number_field
from deniable_aggregator.ingest.flush import Flush
from deniable_aggregator.ingest.refusal import Refusal
from deniable_aggregator.ingest.rows import Batch
from deniable_aggregator.store import EpochKey
from fuzzing.plain import Sums, batch_of, fields
from fuzzing.target import Target
from fuzzing.targets import batches
from fuzzing.targets.batches import DOOR, added, expected, refused, without_zeros
from support.plain_rows import arrays

__all__ = ["TARGET"]

_BATCHES = 2
_OUTCOMES = frozenset({"no message", "empty", "stored", "some", "none"})


def message_of(data: bytes) -> bytes:
    """The message that an input stands for."""
    if not data or data[0] == 0:
        return data[1:]
    made, at = number_field(1, data[0]), 1
    while at < len(data):
        own = batches.message_of(data[at + 1 : at + 1 + data[at]])
        again = bytes_field(1, at.to_bytes(16, "big")) if data[0] & 1 else b""
        made += bytes_field(_BATCHES, own + again)
        at += 1 + data[at]
    return made


def judge(data: bytes) -> str:
    """All that is sound is counted as what it says, once for each id; nothing else is, and harms nobody."""
    message = message_of(data)
    found = fields(message)
    inner = [value for number, encoding, value in found or () if (number, encoding) == (_BATCHES, 2)]
    plain = None if found is None else [own for own in inner if isinstance(own, bytes)]
    if plain is not None and any(batch_of(own) is None for own in plain):
        plain = None
    try:
        request = StreamReportsRequest.FromString(message)
    except DecodeError:
        assert plain is None
        return "no message"
    assert plain is not None
    assert len(request.batches) == len(plain)
    admitted = [DOOR.admit(each) for each in request.batches]
    taken = [each for each in admitted if isinstance(each, Batch)]
    flush = Flush(taken) if taken else None
    told = iter(flush.outcomes if flush else ())
    totals: dict[tuple[EpochKey, int], Sums] = {}
    known: set[tuple[EpochKey, bytes]] = set()
    stored = 0
    for own, each in zip(plain, admitted, strict=True):
        wanted, _, total = expected(own)
        outcome = each if isinstance(each, Refusal) else next(told)
        if wanted != "stored":
            assert isinstance(outcome, Refusal)
            assert refused(outcome) == wanted
            continue
        assert isinstance(each, Batch)
        stored += 1
        if (each.key, each.id) not in known:
            known.add((each.key, each.id))
            totals.setdefault((each.key, each.segment), Counter()).update(total)
    if flush is None or not stored:
        return "none" if plain else "empty"
    kept = [number for ids in flush._new.values() for number in ids.values()]
    assert len(kept) == len(known)
    assert len(flush._repeats) == stored - len(known)
    counted = added([taken[number] for number in kept], arrays(flush._additions()))
    assert counted == {group: without_zeros(own) for group, own in totals.items()}
    return "stored" if stored == len(plain) else "some"


def seeds() -> list[bytes]:
    """Some batches in a row, of all sorts."""
    own = [each for each in batches.seeds() if len(each) < 256]
    rows = [own[number : number + 4] for number in range(0, len(own), 4)]
    return [bytes([first]) + b"".join(bytes([len(each)]) + each for each in row) for row in rows for first in (1, 2)]


TARGET = Target(judge, seeds, _OUTCOMES, words=batches.TARGET.words, longest=1500)
