"""Debugging as a way out: whatever debugs, by mistake or by another's wish, tells nobody else what was recorded."""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable import Client, Consent
from deniable.__main__ import main
from deniable.device.debugging import place
from deniable_aggregator.web import DebugView
from support.application import COLLECTION, client
from support.debugging import at_home, viewing
from support.endpoints import answering
from support.recording import recording
from support.site import Running, running
from support.waiting import PATIENCE

LINE = json.dumps({
    "collection": "editor", "digest": "0", "program": "p", "process": 1, "start": 0, "seconds": 3600, "segment": {},
    "bytes": 0, "budget": 5.0, "reports": [], "refused": {}, "mistakes": [],
}).encode() + b"\n"  # fmt: skip
"""What a debug client tells a view."""


@pytest.fixture(autouse=True)
def home() -> Iterator[Path]:
    """An account of its own, for each test."""
    with at_home() as directory:
        yield directory


def debugging(path: Path | None, endpoint: str) -> Client:
    """An application that was shipped with debug=True, to a person who has said yes."""
    return client(path, endpoint=endpoint, debug=True, strict=False)


def test_a_release_that_debugs_by_mistake_tells_nobody_anything(
    tmp_path: Path, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It sends nothing, writes nothing, begins no file, and says so at every start, without what was recorded."""
    caplog.set_level(logging.DEBUG)
    with answering() as endpoint:
        for _ in range(2):
            with debugging(tmp_path / "telemetry.db", endpoint.address) as device:
                device.record("minutes", 31415)
                assert not device.flush(0.5)
        assert endpoint.requests == []
    assert list(tmp_path.iterdir()) == []
    assert list(home.rglob("*")) == []
    starts = [record for record in caplog.records if "nothing is reported" in record.message]
    assert [record.levelname for record in starts] == ["WARNING", "WARNING"]
    assert "31415" not in caplog.text


def test_debugging_and_reporting_in_turn_is_one_answer(tmp_path: Path) -> None:
    """What an aggregator gets of a day is what it gets without: one report, paid for once."""
    state = tmp_path / "telemetry.db"
    with running(COLLECTION, debug=DebugView()) as aggregator, recording() as (endpoint, reports):
        for _ in range(3):
            with debugging(state, endpoint) as device:
                device.record("dark", True)
                assert device.flush(PATIENCE)
            with client(state, endpoint=endpoint, strict=False) as device:
                device.record("dark", True)
                device.flush(PATIENCE)
                assert len(device.ledger()) == 1
        assert len(reports.requests) == 1
        assert len(shown(aggregator)) == 3
        assert aggregator.server.totals().accepted == 0


def test_a_no_that_is_said_while_it_runs_is_heeded(tmp_path: Path) -> None:
    """The person says it at their terminal: nothing is shown from then on, and what was recorded, or refused as a
    mistake, is erased. A yes counts from the next start."""
    state = tmp_path / "telemetry.db"
    client(state, endpoint=None).close()
    with viewing() as view, debugging(state, "127.0.0.1:1") as device:
        device.record("minutes", 20)
        assert device.flush(PATIENCE)
        assert [report["recorded"] for report in view.showings[0]["reports"]] == ["20"]
        assert main([str(state), "consent", "withheld"]) == 0
        device.record("minutes", 31415)
        device.record("dark", "31415")
        assert not device.flush(PATIENCE), "at once, and it was not shown"
        assert len(view.showings) == 1
        assert device.consent is Consent.WITHHELD
        assert main([str(state), "consent", "granted"]) == 0
        device.record("minutes", 1)
        device.flush(PATIENCE)
        assert len(view.showings) == 1
        with debugging(state, "127.0.0.1:1") as later:
            later.record("minutes", 2)
            assert later.flush(PATIENCE)
        assert [report["recorded"] for report in view.showings[0]["reports"]] == ["2"]
        assert view.showings[0]["mistakes"] == []


def shown(aggregator: Running) -> list[dict[str, object]]:
    """What its debug view has."""
    with urllib.request.urlopen(aggregator.debug_url.replace("/debug", "/api/v1/debug"), timeout=PATIENCE) as answer:
        found: list[dict[str, object]] = json.load(answer)["showings"]
        return found


def test_another_site_s_script_gets_nothing(tmp_path: Path) -> None:
    """Not by a name that is made to point here, and not by being allowed to read an answer; nor can it be guessed."""
    with running(COLLECTION, debug=DebugView()) as aggregator:
        address = aggregator.debug_url.replace("/debug", "/api/v1/debug")
        origin = {"Origin": "https://example.org"}
        with urllib.request.urlopen(urllib.request.Request(address, headers=origin), timeout=PATIENCE) as answer:
            assert not [name for name in answer.headers if name.lower().startswith("access-control")]
            assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        with pytest.raises(urllib.error.HTTPError, match="421"):
            urllib.request.urlopen(urllib.request.Request(address, headers={"Host": "example.org"}), timeout=PATIENCE)
        assert len(address.partition("key=")[2]) >= 22, "128 bits"


def test_another_account_that_answers_at_the_socket_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where what it has put there came after the file was looked at: the kernel says who is at the other end."""
    own = os.geteuid()
    says = itertools.cycle((own, own + 1))  # the file is this account's, and who answers is not
    place().parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(place()))
        other.listen()
        monkeypatch.setattr(os, "geteuid", lambda: next(says))
        with debugging(None, "127.0.0.1:1") as device:
            device.record("minutes", 31415)
            assert not device.flush(0.5)
            assert "at the other end is another account" in device.status().last_error
            connection, _ = other.accept()
            with connection:
                connection.settimeout(PATIENCE)
                assert connection.recv(1) == b""


def test_another_account_can_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the file's mode lets through: the view asks the kernel who is there before it reads."""
    own = os.geteuid()
    with viewing() as view, socket.socket(socket.AF_UNIX) as stranger:
        monkeypatch.setattr(os, "geteuid", lambda: own + 1)  # the view is another account than who connects
        stranger.settimeout(PATIENCE)
        stranger.connect(str(place()))
        with contextlib.suppress(ConnectionError):  # nothing is even read, and nobody waits for it to be said
            stranger.sendall(LINE)
            assert stranger.recv(64) == b""
        assert view.showings == []


def test_who_connects_and_says_nothing_keeps_nobody_out() -> None:
    """Silent connections have an end, and so has their number; those who have something to show come through."""
    with running(COLLECTION, debug=DebugView()) as aggregator:
        silent = [socket.socket(socket.AF_UNIX) for _ in range(40)]
        try:
            for each in silent:
                each.settimeout(PATIENCE)
                each.connect(str(place()))
            assert silent[-1].recv(1) == b"", "one too many"
            silent[0].setblocking(False)
            with pytest.raises(BlockingIOError):
                silent[0].recv(1)  # the first are waited for
            silent.pop(0).close()
            with debugging(None, aggregator.endpoint) as device:
                device.record("dark", True)
                assert device.flush(PATIENCE)
            assert len(shown(aggregator)) == 1
        finally:
            for each in silent:
                each.close()
