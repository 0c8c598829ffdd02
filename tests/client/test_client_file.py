"""What a client keeps in its state file: values and batches that outlive a process, and files that fail it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from deniable import Client, Consent, Settings, StateError
from deniable.device.ledger import read
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from support.application import HOUR, Clock, client
from support.endpoints import answering, dead
from support.waiting import PATIENCE, soon


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
    device = client(blocked / "device.db", Settings(clock=clock, write_behind=0.05), strict=False)
    device.record("minutes", 40)
    clock.now += HOUR
    assert not device.flush(0.1)
    soon(lambda: not device._keeper._recorded)
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


def test_a_flush_ends_when_another_process_has_sent_what_it_waits_for(tmp_path: Path) -> None:
    """That process has the batch for longer than anybody would wait, and tells nobody when it is stored."""
    took, seen = threading.Event(), threading.Event()

    def answer(_number: int, _context: object) -> bytes:
        assert seen.wait(PATIENCE)
        return b""

    with answering(answer) as endpoint:
        settings = Settings(clock=Clock(), deadline=2 * PATIENCE)
        one, two = (client(tmp_path / "device.db", settings, endpoint=endpoint.address) for _ in range(2))
        hurry, look = one._sender.hurry, one._sender.send_next

        def taken(since: int, patience: float) -> None:
            hurry(since, patience)
            batch = two._state.run(two._sender._take)
            took.set()
            threading.Thread(target=two._sender._send, args=[batch]).start()

        def looked() -> bool:
            sent = look()
            if took.is_set():
                seen.set()
            return sent

        one._sender.hurry, one._sender.send_next = taken, looked  # type: ignore[method-assign]
        one.record("dark", True)
        assert one.flush(PATIENCE)
        one.close()
        two.close()
    assert len(endpoint.requests) == 1


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
