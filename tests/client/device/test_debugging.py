"""Debug clients: what they would report is shown to who develops an application, and reported to nobody."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deniable import Client, Consent, Settings
from deniable.device import ledger
from deniable.device.debugging import place
from deniable.testing import TestClient
from deniable_aggregator.web import DebugView
from support.application import client
from support.debugging import at_home, viewing
from support.endpoints import answering
from support.waiting import PATIENCE, soon


@pytest.fixture(autouse=True)
def home() -> Iterator[Path]:
    """An account of its own, for each test."""
    with at_home() as directory:
        yield directory


@pytest.fixture
def view() -> Iterator[DebugView]:
    """A debug view of that account."""
    with viewing() as listening:
        yield listening


def debugging(path: Path | None = None, **options: Any) -> Client:
    """A debug client."""
    return client(path, **{"debug": True, "strict": False} | options)


def reports(view: DebugView, place: int = 0) -> dict[str, dict[str, Any]]:
    """Those of a showing, the newest unless told, by metric."""
    return {report["metric"]: report for report in view.showings[place]["reports"]}


def test_what_is_recorded_is_shown_beside_what_would_be_reported(view: DebugView) -> None:
    """In the words of the transcript, with the cost; what is recorded next adds to the same epoch."""
    with debugging() as device:
        device.record("minutes", 20)
        device.record("dark", True)
        assert device.flush(PATIENCE)
        first = reports(view)
        device.record("minutes", 22)
        assert device.flush(PATIENCE)
        assert device.ledger() == []
        assert device.transcript() == []
    assert (first["minutes"]["recorded"], reports(view)["minutes"]["recorded"]) == ("20", "42")
    dark = first["dark"]
    assert (dark["recorded"], dark["epsilon"], dark["delta"], dark["asked"]) == ("True", 1.0, 0.0, "d")
    assert dark["answer"] in {"'yes'", "'no'"}
    assert "send this 27% of the time, those with this one 73%" in dark["conclusion"]
    showing = view.showings[0]
    assert (showing["collection"], showing["process"], showing["budget"]) == ("client", os.getpid(), 5.0)
    assert showing["segment"] == {"platform": "macos"}
    assert showing["seconds"] == 3600
    assert 40 < showing["bytes"] < 80, "two reports of eight bytes, with their header"
    assert showing["refused"] == {}


def test_nothing_is_sent_spent_or_asked_of_the_file(tmp_path: Path, view: DebugView) -> None:
    """An installation's file is byte by byte what it was; where there is none, none is begun; nobody hears of it."""
    state = tmp_path / "telemetry.db"
    with answering() as endpoint:
        with client(state, endpoint=endpoint.address) as real:
            real.record("dark", True)
            assert real.flush(PATIENCE)
        before, sent = state.read_bytes(), len(endpoint.requests)
        for path in (state, tmp_path / "none.db"):
            with debugging(path, endpoint=endpoint.address) as device:
                device.record("dark", True)
                assert device.flush(PATIENCE), "what the installation has answered already is no matter"
                assert "nothing is reported to anybody" in device.status().trouble
                assert device.status().next_answer_at is None
        assert len(endpoint.requests) == sent == 1
    assert len(view.showings) == 2
    assert state.read_bytes() == before
    assert len(ledger.read(state)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["telemetry.db"]


@pytest.mark.parametrize(
    ("remembered", "said", "shown"),
    [
        (None, Consent.GRANTED, True),
        (None, None, False),
        (Consent.GRANTED, None, True),
        (Consent.WITHHELD, Consent.GRANTED, False),
        (None, Consent.PAUSED, False),
    ],
)
def test_no_consent_nothing_is_shown(
    tmp_path: Path, view: DebugView, remembered: Consent | None, said: Consent | None, shown: bool
) -> None:
    """What the person has said of the installation holds here too, and no application's word is above it."""
    state = tmp_path / "telemetry.db"
    if remembered:
        with client(state, consent=None) as real:
            real.set_consent(remembered)
    with debugging(state, consent=said) as device:
        device.record("dark", True)
        device.flush(PATIENCE)
    assert len(view.showings) == shown


def test_a_file_that_can_not_be_read_may_hold_a_no(
    tmp_path: Path, view: DebugView, caplog: pytest.LogCaptureFixture
) -> None:
    """So nothing is shown, and why is told."""
    (tmp_path / "telemetry.db").write_text("another program's")
    with debugging(tmp_path / "telemetry.db") as device:
        device.record("dark", True)
        assert device.consent is Consent.WITHHELD
    assert view.showings == []
    assert "consent counts as withheld" in caplog.text


@pytest.mark.parametrize(("word", "debugs"), [("1", True), ("yes", True), ("", False), ("0", False), ("Off", False)])
def test_the_environment_asks_for_it(
    word: str, debugs: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """By any word but a no; it is said at the start, loudly. Test clients are the same wherever they run."""
    monkeypatch.setenv("DENIABLE_DEBUG", word)
    with client(strict=False) as device:
        assert ("DEBUGGING" in device.status().trouble) is debugs
    assert [record.levelname for record in caplog.records if "DEBUGGING" in record.message] == ["WARNING"] * debugs
    with TestClient(device.collection) as test:
        assert test.status().trouble == ""


def test_without_a_view_it_is_said_and_one_that_comes_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever records before there is a view finds it there later."""
    with debugging() as device:
        device.record("dark", True)
        assert not device.flush(0.5)
        assert "no debug view: nobody listens there" in device.status().last_error
        assert "deniable serve COLLECTION --debug-view" in caplog.text
        with viewing() as view:
            soon(lambda: view.showings, "what was recorded before")
            assert reports(view)["dark"]["recorded"] == "True"
            assert device.flush(PATIENCE)
            assert device.status().last_error == ""


def test_mistakes_are_shown_with_what_was_recorded(view: DebugView) -> None:
    """All of them: the log has the first, and not its value."""
    with debugging() as device:
        device.record("dark", "yes")
        device.record("drak", True)
        soon(lambda: sum(len(showing["mistakes"]) for showing in view.showings) == 2, "two mistakes")
    told = " ".join(what for showing in view.showings for what in showing["mistakes"])
    assert "'yes'" in told
    assert "did you mean 'dark'" in told
    assert view.showings[0]["reports"] == []


PROGRAM = """
import os, sys
import deniable
collection = deniable.Collection.loads(sys.argv[1])
client = deniable.Client(collection, endpoint="127.0.0.1:1", consent="granted", segment={"platform": "linux"})
client.record("minutes", 1)
if os.fork() == 0:
    client.record("minutes", 10)
    sys.exit()
os.wait()
"""


def test_a_program_that_lives_for_a_moment_and_its_child_are_shown(view: DebugView) -> None:
    """At their end at the latest, each for itself: neither has a state file."""
    from support.application import TEXT

    environment = os.environ | {"DENIABLE_DEBUG": "1"}
    command = [sys.executable, "-c", PROGRAM, TEXT]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    shown = {showing["process"]: showing["reports"][0]["recorded"] for showing in reversed(view.showings)}
    assert sorted(shown.values()) == ["1", "10"]


@pytest.mark.parametrize("what", ["file", "link", "nothing of ours"])
def test_what_is_no_view_of_this_account_is_told_nothing(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under its name may be a file, a link to another's socket, or a socket of another account."""
    with viewing() as view:
        where = place()
        if what == "nothing of ours":
            other = os.geteuid() + 1
            monkeypatch.setattr(os, "geteuid", lambda: other)
        else:
            moved = where.with_name("moved")
            where.rename(moved)
            where.symlink_to(moved) if what == "link" else where.write_text("a file")
        with debugging() as device:
            device.record("dark", True)
            assert not device.flush(0.5)
            assert "not this account's" in device.status().last_error
        assert view.showings == []


def test_a_view_that_hangs_holds_nobody_up() -> None:
    """Whoever closes a client cuts short what is told to a view that does not answer; the worker ends."""
    place().parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(place()))
        silent.listen()
        device = debugging(settings=Settings(deadline=3 * PATIENCE))
        device.record("dark", True)
        with silent.accept()[0]:
            device.close(timeout=0.5)
            worker = device._worker._thread
            assert worker is not None
            soon(lambda: not worker.is_alive(), "the worker's end")
