"""Counts of ingest, and the board where workers add them up."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deniable_aggregator.ingest import Board, Histogram
from deniable_aggregator.ingest.refusal import BUSY
from support.waiting import soon

WRITER = """
import sys
from pathlib import Path
from deniable_aggregator.ingest import Board
stats = Board(Path(sys.argv[1])).join(int(sys.argv[2]))
print("joined", flush=True)
while True:
    stats.accepted += 1
    stats.reports += 20
    stats.flush_seconds.observe(0.003)
    stats.refused["BUSY"] += 1
    stats.publish()
"""


def test_workers_add_up_and_go_on_after_a_restart(tmp_path: Path) -> None:
    """What two workers count is the sum of both; one that comes again goes on, and waits for nothing."""
    board = Board(tmp_path / "board")
    first, second = board.join(0), board.join(1)
    first.accepted, first.waiting = 5, 2
    second.accepted = 7
    first.publish()

    async def refuse() -> None:
        for _ in range(3):
            second.refuse(BUSY)
        await asyncio.sleep(0)

    asyncio.run(refuse())
    total = Board(tmp_path / "board").total()
    assert (total.accepted, total.waiting, total.refused) == (12, 2, {"BUSY": 3})
    again = Board(tmp_path / "board").join(0)
    assert (again.accepted, again.waiting) == (5, 0)
    again.accepted += 1
    again.publish()
    assert board.total().accepted == 13


def wait_for_more(path: Path, before: int) -> None:
    """Return when more batches have been counted than before."""
    soon(lambda: Board(path).total().accepted > before)


def test_a_worker_killed_at_any_moment_leaves_whole_counts(tmp_path: Path) -> None:
    """Workers are killed while they write without pause; what they leave always fits together, and never shrinks."""
    path = tmp_path / "board"
    before = 0
    for _ in range(4):
        with subprocess.Popen([sys.executable, "-c", WRITER, path, "3"], stdout=subprocess.PIPE) as worker:
            assert worker.stdout
            assert worker.stdout.readline() == b"joined\n"
            wait_for_more(path, before)
            os.kill(worker.pid, signal.SIGKILL)
            worker.stdout.read()
        total = Board(path).total()
        assert total.accepted > before
        assert total.reports == 20 * total.accepted
        assert total.refused == {"BUSY": total.accepted}
        assert sum(total.flush_seconds.counts) == total.accepted
        before = total.accepted


def test_what_is_read_while_it_is_written_fits_together(tmp_path: Path) -> None:
    """A reader beside a writer never sees a count of one moment beside one of another."""
    path = tmp_path / "board"
    with subprocess.Popen([sys.executable, "-c", WRITER, path, "0"], stdout=subprocess.PIPE) as worker:
        assert worker.stdout
        worker.stdout.readline()
        board, seen = Board(path), set[int]()
        while len(seen) < 200:  # the writer may not have its turn for a while
            total = board.total()
            assert total.reports == 20 * total.accepted
            seen.add(total.accepted)
        worker.kill()


def test_a_histogram_counts_up_to_and_including_each_bound() -> None:
    """A value on a bound belongs to it, and one beyond the last to none."""
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 3.0):
        histogram.observe(value)
    assert (histogram.counts, histogram.total) == ([2, 2, 1], 8.0)


@pytest.mark.parametrize("number", [-1, 512])
def test_a_board_has_room_for_so_many_workers(tmp_path: Path, number: int) -> None:
    """Slots are numbered from 0 to 511."""
    with pytest.raises(ValueError, match="slots 0 to 511"):
        Board(tmp_path / "board").join(number)


def test_a_board_has_its_room_on_the_disk_from_the_beginning(tmp_path: Path) -> None:
    """A disk that is full later ends nobody who writes to it: a part without room would be a signal, not an error."""
    path = tmp_path / "board"
    Board(path)
    told = path.stat()
    assert told.st_blocks * 512 >= told.st_size > 0


def test_a_board_of_an_older_version_is_read(tmp_path: Path) -> None:
    """Slots whose pages are JSON, as they once were, are added up and gone on from."""
    path = tmp_path / "board"
    Board(path)
    seconds, batches = [[1.0], [0] * 13, 0.5], [[1.0], [0] * 11, 7.0]
    counts = {
        "accepted": 5, "reports": 100, "duplicate": 1, "refused": {"BUSY": 2}, "flushes": 3, "store_errors": {},
        "waiting": 4, "flush_seconds": seconds, "flush_batches": batches,
    }  # fmt: skip
    slot = (1).to_bytes(8, "little") + bytes(2040) + json.dumps(counts).encode().ljust(2040)
    path.write_bytes(slot + path.read_bytes()[len(slot) :])
    assert Board(path).total().refused == {"BUSY": 2}
    again = Board(path).join(0)
    assert (again.accepted, again.flushes, again.waiting) == (5, 3, 0)
    again.accepted += 1
    again.publish()
    total = Board(path).total()
    assert (total.accepted, total.flush_batches.total, total.refused) == (6, 7.0, {"BUSY": 2})
