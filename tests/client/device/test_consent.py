"""Consent: remembered, changeable at any time, and a no erases at once all that was not sent."""

from __future__ import annotations

import itertools
import logging
import re
import sqlite3
import threading
from pathlib import Path

import grpc
import pytest

from deniable import Client, Collection, Consent, Settings
from deniable.device.consent import CI, NO_TRACKING, of_environment
from deniable.device.memo import Memo
from support.endpoints import answering
from support.waiting import PATIENCE

GRANTED, PAUSED, WITHHELD = Consent.GRANTED, Consent.PAUSED, Consent.WITHHELD
COLLECTION = Collection.loads(
    """
[collection]
name = "consent"
epoch = "1h"
owner = "o"
[budget]
epoch = 10
[metrics.told]
kind = "count"
description = "d"
epsilon = 1
max = 1000000
[metrics.again]
kind = "boolean"
description = "d"
epsilon = 1
memoize = true
instantaneous_epsilon = "linkable"
"""
)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 360_000.0

    def __call__(self) -> float:
        """The time that it shows."""
        return self.now


def client(
    path: Path | None,
    consent: Consent | None = None,
    endpoint: str | None = None,
    clock: Clock | None = None,
    write_behind: float = 0.01,
) -> Client:
    """A client that an application makes, with what it says of consent, if it says anything."""
    settings = Settings(write_behind=write_behind, leeway=0.0, clock=clock or Clock())
    return Client(COLLECTION, state=path, consent=consent, endpoint=endpoint, settings=settings, strict=True)


def test_nothing_is_collected_before_a_yes(tmp_path: Path) -> None:
    """Who has not been asked has not agreed."""
    with client(tmp_path / "device.db") as device:
        assert device.consent is WITHHELD
        device.record("told", 54321)
        device.flush(0.2)
        assert device.status().counts == {}
    assert b"54321" not in (tmp_path / "device.db").read_bytes()


@pytest.mark.parametrize(("given", "remembered"), list(itertools.product([None, *Consent], repeat=2)), ids=str)
def test_an_application_and_the_file_have_to_agree(
    tmp_path: Path, given: Consent | None, remembered: Consent | None
) -> None:
    """What holds is the stricter of what the application says at its start and what the person said last.

    So an application that always starts with GRANTED can not overrule a no, nor a file an application's no.
    """
    path = tmp_path / "device.db"
    if remembered is not None:
        with client(path) as device:
            device.set_consent(remembered)
    strictness = [GRANTED, PAUSED, WITHHELD]
    said = [consent for consent in (given, remembered) if consent is not None]
    with client(path, given) as device:
        assert device.consent is max(said, key=strictness.index, default=WITHHELD)


def test_the_person_may_say_anything_at_any_time(tmp_path: Path) -> None:
    """What is said to a running client holds, whatever was said before or at its start, and is remembered."""
    path = tmp_path / "device.db"
    with client(path, WITHHELD) as device:
        for consent in (GRANTED, PAUSED, WITHHELD, PAUSED, GRANTED):
            device.set_consent(consent)
            assert device.consent is consent
    with client(path) as device:
        assert device.consent is GRANTED


def test_paused_collects_and_keeps_to_itself(tmp_path: Path) -> None:
    """Answers wait, nothing is sent; granted again they leave."""
    with answering() as endpoint, client(tmp_path / "device.db", PAUSED, endpoint.address) as device:
        device.record("told", 1)
        device.flush(0.2)
        assert device.status().waiting == 1
        assert endpoint.requests == []
        device.set_consent(GRANTED)
        assert device.flush(PATIENCE)
        assert len(endpoint.requests) == 1


def test_a_no_erases_what_was_not_sent_and_keeps_what_would_be_asked_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Values in memory, values in the file and waiting batches go; secret, memo and ledger stay; and it says so."""
    caplog.set_level(logging.INFO, "deniable")
    path, clock = tmp_path / "device.db", Clock()
    device = client(path, GRANTED, clock=clock, write_behind=3600.0)  # what is in memory stays there
    device.record("told", 1)
    device.record("again", True)
    device.flush()
    secret = device._state.run(lambda connection: Memo(connection, "consent")._secret)
    clock.now += 3600
    device.record("told", 54321)
    device._write()
    device.record("told", 11111)
    assert b"54321" in path.read_bytes()
    (batch_id,) = device._state.run(lambda connection: connection.execute("SELECT batch_id FROM queue").fetchone())
    device.set_consent(WITHHELD)
    content = path.read_bytes()
    assert b"54321" not in content
    assert batch_id not in content
    assert device._keeper._recorded == {}
    assert device.status().waiting == 0
    assert device.status().counts["erased without consent"] == 2
    assert device.transcript() == [], "what never left is in no transcript"
    assert len(device.ledger()) == 2
    assert secret in content
    assert "erased" in caplog.text
    device.record("told", 22222)
    device.close()
    assert b"22222" not in path.read_bytes()


def test_coming_back_is_no_way_to_ask_again(tmp_path: Path) -> None:
    """After a no and a yes the same epoch is not answered again, and the memoized answer is the one of before."""
    clock = Clock()
    with answering() as endpoint, client(tmp_path / "device.db", GRANTED, endpoint.address, clock) as device:
        said = set()
        for _ in range(12):
            device.record("again", True)
            device.flush(0.5)
            device.set_consent(WITHHELD)
            device.set_consent(GRANTED)
            device.record("again", True)
            assert not device.flush(PATIENCE), "what was recorded after the yes is refused"
            clock.now += 3600
            said |= {entry.answer for entry in device.transcript()}
        assert len(device.ledger()) == 12
        assert [line.epsilon > 0 for line in device.ledger()].count(True) == 1
        assert len(said) == 1


def test_a_no_in_one_process_is_heard_in_the_others(tmp_path: Path) -> None:
    """Another process that shares the file collects nothing from the next write on, and sends nothing."""
    path, clock = tmp_path / "device.db", Clock()
    with answering() as endpoint:
        one, two = client(path, GRANTED, endpoint.address, clock), client(path, GRANTED, endpoint.address, clock)
        one.set_consent(WITHHELD)
        two.record("told", 54321)
        two.flush(0.3)
        assert two.consent is WITHHELD
        assert two.status().waiting == 0
        assert b"54321" not in path.read_bytes()
        one.set_consent(GRANTED)
        two._write()
        assert two.consent is GRANTED
        one.close()
        two.close()
    assert endpoint.requests == []


def test_a_no_ends_an_upload_under_way(tmp_path: Path) -> None:
    """It does not wait for an aggregator that takes its time; what had left stays in the transcript."""

    asked, no = threading.Event(), threading.Event()

    def answer(_number: int, context: grpc.ServicerContext) -> bytes:
        asked.set()
        no.wait(PATIENCE)
        return b""

    with answering(answer) as endpoint, client(tmp_path / "device.db", GRANTED, endpoint.address) as device:
        device.record("told", 1)
        assert not device.flush(0.0)
        assert asked.wait(PATIENCE)
        device.set_consent(WITHHELD)
        assert not no.is_set(), "it did not wait for the answer"
        no.set()
        assert device.status().waiting == 0
        assert [entry.fate for entry in device.transcript()] == ["sent"]


def test_there_is_no_network_before_a_yes(tmp_path: Path) -> None:
    """Neither a paused nor a withheld client connects to anything, nor loads what it would need to."""
    for consent in (PAUSED, WITHHELD):
        with answering() as endpoint, client(tmp_path / "device.db", consent, endpoint.address) as device:
            device.record("told", 1)
            device.flush(0.2)
            assert device._sender._uploader is None
        assert endpoint.requests == []


def test_a_remembered_word_that_makes_no_sense_is_a_no(tmp_path: Path) -> None:
    """A file of another version, or a damaged one, never turns into a yes."""
    path = tmp_path / "device.db"
    device = client(path, GRANTED)
    device._state.run(lambda connection: connection.execute("INSERT INTO meta VALUES ('consent', 'maybe')"))
    device.record("told", 54321)
    device.close()
    assert b"54321" not in path.read_bytes()
    with client(path, GRANTED) as device:
        assert device.consent is WITHHELD


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(
    ("person", "application", "environment", "by", "why"),
    [
        (None, None, "", "nobody", "nobody has agreed"),
        (None, WITHHELD, "", "application", "the application withholds consent"),
        (WITHHELD, None, "", "person", "the person has withheld consent"),
        (WITHHELD, WITHHELD, "1", "person", "the person has withheld consent"),
        (GRANTED, WITHHELD, "", "application", "the application withholds consent"),
        (GRANTED, WITHHELD, "1", "environment", "DO_NOT_TRACK in the environment"),
        (PAUSED, GRANTED, "", "", ""),
        (None, GRANTED, "", "", ""),
    ],
)
def test_a_status_says_who_has_withheld_consent(
    person: Consent | None, application: Consent | None, environment: str, by: str, why: str, debug: bool,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The person before the environment, and that before the application: in the order in which one can be asked
    again. And why nothing would be answered is said by the same word."""
    path = tmp_path / "device.db"
    if person:
        with client(path) as device:
            device.set_consent(person)
    monkeypatch.setenv(NO_TRACKING, environment)
    with Client(COLLECTION, state=path, consent=application, debug=debug) as device:
        status = device.status()
        assert (status.withheld_by, status.consent is WITHHELD) == (by, bool(by))
        assert all(why in told for told in status.unanswered.values())
        assert not by or status.unanswered
        device.set_consent(WITHHELD)
        assert device.status().withheld_by == "person"
        device.set_consent(GRANTED)
        assert device.status().withheld_by == ("environment" if environment else "")


def test_a_no_that_a_file_can_not_keep_is_the_person_s(tmp_path: Path) -> None:
    """And nobody has said no where a file that is lost may have had a word."""
    path = tmp_path / "device.db"
    with Client(COLLECTION, state=path, consent=GRANTED) as device, sqlite3.connect(path) as other:
        other.execute("BEGIN IMMEDIATE")
        device.set_consent(WITHHELD)
        assert device.status().withheld_by == "person"
        other.rollback()
    path.rename(tmp_path / "device.db.damaged")
    with Client(COLLECTION, state=path, consent=GRANTED) as device:
        assert (device.consent, device.status().withheld_by) == (WITHHELD, "nobody")


@pytest.mark.parametrize("name", [NO_TRACKING, *CI])
@pytest.mark.parametrize(
    ("value", "allowed"),
    [("1", WITHHELD), ("true", WITHHELD), ("please", WITHHELD), ("0", None), ("", None), (" False ", None)],
)
def test_the_environment_s_word(name: str, value: str, allowed: Consent | None) -> None:
    """Any value says no but those that say that it is not so."""
    found = of_environment({name: value})
    assert found.consent is allowed
    assert found.why.startswith(f"{name} in the environment") == (allowed is WITHHELD)
    assert of_environment({name: value}, count_ci=True).consent is (allowed if name == NO_TRACKING else None)
    assert of_environment({name: value, "DENIABLE_CONSENT": "granted"}).consent is (allowed or GRANTED)


@pytest.mark.parametrize("name", ["DO_NOT_TRACK", "CI"])
def test_the_environment_says_no(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DO_NOT_TRACK, and continuous integration, outrank what an application and the file say: nothing is recorded or
    sent, and the status names the variable and what helps."""
    path = tmp_path / "device.db"
    monkeypatch.setenv(name, "1")
    with answering() as endpoint, client(path, GRANTED, endpoint.address) as device:
        device.set_consent("granted")
        assert device.consent is WITHHELD
        device.record("told", 54321)
        assert not device.flush(0.1)
        assert endpoint.requests == []
        status = device.status()
        assert status.trouble.startswith(f"{name} in the environment")
        assert "unset it" in status.trouble
        assert status.unanswered == dict.fromkeys(COLLECTION.metrics, status.trouble)
        assert device.ledger() == []
    assert b"54321" not in path.read_bytes()


def test_a_fleet_may_live_in_continuous_integration(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application may count such machines, and never those whose people say no."""
    monkeypatch.setenv("CI", "true")
    with Client(COLLECTION, consent="granted", settings=Settings(count_ci=True)) as device:
        assert device.consent is GRANTED
        assert device.status().trouble == ""
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    with Client(COLLECTION, consent="granted", settings=Settings(count_ci=True)) as device:
        assert device.consent is WITHHELD
        assert "DO_NOT_TRACK" in device.status().trouble


def test_whoever_says_no_is_not_bothered(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The log has it once, where nobody reads it who has not asked to."""
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    caplog.set_level(logging.INFO, "deniable")
    with Client(COLLECTION, consent="granted") as device:
        for _ in range(3):
            device.record("told", 1)
            device.status()
    said = [record for record in caplog.records if "DO_NOT_TRACK" in record.getMessage()]
    assert [record.levelname for record in said] == ["INFO"]


def test_whoever_debugs_is_told_that_the_environment_says_no(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Or they would look at a debug view that stays empty."""
    monkeypatch.setenv("CI", "true")
    with Client(COLLECTION, consent="granted", debug=True) as device:
        assert re.search(r"DEBUGGING.*; CI in the environment says", device.status().trouble)
    assert any("CI in the environment" in each.message and each.levelname == "WARNING" for each in caplog.records)


def test_what_waits_is_erased_where_the_environment_says_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by any other no; and it is a word for one run, after which the person's own counts."""
    path = tmp_path / "device.db"
    with client(path, GRANTED) as device:
        device.record("told", 54321)
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    client(path, GRANTED).close()
    assert b"54321" not in path.read_bytes()
    monkeypatch.delenv("DO_NOT_TRACK")
    with client(path, GRANTED) as device:
        assert device.consent is GRANTED
