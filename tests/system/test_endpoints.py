"""Endpoints that are dead, hang or lie, and a disk that is away: the application notices nothing."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.commands import EDITOR
from support.endpoints import answering, dead, lying
from support.waiting import PATIENCE

HOW = ("dead", "silent", "garbage", "reset", "slow", "nowhere")
FEW = 5_000

APPLICATION = """
import json, sys, time
import deniable
begun = time.monotonic()
settings = deniable.Settings(
    write_behind=0.01, leeway=0.0, deadline=1e6, close_timeout=0.5,
    clock=lambda: 1e9 + (time.monotonic() - begun) * 10 * 86400  # ten days a second: epochs end all the time
)
device = deniable.Client(
    deniable.Collection.load(sys.argv[1]), endpoint=sys.argv[2], state=sys.argv[3],
    consent=deniable.Consent.GRANTED, segment={"platform": "linux"}, settings=settings,
)
calls, tried = 0, sys.argv[4]
while calls < FEW or not (tried == "disk" or "grpc" in sys.modules and device.status().waiting):
    for _ in range(500):
        device.record("session_minutes", 1.0)
        calls += 1
print(json.dumps({"calls": calls, "counts": dict(device.status().counts)}), flush=True)
""".replace("FEW", str(FEW))
"""Nothing in it ever gives up: a record that waited for the network would wait for a million seconds, and one that
waited for a file for seconds, thousands of times. So it only ends where no record waits."""


@contextlib.contextmanager
def endpoint_that(how: str) -> Iterator[str]:
    """An endpoint that is not as it should be."""
    if how == "dead":
        yield dead()
    elif how == "nowhere":
        yield "deniable.invalid:443"
    elif how == "slow":
        over = threading.Event()
        with answering(lambda *_: bytes(over.wait(PATIENCE) * 0)) as endpoint:
            yield endpoint.address
            over.set()
    else:
        with lying(how) as address:
            yield address


def ran(endpoint: str, state: Path, tried: str) -> tuple[dict[str, Any], str]:
    """What an application says that has recorded and ended, and what it printed on standard error."""
    process = subprocess.run(
        [sys.executable, "-c", APPLICATION, EDITOR, endpoint, state, tried],
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout), process.stderr


@pytest.mark.parametrize("how", HOW)
def test_an_endpoint_that_is_not_as_it_should_be_costs_nothing(tmp_path: Path, how: str) -> None:
    """No record waits for it, nor the application's end, and all that anybody hears of it is one warning at most.

    Batches wait, in the file.
    """
    with endpoint_that(how) as endpoint:
        said, printed = ran(endpoint, tmp_path / "device.db", "network")
    assert said["calls"] >= FEW
    assert not {"stored", "stored before"} & said["counts"].keys()
    assert printed.count("\n") <= 1, printed
    with contextlib.closing(sqlite3.connect(tmp_path / "device.db")) as file:
        assert file.execute("SELECT count(*) FROM queue").fetchone()[0] >= 1


def test_a_file_that_others_hold_delays_no_record(tmp_path: Path) -> None:
    """While another process keeps the state file locked, values wait in memory, and the application ends."""
    state = tmp_path / "device.db"
    with contextlib.closing(sqlite3.connect(state, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        said, printed = ran(dead(), state, "disk")
        other.execute("ROLLBACK")
    assert said["calls"] >= FEW
    assert printed.count("\n") <= 2, printed
