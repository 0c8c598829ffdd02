"""The client: what an application sees of it, and what it does behind the application's back."""

from __future__ import annotations

import asyncio
import logging
import signal
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from deniable import (
    Client,
    Collection,
    Consent,
    InvalidValueError,
    Settings,
    StateError,
    UnknownMetricError,
)
from deniable.device.ledger import read
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from support.endpoints import answering, dead
from support.waiting import PATIENCE, soon

HOUR = 3600
TEXT = """
[collection]
name = "client"
epoch = "1h"
owner = "o"
[budget]
epoch = 5
[segments]
platform = ["linux", "macos"]
[metrics.dark]
kind = "boolean"
description = "d"
epsilon = 1
[metrics.minutes]
kind = "count"
description = "d"
epsilon = 1
max = 100000
[metrics.until]
kind = "boolean"
description = "d"
epsilon = 1
expires = 1970-01-02
"""
COLLECTION = Collection.loads(TEXT)
FAST = Settings(write_behind=0.01, leeway=0.0, deadline=5.0)


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: float = 100.5 * HOUR) -> None:
        self.now = now

    def __call__(self) -> float:
        """The time that it shows."""
        return self.now


def client(path: Path | None = None, settings: Settings = FAST, **options: Any) -> Client:
    """A client of a device in its segment."""
    given: dict[str, Any] = {"consent": Consent.GRANTED, "segment": {"platform": "macos"}, "strict": True} | options
    return Client(COLLECTION, state=path, settings=settings, **given)


def looked(device: Client) -> None:
    """Return when its worker has looked at everything that there is to do, once more from the beginning."""
    looks = 0
    look = device._upload

    def counted() -> float:
        nonlocal looks
        wait = look()
        looks += 1
        return wait

    device._upload = counted  # type: ignore[method-assign]
    soon(lambda: device._worker.wake.set() or looks > 1)  # type: ignore[func-returns-value]
    device._upload = look  # type: ignore[method-assign]


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

    def answer(number: int, context: grpc.ServicerContext) -> bytes:
        if number < 3:
            context.abort(grpc.StatusCode.UNAVAILABLE, "later")
        return b""

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

    def answer(number: int, context: grpc.ServicerContext) -> bytes:
        if number == 0:
            context.set_trailing_metadata((("grpc-retry-pushback-ms", "1700"),))
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "busy")
        return b""

    with answering(answer) as endpoint, client(endpoint=endpoint.address) as device:
        device.record("dark", True)
        assert device.flush(PATIENCE)
    first, second = endpoint.times
    assert second - first >= 1.7


def test_a_refusal_that_is_final_drops_the_batch() -> None:
    """It is counted, logged once, and never sent again."""

    def answer(_number: int, context: grpc.ServicerContext) -> bytes:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "malformed")
        raise AssertionError

    with answering(answer) as endpoint, client(endpoint=endpoint.address) as device:
        device.record("dark", True)
        assert device.flush(PATIENCE)
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


def test_values_are_in_the_file_within_the_write_behind_time(tmp_path: Path) -> None:
    """An application that dies a moment later loses nothing."""
    path = tmp_path / "device.db"
    device = client(path, settings=Settings(write_behind=0.2))
    device.record("minutes", 31_415_926)
    soon(lambda: b"31415926" in path.read_bytes())
    device.close()


def test_values_survive_a_restart(tmp_path: Path) -> None:
    """What one process has recorded, the next one adds to and answers; closing writes what is in memory."""
    clock = Clock()
    settings = Settings(clock=clock)
    for _ in range(3):
        with client(tmp_path / "device.db", settings) as device:
            device.record("minutes", 1000)
    assert b"3000" in (tmp_path / "device.db").read_bytes()
    with answering() as endpoint, client(tmp_path / "device.db", settings, endpoint=endpoint.address) as device:
        clock.now += HOUR
        assert device.flush(PATIENCE)
        assert device.status().counts == {"answered": 1, "stored": 1}


def test_what_waits_survives_a_restart(tmp_path: Path) -> None:
    """A batch that could not be sent is sent by the next process; until then it waits as long as it was told."""
    clock = Clock()
    settings = Settings(clock=clock, leeway=0.0)
    with client(tmp_path / "device.db", settings, endpoint=dead()) as device:
        device.record("dark", True)
        assert not device.flush(0.5)
        assert device.status().waiting == 1
    with answering() as endpoint:
        with client(tmp_path / "device.db", settings, endpoint=endpoint.address) as device:
            device.record("minutes", 1)
            looked(device)
            assert endpoint.requests == [], "it was told to wait, and the clock stands still"
            clock.now += 10
        with client(tmp_path / "device.db", settings, endpoint=endpoint.address) as device:
            device.record("minutes", 1)
            soon(lambda: len(endpoint.requests) == 1)


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
            clock.now += 5.0
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


@pytest.mark.parametrize(
    ("metric", "value", "error", "words"),
    [
        ("drak", True, UnknownMetricError, "did you mean 'dark'"),
        (["dark"], True, UnknownMetricError, "no metric"),
        (None, True, UnknownMetricError, "no metric"),
        ("dark", 31415, InvalidValueError, "takes True or False"),
        ("minutes", "many", InvalidValueError, "takes an int"),
        ("minutes", -27182, InvalidValueError, "takes an int"),
        ("minutes", float("nan"), InvalidValueError, "takes an int"),
        ("minutes", [], InvalidValueError, "takes an int"),
    ],
)
def test_a_mistake_is_counted_and_logged_once_and_raised_only_if_strict(
    metric: Any, value: Any, error: type[Exception], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An application in the hands of its users never fails for its telemetry; one in a test does.

    The log names the metric and what kind of thing was recorded, but never the value: others read it.
    """
    with client() as device, pytest.raises(error, match=words):
        device.record(metric, value)
    with client(strict=False) as device:
        for _ in range(5):
            device.record(metric, value)
        (times,) = device.status().counts.values()
        assert times == 5
        device.flush()
        assert list(device.status().counts.values()) == [5], "in the file it is the same count"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "metric" in caplog.text or f"{metric}: a {type(value).__name__}" in caplog.text
    assert repr(value) not in caplog.text.replace("strict=True", "")


class Strange:
    """A value that fails when it is looked at."""

    def __repr__(self) -> str:
        raise RuntimeError("do not look at me")


def test_a_value_that_fails_when_it_is_looked_at_is_a_mistake_like_others() -> None:
    """Nothing of it gets through to the application."""
    with client(strict=False) as device:
        device.record("dark", Strange())
        assert device.status().counts == {"invalid value": 1}


def test_a_segment_that_is_none_collects_nothing_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """An application on a platform that nobody thought of starts; strict, it does not."""
    with pytest.raises(ValueError, match="amiga"):
        client(segment={"platform": "amiga"})
    with client(strict=False, segment={"platform": "amiga"}) as device:
        device.record("dark", True)
        device.flush()
        assert "amiga" in device.status().trouble
        assert device.status().counts == {}
    assert "amiga" in caplog.text


def test_an_expired_metric_is_not_even_recorded() -> None:
    """After its day no value of it is in memory or on disk."""
    with client(settings=Settings(clock=Clock(24.0 * HOUR))) as device:
        device.record("until", True)
        device.flush()
        assert device.status().counts == {}
    with client(settings=Settings(clock=Clock(23.0 * HOUR))) as device:
        device.record("until", True)
        device.flush()
        assert device.status().counts == {"answered": 1}


def test_without_an_endpoint_nothing_is_sent_and_all_else_works() -> None:
    """What is answered waits."""
    with client() as device:
        device.record("dark", True)
        assert not device.flush()
        assert device.status().waiting == 1


def test_a_file_that_can_not_be_written_keeps_values_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With a warning; nothing is answered on a ledger that is not on the disk; written later, all is there."""
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    clock = Clock()
    with answering() as endpoint:
        device = client(blocked / "device.db", Settings(clock=clock), strict=False, endpoint=endpoint.address)
        device.record("minutes", 40)
        assert not device.flush(0.2)
        device.record("minutes", 2)
        assert not device.flush(0.2)
        assert device.ledger() == []
        assert device.transcript() == []
        assert "device.db" in device.status().trouble
        assert endpoint.requests == []
        blocked.unlink()
        device.record("dark", True)
        device._write()
        assert b"42" in (blocked / "device.db").read_bytes()
        assert device.flush(PATIENCE)
        assert device.status().trouble == ""
        device.close()
    assert caplog.text.count("values stay in memory") == 1
    assert len(endpoint.requests) == 1


def test_values_that_can_not_be_written_do_not_outlive_their_epoch(tmp_path: Path) -> None:
    """Raw values are kept for the current epoch only, on disk and in memory."""
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    clock = Clock()
    device = client(blocked / "device.db", Settings(clock=clock, write_behind=60.0), strict=False)
    device.record("minutes", 40)
    clock.now += HOUR
    assert not device.flush(0.1)
    assert device._keeper._recorded == {}
    assert device.status().counts == {"lost before they were written": 1}
    device.close()


def test_strict_says_at_once_what_is_wrong_with_the_file(tmp_path: Path) -> None:
    """A developer sees it at the first start."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="device"):
        client(tmp_path / "file" / "device.db")


def test_a_damaged_file_costs_one_epoch(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Told that it may, a device answers nothing in this epoch, for nobody knows what was spent; then it does."""
    path, clock = tmp_path / "device.db", Clock()
    client(path, Settings(clock=clock)).close()
    path.write_bytes(path.read_bytes()[:100] + b"damaged " * 1000)
    with client(path, Settings(clock=clock)) as device:
        device.set_consent(Consent.GRANTED)
        device.record("dark", True)
        device.flush()
        assert device.status().counts == {"refused by the ledger": 1}
        assert device.ledger() == []
        clock.now += HOUR
        device.record("dark", True)
        device.flush()
        assert device.status().counts == {"refused by the ledger": 1, "answered": 1}
        assert not (tmp_path / "device.db.damaged").exists()
    assert caplog.text.count("set aside") == 1


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


def test_threads_record_together() -> None:
    """Eight threads lose no value."""
    with client() as device:

        def work() -> None:
            for _ in range(2000):
                device.record("minutes", 1)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        soon(lambda: not device._keeper._recorded)
        (state,) = device._state.run(lambda connection: connection.execute("SELECT state FROM raw").fetchone())
        assert state == "16000"


def test_a_signal_handler_may_record() -> None:
    """Whatever it interrupts, also a record: nothing deadlocks."""
    device = client()
    interrupted = 0

    def interrupt(*_: object) -> None:
        nonlocal interrupted
        interrupted += 1
        device.record("minutes", 1)

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        while interrupted < 100:
            device.record("minutes", 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    device.close()


def test_it_is_at_home_in_an_event_loop() -> None:
    """Recording there holds nothing up; what waits for the network goes to a thread."""

    async def application(device: Client) -> bool:
        for _ in range(100):
            device.record("minutes", 1)
            await asyncio.sleep(0)
        return await asyncio.to_thread(device.flush)

    with answering() as endpoint, client(endpoint=endpoint.address) as device:
        assert asyncio.run(application(device))


def test_two_clients_of_one_file_answer_once(tmp_path: Path) -> None:
    """What both have recorded is merged, and the epoch is answered by one of them."""
    clock = Clock()
    with answering() as endpoint:
        settings = Settings(clock=clock, write_behind=0.01)
        one, two = (client(tmp_path / "device.db", settings, endpoint=endpoint.address) for _ in range(2))
        for device in (one, two):
            device.record("minutes", 21)
            device.record("dark", True)
        two._write()
        assert one.flush(PATIENCE)
        two.flush()
        assert sorted(line.metric for line in read(tmp_path / "device.db")) == ["dark", "minutes"]
        one.close()
        two.close()
    batches = {SubmitReportsRequest.FromString(request).batch_id for request in endpoint.requests}
    assert len(batches) <= 2
    assert sum(len(SubmitReportsRequest.FromString(request).rows) for request in set(endpoint.requests)) == 16


def test_nothing_is_recorded_after_a_close() -> None:
    """And nothing raised; closing again does nothing."""
    device = client()
    device.record("dark", True)
    device.close()
    device.record("dark", True)
    device.close()
    assert device.status().counts == {}


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


def test_the_default_is_silence(caplog: pytest.LogCaptureFixture) -> None:
    """Where all goes well nothing is logged."""
    with answering() as endpoint, client(endpoint=endpoint.address) as device:
        device.record("dark", True)
        assert device.flush(PATIENCE)
    assert caplog.records == []
