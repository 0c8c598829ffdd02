"""A device that is killed at any moment never sent more than its ledger says, and never the same time twice."""

from __future__ import annotations

import random
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from deniable import Collection
from deniable.device.ledger import read
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from support.commands import EDITOR
from support.recording import recording
from support.waiting import soon

EPOCH = 3600
DEVICE = """
import sys, time
import deniable
collection, endpoint, state, start = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
begun = time.monotonic()
clock = lambda: start + (time.monotonic() - begun) * 6 * 86400  # 144 hours a second
settings = deniable.Settings(clock=clock, write_behind=0.02, leeway=0.0, accept_late=10**6)
client = deniable.Client(
    deniable.Collection.load(collection), endpoint=endpoint, state=state, consent=deniable.Consent.GRANTED,
    segment={"platform": "linux"}, settings=settings, strict=True,
)
print("recording", flush=True)
while True:
    client.record("dark_mode", True)
    client.record("browser", "edge")
    client.record("session_minutes", 12.5)
    client.flush(0.2)
"""


def at_least(number: int, requests: list[SubmitReportsRequest]) -> bool:
    """Whether so much has arrived."""
    return len(requests) >= number


@pytest.mark.parametrize("kills", [12, pytest.param(30, marks=pytest.mark.deep)])
def test_a_killed_device_has_charged_for_all_that_it_sent(tmp_path: Path, kills: int) -> None:
    """Over all kills: every report that arrived has its charge, and no metric arrived twice for one epoch."""
    state, file = tmp_path / "device.db", tmp_path / "hourly.toml"
    file.write_text(EDITOR.read_text().replace('epoch = "1d"', 'epoch = "1h"'))
    collection = Collection.load(file)
    chance = random.Random(5)
    with recording() as (endpoint, recorder):
        for life in range(kills):
            # A device lives for less than two seconds, or 12 days: each life begins after the one before. All of
            # them together are too short for the ledger to add lines up.
            start, enough = str(life * 13 * 24 * EPOCH), len(recorder.requests) + 1
            process = subprocess.Popen(
                [sys.executable, "-c", DEVICE, file, endpoint, state, start], stdout=subprocess.PIPE
            )
            assert process.stdout is not None
            assert process.stdout.readline() == b"recording\n"
            if life % 2:  # every other one lives to send something, however slow the machine
                soon(partial(at_least, enough, recorder.requests))
            time.sleep(chance.random() * 0.2)
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
        requests = list(recorder.requests)
    charged = {(charge.metric, charge.start // EPOCH) for charge in read(state)}
    batches = {request.batch_id: request for request in requests}
    sent = Counter(
        (collection.columns[row >> 48].metric, request.epoch)
        for request in batches.values()
        for (row,) in struct.iter_unpack("<Q", request.rows)
    )
    assert len(sent) > kills, "too little arrived to say anything"
    assert not sent.keys() - charged
    assert set(sent.values()) == {1}
    repeated = Counter(request.batch_id for request in requests)
    assert all(
        request.SerializeToString() == batches[request.batch_id].SerializeToString() for request in requests
    ), repeated
