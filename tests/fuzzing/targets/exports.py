"""Files of counters: read to the end as what they say, or refused in whole.

The first byte of an input says whether the rest is a whole file, or lines that get the last one that belongs to them.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Sequence

from deniable_aggregator.ingest import Layout
from deniable_aggregator.moving import FileFault
from deniable_aggregator.moving.importing import _parcels
from deniable_aggregator.moving.lines import Beginning, Doubtful, Epoch, Lines, Part, lines_of
from fuzzing.target import Target
from support.aggregator_server import LAYOUT as SHAPES
from support.plain_rows import NARROW

__all__ = ["LAYOUTS", "TARGET", "file_of"]

LAYOUTS = {layout.digest: layout for layout in (SHAPES, NARROW)}
"""Whose counters are taken."""
_KEYS = ("counters", "epoch", "doubt", "digest", "first", "segment", "column", "origins", "until", "lines")


def file_of(data: bytes) -> bytes:
    """The file that an input stands for."""
    rest = data[1:]
    if not data or data[0] == 0x30:
        return rest
    last = {"lines": rest.count(b"\n"), "sha256": hashlib.sha256(rest).hexdigest()}
    return rest + json.dumps(last, separators=(",", ":")).encode() + b"\n"


def judge(data: bytes) -> str:
    """What is taken is what its lines say one by one, each counter once; what is imported of it is the same."""
    file = file_of(data)
    try:
        *found, digest = lines_of(io.BytesIO(file), LAYOUTS)
    except FileFault as fault:
        assert str(fault).startswith("line ")
        assert len(str(fault)) < 1000
        return "refused"
    assert isinstance(digest, bytes)
    plain = [json.loads(line) for line in file.decode().split("\n")[:-2]]
    assert digest == hashlib.sha256(file[: file.rindex(b"\n", 0, -1) + 1]).digest()
    assert sum(isinstance(line, Part | Epoch | Doubtful | Beginning) for line in found) == sum(
        "digest" not in line for line in plain
    )
    assert _counted(found) == _plainly(plain)
    parcels = [*_parcels(io.BytesIO(file), LAYOUTS)]
    again = [line for parcel in parcels for line in (parcel.epoch, *parcel.parts)]
    assert _counted(again) == _counted(found)
    assert all(sum(len(part.counters) for part in parcel.parts) <= 1 << 16 for parcel in parcels)
    return "read"


def _counted(lines: Sequence[object]) -> Counter[tuple[int, ...]]:
    found: Counter[tuple[int, ...]] = Counter()
    epoch: Epoch | None = None
    for line in lines:
        if isinstance(line, Epoch):
            epoch = line
        elif isinstance(line, Part):
            assert epoch is not None
            for place, amount in enumerate(line.counters, line.first):
                where = (*epoch.key, line.column, line.segment, place)
                assert where not in found, "said twice"
                found[where] = amount
    return found


def _plainly(lines: list[dict[str, object]]) -> Counter[tuple[int, ...]]:
    """The counters, by nothing but the lines' own numbers."""
    found: Counter[tuple[int, ...]] = Counter()
    digest = epoch = 0
    for line in lines:
        if "digest" in line:
            digest = int(str(line["digest"]), 16)
        elif "epoch" in line:
            epoch = int(str(line["epoch"]))
        elif "counters" in line:
            column, segment, first, own = (line[key] for key in ("column", "segment", "first", "counters"))
            assert isinstance(own, list)
            for place, amount in enumerate(own):
                found[digest, epoch, int(str(column)), int(str(segment)), int(str(first)) + place] = amount
    return found


def _written(*layouts: Layout) -> bytes:
    """A file as it is written."""
    written = io.BytesIO()
    lines = Lines(written)
    lines.begin("0.1.0", simulated=False)
    lines.say(doubt=19_990, collection=SHAPES.name, epoch_seconds=SHAPES.epoch_seconds, reason="restored")
    for layout in sorted(layouts, key=lambda own: own.digest):
        lines.say(digest=f"{layout.digest:016x}", collection=layout.name, epoch_seconds=layout.epoch_seconds)
        for epoch in (19_990, 19_991):
            lines.say(epoch=epoch, until=(epoch + 1) * layout.epoch_seconds + 400 * 86_400, origins=[f"{epoch:032x}"])
            for column, (_, shape) in enumerate(layout.columns):
                lines.say(column=column, segment=0, first=0, counters=[*range(min(shape.counters, 4))])
    lines.end()
    return written.getvalue()


def seeds() -> list[bytes]:
    """Files as they are written, whole and up to their last line."""
    files = [_written(SHAPES), _written(NARROW, SHAPES), _written()]
    return [b"0" + file for file in files] + [b"1" + file[: file.rindex(b"\n", 0, -1) + 1] for file in files]


TARGET = Target(
    judge,
    seeds,
    frozenset({"read", "refused"}),
    words=(*(f'"{key}":'.encode() for key in _KEYS), b"{}", b"[[", b"-0"),
    text=True,
    longest=3000,
)
