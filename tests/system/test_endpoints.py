"""Endpoints that are dead, hang or lie, and a disk that is away: the application notices nothing."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.commands import EDITOR
from support.endpoints import answering, dead, lying

HOW = ("dead", "silent", "garbage", "reset", "slow", "nowhere")
CLOSE_TIMEOUT = 1.0
SLACK = 1.5
"""What a busy machine adds to an interpreter's end."""

APPLICATION = f"""
import json, sys, time
import deniable
begun = time.monotonic()
settings = deniable.Settings(
    write_behind=0.05, upload_window=0.0, deadline=30.0, close_timeout={CLOSE_TIMEOUT},
    clock=lambda: 1e9 + (time.monotonic() - begun) * 86400  # a day a second: epochs end all the time
)
device = deniable.Client(
    deniable.Collection.load(sys.argv[1]), endpoint=sys.argv[2], state=sys.argv[3],
    consent=deniable.Consent.GRANTED, segment={{"platform": "linux"}}, settings=settings,
)
def timed(call):
    before = time.perf_counter()
    call()
    return time.perf_counter() - before
def recorded():
    device.record("session_minutes", 1.0)
def control(counts={{}}):  # as much work as a record, without any of it
    for number in range(9):
        counts[number & 3, 1] = counts.get((number & 3, 1), 0.0) + 1.0
for _ in range(2000):
    timed(recorded), timed(control)
record, other = [], []
end = time.monotonic() + 1.2
while time.monotonic() < end:
    record.append(timed(recorded))
    other.append(timed(control))
said = {{
    "calls": len(record),
    "slow": sum(each > 0.001 for each in record),
    "slow_control": sum(each > 0.001 for each in other),
    "median": sorted(record)[len(record) // 2],
    "counts": dict(device.status().counts),
    "grpc": "grpc" in sys.modules,
    "ended": time.time(),
}}
print(json.dumps(said))
"""


@contextlib.contextmanager
def endpoint_that(how: str) -> Iterator[str]:
    """An endpoint that is not as it should be."""
    if how == "dead":
        yield dead()
    elif how == "nowhere":
        yield "deniable.invalid:443"
    elif how == "slow":
        with answering(lambda *_: bytes(time.sleep(20) or 0)) as endpoint:  # type: ignore[func-returns-value]
            yield endpoint.address
    else:
        with lying(how) as address:
            yield address


def ran(endpoint: str, state: Path) -> tuple[dict[str, Any], float, str]:
    """What an application has measured, how long it took to end, and what it printed on standard error."""
    process = subprocess.run(
        [sys.executable, "-c", APPLICATION, EDITOR, endpoint, state], capture_output=True, text=True, timeout=60
    )
    ended = time.time()
    assert process.returncode == 0, process.stderr
    said = json.loads(process.stdout)
    return said, ended - said["ended"], process.stderr


def check_never_delayed(said: dict[str, Any]) -> None:
    """Recording is as seldom held up for a millisecond as the same work that records nothing.

    Both are held up by whatever else the machine does. Were each record to wait for a disk or a network even once
    in a thousand times, there would be hundreds more of them.
    """
    assert said["calls"] > 5_000
    assert said["slow"] <= 2 * said["slow_control"] + said["calls"] / 5000
    assert said["median"] < 0.000_2


@pytest.mark.parametrize("how", HOW)
def test_an_endpoint_that_is_not_as_it_should_be_costs_nothing(tmp_path: Path, how: str) -> None:
    """No record waits for it, the application ends in time, and all that anybody hears of it is one warning at most.

    Batches wait, in the file.
    """
    with endpoint_that(how) as endpoint:
        said, ending, printed = ran(endpoint, tmp_path / "device.db")
    assert said["grpc"], "it was tried"
    assert not {"stored", "stored before"} & said["counts"].keys()
    check_never_delayed(said)
    assert ending < CLOSE_TIMEOUT + SLACK
    assert printed.count("\n") <= 1, printed
    with contextlib.closing(sqlite3.connect(tmp_path / "device.db")) as file:
        assert file.execute("SELECT count(*) FROM queue").fetchone()[0] >= 1


def test_a_file_that_others_hold_delays_no_record(tmp_path: Path) -> None:
    """While another process keeps the state file locked, values wait in memory; the application ends in time."""
    state = tmp_path / "device.db"
    with contextlib.closing(sqlite3.connect(state, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        said, ending, printed = ran(dead(), state)
        other.execute("ROLLBACK")
    check_never_delayed(said)
    assert ending < CLOSE_TIMEOUT + SLACK
    assert printed.count("\n") <= 2, printed
