"""What a flush costs, counted in instructions: the same on a busy host as on a quiet one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.workers.flushes import FLUSHES, SIZES

__all__ = ["measure"]

_BEFORE = {1: 1_375_000, 5: 1_659_000, 20: 2_472_000, 140: 7_240_000}
"""The same count at commit d4b1441, by batches a flush."""
_LIMIT = 1800.0
_TEXT = """\
# What a flush costs

Instructions of the aggregator's process for a flush, by how many batches of 20 reports it has (booleans, categories
and numbers in six segments): tickets, checking, adding up, the store's call, the board and the outcomes; not gRPC,
not the store's process, not the kernel. Counted by `valgrind --tool=callgrind`, over {flushes} warm flushes.

| batches | instructions a flush | before | | instructions a batch | before |
|---|---|---|---|---|---|
{rows}

*Before* is commit d4b1441: redis-py's layers around every command, numpy's functions that are written in Python,
counts as JSON on the board. The goal was a third of that for a flush of one batch, which is
nearly all fixed cost: {verdict}.
"""


def _counted() -> dict[int, int]:
    """Instructions of a flush, by how many batches it has."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory, "out")
        options = (f"--callgrind-out-file={out}", "--zero-before=getsid", "--dump-before=getpgid")
        subprocess.run(
            ["valgrind", "--tool=callgrind", *options, sys.executable, "-m", "benchmarks.workers.flushes"],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"},
            timeout=_LIMIT,
        )
        counts = [_total(Path(f"{out}.{2 * number}")) for number in range(1, len(SIZES) + 1)]
    return {size: count // FLUSHES for size, count in zip(SIZES, counts, strict=True)}


def _total(counted: Path) -> int:
    found = re.search(r"^totals: (\d+)", counted.read_text(), re.MULTILINE)
    assert found
    return int(found[1])


def measure() -> str:
    """A page about it."""
    if not shutil.which("valgrind"):
        return "# What a flush costs\n\nNot measured: valgrind is missing (apt-get install valgrind)."
    found = _counted()
    rows = "\n".join(
        f"| {batches} | {own:,} | {before:,} | {own / before:.2f} x | {own // batches:,} | {before // batches:,} |"
        for (batches, before), own in zip(_BEFORE.items(), found.values(), strict=True)
    )
    share = found[1] / _BEFORE[1]
    return _TEXT.format(
        rows=rows, flushes=FLUSHES, verdict="it holds" if share <= 1 / 3 else f"it is {share:.2f}, and so missed"
    )
