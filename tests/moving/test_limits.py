"""Files of counters that are made to be large: what is kept of them while they are read is bounded."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from deniable_aggregator.moving import FileFault, ImportRefused, bring, lines
from deniable_aggregator.store import MOST_DOUBTS, Doubt, Doubted
from support.moved import LAYOUT, OLD, counted
from support.stored import stored

HEAD = {"deniable counters": 1, "release": "x", "simulated": False}
OF = {"digest": f"{LAYOUT.digest:016x}", "collection": "editor", "epoch_seconds": 86_400}


def written(*said: dict[str, Any]) -> bytes:
    """Lines as a file whose end is right."""
    text = b"".join(json.dumps(line).encode() + b"\n" for line in said)
    end = {"lines": len(said), "sha256": hashlib.sha256(text).hexdigest()}
    return text + json.dumps(end).encode() + b"\n"


def doubt(epoch: int) -> dict[str, Any]:
    """A line that doubts an epoch, at length."""
    return {"doubt": epoch, "collection": "editor", "epoch_seconds": 86_400, "reason": "r" * 300}


def epoch(number: int, origins: int) -> dict[str, Any]:
    """A line that begins an epoch of so many stores."""
    own = [f"{number:016x}{origin:016x}" for origin in range(origins)]
    return {"epoch": number, "until": int(time.time()) + 10**6, "origins": own}


def test_as_many_doubts_are_read_as_a_store_can_have() -> None:
    """The first one beyond is refused, and by then they have taken a few megabytes, not as many as the file has."""
    many = io.BytesIO(written(HEAD, *(doubt(number) for number in range(3 * MOST_DOUBTS))))
    tracemalloc.start()
    try:
        with pytest.raises(FileFault, match=f"line {MOST_DOUBTS + 2}: a file doubts {MOST_DOUBTS} epochs at most"):
            list(lines.lines_of(many, {LAYOUT.digest: LAYOUT}))
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    enough = io.BytesIO(written(HEAD, *(doubt(number) for number in range(MOST_DOUBTS))))
    assert len(list(lines.lines_of(enough, {LAYOUT.digest: LAYOUT}))) == MOST_DOUBTS + 2


def test_origins_of_all_epochs_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """50,000 epochs of 1,000 stores each would be 50 million; here the bound is 50."""
    monkeypatch.setattr(lines, "_MOST_NAMED", 50)
    for last, fits in ((10, True), (11, False)):
        file = io.BytesIO(written(HEAD, OF, epoch(OLD, 20), epoch(OLD + 1, 20), epoch(OLD + 2, last)))
        if fits:
            assert len(list(lines.lines_of(file, {LAYOUT.digest: LAYOUT}))) == 5
        else:
            with pytest.raises(FileFault, match="line 5: the epochs of a file have 50 origins together at most: exp"):
                list(lines.lines_of(file, {LAYOUT.digest: LAYOUT}))


class Unwritten(io.BytesIO):
    """A copy that nothing may be written to."""

    def write(self, _: object) -> int:
        """Nobody does."""
        raise AssertionError("it is copied")


def test_a_file_of_more_than_4_gib_is_not_even_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its length, before a byte of it is read; it says what to do."""
    file = tmp_path / "file"
    file.touch()
    os.truncate(file, (4 << 30) + 1)

    monkeypatch.setattr(tempfile, "TemporaryFile", Unwritten)

    async def move() -> None:
        async with stored() as store:
            with pytest.raises(FileFault, match="longer than 4 GiB: export fewer epochs at a time"):
                await bring(store, file, [LAYOUT])

    asyncio.run(move())


def test_doubts_that_find_no_room_claim_nothing(tmp_path: Path) -> None:
    """Of a store that is full of doubts a file with another one is refused, and not remembered as having come: a file
    of the same epochs without it is taken."""
    part = {"column": 0, "segment": 0, "first": 0, "counters": [1, 2]}
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_bytes(written(HEAD, doubt(3), OF, epoch(OLD, 1), part))
    other.write_bytes(written(HEAD, OF, epoch(OLD, 1), part))

    async def move() -> None:
        async with stored() as store:
            full = {Doubted("editor", 86_400, 100 + number): Doubt("r") for number in range(MOST_DOUBTS)}
            await store.doubts.put(full)
            with pytest.raises(ImportRefused, match="withdraw what is no longer doubted"):
                await bring(store, file, [LAYOUT])
            assert await counted(store, OLD, 0, 0) == {}
            assert (await bring(store, other, [LAYOUT])).added == 1
            assert await counted(store, OLD, 0, 0) == {0: 1, 1: 2}

    asyncio.run(move())
