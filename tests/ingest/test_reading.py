"""How a worker reads: calls are not handed from thread to thread."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from pathlib import Path

import pytest

from deniable import Collection
from deniable_aggregator.serving.reading import DIRECTLY, read_directly
from support.aggregator_server import DAY, request
from support.aggregators import EXACT, connections, running

CALLS = 300


def handed_over(pid: int) -> int:
    """How often the threads that gRPC has for reading have gone to sleep, to be woken again."""
    slept = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if (task / "comm").read_text() == "event_engine\n":
                status = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
                slept += int(status["voluntary_ctxt_switches"])
    return slept


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted as Linux counts them")
def test_calls_are_not_handed_from_thread_to_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`deniable serve` has the thread that waits for calls read them: those that would else hand them over are woken
    less than once a call, and not five times."""
    for name in DIRECTLY:
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "metrics.toml"
    file.write_text(EXACT)
    digest, today = Collection.loads(EXACT).digest, int(time.time() // DAY)

    async def count() -> int:
        async with (
            running(file, "--data", tmp_path / "data") as aggregator,
            connections(aggregator.port, 1) as clients,
        ):
            (one,), (worker,) = clients, aggregator.workers()
            before = handed_over(worker)
            for number in range(CALLS):
                own = request((0, 1), batch_id=number.to_bytes(16, "big"), collection_digest=digest, epoch=today)
                assert await one.submit(own) is False
            return handed_over(worker) - before

    assert asyncio.run(count()) < CALLS


def test_what_was_said_before_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts an aggregator may have it read otherwise."""
    (name,) = DIRECTLY
    monkeypatch.setenv(name, "")
    read_directly()
    assert os.environ[name] == ""
    monkeypatch.delenv(name)
    read_directly()
    assert os.environ[name] == DIRECTLY[name]
