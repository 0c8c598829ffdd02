"""What a flush costs, counted in instructions: the same on a busy host as on a quiet one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["measure"]

_BEFORE = {1: 1_375_000, 5: 1_720_000, 20: 2_569_000, 140: 8_437_000}
"""The same count at commit d4b1441, by batches a flush."""
_FLUSHES = (50, 150)
"""What a hundred flushes take is the difference: what is done once falls out of it."""
_TEXT = """\
# What a flush costs

Instructions of the aggregator's process for a flush, by how many batches of 20 reports it has (booleans, categories
and numbers in six segments): tickets, checking, adding up, the store's call, the board and the outcomes; not gRPC,
not the store's process, not the kernel. Counted by `valgrind --tool=callgrind`, as a hundred warm flushes' share.

| batches | instructions a flush | before | | instructions a batch | before |
|---|---|---|---|---|---|
{rows}

*Before* is commit d4b1441: redis-py's layers around every command, numpy's functions that are written in Python,
counts as JSON on the board. The goal was a third of that for small flushes: {verdict}.
"""


def _counted(batches: int, flushes: int) -> int:
    """Instructions of so many flushes, and of what is done once."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory, "out")
        options = (f"--callgrind-out-file={out}", "--zero-before=getsid", "--dump-before=getpgid")
        worker = (sys.executable, "-m", "benchmarks.workers.flushes", str(batches), str(flushes))
        subprocess.run(
            ["valgrind", "--tool=callgrind", *options, *worker],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
        found = re.search(r"^totals: (\d+)", Path(f"{out}.1").read_text(), re.MULTILINE)
    assert found
    return int(found[1])


def _of_one(batches: int) -> int:
    few, many = (_counted(batches, flushes) for flushes in _FLUSHES)
    return (many - few) // (_FLUSHES[1] - _FLUSHES[0])


def measure() -> str:
    """A page about it."""
    if not shutil.which("valgrind"):
        return "# What a flush costs\n\nNot measured: valgrind is missing (apt-get install valgrind)."
    found = {batches: _of_one(batches) for batches in _BEFORE}
    rows = "\n".join(
        f"| {batches} | {own:,} | {before:,} | {own / before:.2f} x | {own // batches:,} | {before // batches:,} |"
        for (batches, before), own in zip(_BEFORE.items(), found.values(), strict=True)
    )
    share = found[1] / _BEFORE[1]
    return _TEXT.format(rows=rows, verdict="it holds" if share <= 1 / 3 else f"it is {share:.2f}, and so missed")
