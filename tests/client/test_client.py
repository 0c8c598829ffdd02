"""What an application sees of a client: what it records, from wherever it calls, and what it is told of mistakes."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import Any

import pytest

from deniable import Client, InvalidValueError, Settings, UnknownMetricError
from support.application import HOUR, Clock, client
from support.endpoints import answering
from support.waiting import PATIENCE, soon


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


def test_a_mistake_of_each_metric_is_told_and_named_by_a_flush(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever has two things wrong hears of both, once; a flush says what was wrong since the one before."""
    with client(strict=False, endpoint="127.0.0.1:9") as device:
        for _ in range(3):
            device.record("dark", "yes")
            device.record("minutes", "many")
            device.record("darkk", True)
            for number in range(30):
                device.record(f"ann_{number}@example.org", True)
        told = [
            "dark: a str that its kind does not take",
            "minutes: a str that its kind does not take",
            "a metric that the collection does not have; near: dark",
            "a metric that the collection does not have",
        ]
        said = [message.removeprefix("deniable: ").partition(" (strict")[0] for message in caplog.messages]
        assert said == told
        assert "example.org" not in caplog.text
        assert not device.flush(0.1)
        assert caplog.messages[-1].endswith(f"is stored: {'; '.join(told)}")
        device.record("minutes", "few")
        assert not device.flush(0.1)
        assert caplog.messages[-1].endswith(f"is stored: {told[1]}")


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
        signal.setitimer(signal.ITIMER_REAL, 0.001)  # not before: a slow machine would never get out of the first

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
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


def test_nothing_is_recorded_after_a_close() -> None:
    """And nothing raised; closing again does nothing."""
    device = client()
    device.record("dark", True)
    device.close()
    device.record("dark", True)
    device.close()
    assert device.status().counts == {}


def test_the_default_is_silence(caplog: pytest.LogCaptureFixture) -> None:
    """Where all goes well nothing is logged."""
    with answering() as endpoint, client(endpoint=endpoint.address) as device:
        device.record("dark", True)
        assert device.flush(PATIENCE)
    assert caplog.records == []
