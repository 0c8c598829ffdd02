"""What a client sends: which batches leave, when, and what becomes of them."""

from __future__ import annotations

import logging
import struct
import time
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from deniable import Client, Settings
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from support.application import COLLECTION, HOUR, Clock, client
from support.endpoints import answering, dead, refusing
from support.waiting import PATIENCE, soon


def test_what_is_recorded_arrives_as_one_report_a_metric() -> None:
    """Recorded, reduced, randomised, queued, sent: with the segment and the epoch, and nothing more."""
    clock = Clock()
    with answering() as endpoint:
        with client(settings=Settings(clock=clock), endpoint=endpoint.address) as device:
            for minutes in range(50):
                device.record("dark", minutes % 2 == 0)
                device.record("minutes", minutes)
            assert device.flush(PATIENCE)
            counts = device.status().counts
        (request,) = map(SubmitReportsRequest.FromString, endpoint.requests)
    assert (request.epoch, request.segment, request.collection_digest) == (100, 1, COLLECTION.digest)
    columns = {COLLECTION.columns[row >> 48].metric for (row,) in struct.iter_unpack("<Q", request.rows)}
    assert columns == {"dark", "minutes"}
    assert counts == {"answered": 2, "stored": 1}


def test_a_batch_is_the_same_bytes_at_every_try() -> None:
    """Refused three times and then stored: the same id, the same answers, nothing drawn anew."""
    answer = refusing(grpc.StatusCode.UNAVAILABLE, first=3)
    with answering(answer) as endpoint, client(endpoint=endpoint.address) as device:
        device.record("dark", True)
        for tries in range(1, 4):
            assert not device.flush(0.2)
            soon(lambda tries=tries: len(endpoint.requests) >= tries)  # type: ignore[misc]
        assert device.flush(PATIENCE)
        assert len(endpoint.requests) >= 4
        assert len(set(endpoint.requests)) == 1
        assert device.status().waiting == 0


def test_a_retry_waits_as_long_as_the_server_asks() -> None:
    """The next try after a pushback comes when it is over, on its own."""
    answer = refusing(grpc.StatusCode.RESOURCE_EXHAUSTED, ("grpc-retry-pushback-ms", "1700"), first=1)
    with answering(answer) as endpoint, client(endpoint=endpoint.address) as device:
        device.record("dark", True)
        assert device.flush(PATIENCE)
    first, second = endpoint.times
    assert second - first >= 1.7


def test_a_refusal_that_is_final_drops_the_batch() -> None:
    """It is counted, logged once, and never sent again."""
    with (
        answering(refusing(grpc.StatusCode.INVALID_ARGUMENT, words="malformed")) as endpoint,
        client(endpoint=endpoint.address) as device,
    ):
        device.record("dark", True)
        assert not device.flush(PATIENCE)
        assert device.status().counts == {"answered": 1, "rejected": 1}
        assert [entry.fate for entry in device.transcript()] == ["refused"]
    assert len(endpoint.requests) == 1


def test_epochs_end_by_themselves() -> None:
    """Without any flush, what was recorded in an epoch arrives after it."""
    clock = Clock(101 * HOUR - 0.6)
    begun = time.monotonic()
    settings = Settings(write_behind=0.01, leeway=0.0, clock=lambda: clock.now + (time.monotonic() - begun))
    with answering() as endpoint, client(settings=settings, endpoint=endpoint.address) as device:
        device.record("dark", True)
        soon(lambda: len(endpoint.requests) == 1)
        assert SubmitReportsRequest.FromString(endpoint.requests[0]).epoch == 100


def test_a_batch_leaves_within_its_leeway_and_not_before(tmp_path: Path) -> None:
    """Sealed, it waits for its random moment; an application that is not running then sends it when it next runs.

    It does so at a moment of that run, or when the run ends.
    """
    clock = Clock()
    with answering() as endpoint:
        settings = Settings(clock=clock, write_behind=0.01)

        def run(holds: Callable[[Client], bool]) -> None:
            with client(tmp_path / "device.db", settings, endpoint=endpoint.address) as device:
                device.record("dark", True)
                soon(lambda: holds(device))

        run(lambda _: True)
        clock.now = 101.0 * HOUR
        run(lambda device: device.status().waiting == 1)
        assert endpoint.requests == []
        clock.now += HOUR / 4 + 100
        run(lambda device: len(device._sender.missed) == 1)
        assert len(endpoint.requests) == 1


def test_a_batch_that_was_missed_leaves_soon_in_a_run_that_lasts(tmp_path: Path) -> None:
    """Each of several by itself, on a connection of its own."""
    clock = Clock()
    path = tmp_path / "device.db"
    for _ in range(4):
        with client(path, Settings(clock=clock, write_behind=0.01)) as device:
            device.record("dark", True)
            device.flush()
        clock.now += HOUR
    with answering() as endpoint:
        device = client(path, Settings(clock=clock, write_behind=0.01), endpoint=endpoint.address)
        device.record("minutes", 1)
        soon(lambda: len(device._sender.missed) == 4)
        assert endpoint.requests == []

        def gone() -> bool:
            clock.now += 20.0  # a third of what makes a batch late, and missed once more
            device.record("minutes", 1)
            return device.status().waiting == 0

        soon(gone)
        device.close()
    assert {SubmitReportsRequest.FromString(request).epoch for request in endpoint.requests} >= {100, 101, 102, 103}
    assert len(set(endpoint.peers)) == len(endpoint.peers) >= 4


def test_a_flush_sends_no_other_epochs_batch() -> None:
    """What waits of older epochs stays: beside the new one it would be known to come from the same device."""
    clock, down = Clock(), [True]

    def answer(_number: int, context: grpc.ServicerContext) -> bytes:
        if down:
            context.abort(grpc.StatusCode.UNAVAILABLE, "later")
        return b""

    with answering(answer) as endpoint:
        with client(settings=Settings(clock=clock), endpoint=endpoint.address) as device:
            device.record("dark", True)
            assert not device.flush(0.3)
            clock.now += HOUR
            down.clear()
            before = len(endpoint.requests)
            device.record("dark", True)
            assert device.flush(PATIENCE)
            assert device.status().waiting == 1
            sent = [SubmitReportsRequest.FromString(request).epoch for request in endpoint.requests]
        assert sent == [100] * before + [101]
    assert len(set(endpoint.peers)) == len(endpoint.peers)
    assert len(endpoint.requests) == before + 1, "nor when the program ends"


def test_what_is_too_old_is_dropped_and_said(tmp_path: Path) -> None:
    """As old as aggregators take it, it waits; a moment later it is gone, counted, and the transcript says so."""
    clock = Clock()
    settings = Settings(clock=clock, accept_late=2)
    with client(tmp_path / "device.db", settings, endpoint=dead()) as device:
        device.record("dark", True)
        assert not device.flush(0.3)
        clock.now = 103.0 * HOUR - 1
        device._write()
        assert device.status().waiting == 1
        clock.now += 1
        device._write()
        assert device.status().waiting == 0
        assert device.status().counts["too old to be taken"] == 1
        assert [entry.fate for entry in device.transcript()] == ["given up"]


def test_without_an_endpoint_nothing_is_sent_and_all_else_works() -> None:
    """What is answered waits."""
    with client() as device:
        device.record("dark", True)
        assert not device.flush()
        assert device.status().waiting == 1


def test_the_queue_is_bounded(tmp_path: Path) -> None:
    """A device that reaches nobody for long keeps the newest batches, and counts what it drops."""
    clock = Clock()
    with client(tmp_path / "device.db", Settings(clock=clock, queue_limit=5)) as device:
        for _ in range(12):
            device.record("dark", True)
            device.flush(0.0)
            clock.now += HOUR
        assert device.status().waiting == 5
        assert device.status().counts == {"answered": 12, "dropped from a full queue": 7}
        assert len(device.ledger()) == 12


def test_reports_are_printed_before_they_are_sent(caplog: pytest.LogCaptureFixture) -> None:
    """With the logger `deniable.reports` at DEBUG a developer reads each report in words before it leaves."""
    caplog.set_level(logging.DEBUG, "deniable.reports")
    printed: list[str] = []

    def answer(_number: int, _context: grpc.ServicerContext) -> bytes:
        printed.append(caplog.text)
        return b""

    with answering(answer) as endpoint, client(endpoint=endpoint.address) as device:
        device.record("dark", True)
        assert device.flush(PATIENCE)
    assert "sending dark: sent '" in printed[0]
    assert "send this 27% of the time" in printed[0]
