"""Metrics that are fed: nothing is recorded for them, they are answered from what is recorded for their sources."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deniable import Client, Collection, Consent, InvalidValueError, Report, Settings
from deniable.device.epochs import seal, withhold
from deniable.device.memo import Memo
from deniable.testing import TestClient, _decoded
from deniable_aggregator.planning.check import findings
from support.commands import ROOT
from support.device import SEALING, Device, Stumbling
from support.fed import TEXT, VALUES, asked
from support.toys import known

HOUR = 3600
LAST = 5
"""The place of ("c", True) among the pairs; at epsilon 30 a device names another once in 10^12 times."""


@pytest.fixture(autouse=True)
def toys() -> Iterator[None]:
    """The kinds of these tests."""
    with known():
        yield


def named(collection: Collection, reports: list[Report]) -> dict[str, Report]:
    """Reports by their metrics."""
    return {collection.columns[report.column].metric: report for report in reports}


def raw(device: Device) -> list[Any]:
    """The metrics that have values in the file."""
    return device.state.run(lambda connection: connection.execute("SELECT metric FROM raw ORDER BY 1").fetchall())


def test_what_is_recorded_for_its_sources_answers_it(tmp_path: Path) -> None:
    """Recorded, reduced as each source says, sealed, queued: one report of each, from a real file.

    Its own epsilon is charged, and the transcript says what else is about the same values.
    """
    path, times = tmp_path / "state.db", [100.5 * HOUR]
    collection = asked()
    settings = Settings(clock=lambda: times[0])

    def client() -> Client:
        return Client(collection, state=path, consent=Consent.GRANTED, strict=True, settings=settings)

    with client() as first:
        for dark, browser in ((False, "a"), (True, "b"), (False, "c")):
            first.record("dark", dark)
            first.record("browser", browser)
    times[0] += HOUR
    with client() as second:
        second._write()
        assert second.status().counts == {"answered": 3}
        assert second.status().waiting == 1
        assert {charge.metric: charge.epsilon for charge in second.ledger()} == {"both": 30, "browser": 2, "dark": 1}
    device = Device(collection, path)
    assert raw(device) == []
    (request,) = device.state.run(lambda connection: connection.execute("SELECT request FROM queue").fetchall())
    assert named(collection, _decoded(request[0]))["both"].payload == LAST


def test_a_process_that_is_killed_between_recording_and_sealing_loses_nothing(tmp_path: Path) -> None:
    """What was written when it died is answered by the next one, once."""
    path, file = tmp_path / "state.db", tmp_path / "metrics.toml"
    file.write_text(TEXT)
    program = f"""
import os, signal, sys
sys.path[:0] = [{str(ROOT / "tests")!r}]
from deniable import Client, Collection, Consent, Settings
from deniable.kinds import KINDS
from support.toys import TOYS
KINDS.update(TOYS)
collection = Collection.load({str(file)!r})
client = Client(collection, state={str(path)!r}, consent=Consent.GRANTED, settings=Settings(clock=lambda: 360_001.0))
client.record("dark", True)
client.record("browser", "c")
client._write()
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=os.environ)
    assert ended.returncode == -signal.SIGKILL
    collection = asked()
    device = Device(collection, path)
    assert raw(device) == [("browser",), ("dark",)]
    sealed = device.seal(101 * HOUR)
    assert named(collection, sealed[100])["both"].payload == LAST
    assert sorted(named(collection, sealed[100])) == ["both", "browser", "dark"]
    assert device.seal(102 * HOUR) == {}
    assert (raw(device), device.spent) == ([], 33)


def test_sealing_is_all_or_nothing(tmp_path: Path) -> None:
    """Whichever statement fails, the values of the sources are there, and nothing is spent; then all is answered."""
    device = Device(asked(), tmp_path / "state.db")
    device.keep(VALUES, 0)

    def failing(connection: sqlite3.Connection, statement: int) -> dict[int, list[Report]]:
        return dict(seal(Stumbling(connection, statement), device.collection, HOUR, SEALING))  # type: ignore[arg-type]

    for statement in range(1000):
        try:
            sealed = device.state.run(partial(failing, statement=statement))
            break
        except ZeroDivisionError:
            assert (len(raw(device)), device.ledger) == (2, [])
    assert statement > 10
    assert sorted(named(device.collection, sealed[0])) == ["both", "browser", "dark"]


@pytest.mark.parametrize("missing", ["dark", "browser"])
def test_where_a_source_has_no_value_it_is_not_answered(missing: str) -> None:
    """Nor charged, as the other source is. What was recorded in another epoch, or before a flush, is no help."""
    device = Device(asked())
    (other,) = VALUES.keys() - {missing}
    device.keep({other: VALUES[other]}, 0)
    assert list(named(device.collection, device.seal(HOUR)[0])) == [other]
    device.keep({missing: VALUES[missing]}, 1)
    assert list(named(device.collection, device.seal(2 * HOUR)[1])) == [missing]
    device.keep({other: VALUES[other]}, 2)
    device.state.run(lambda connection: seal(connection, device.collection, 2.1 * HOUR, SEALING, everything=True))
    device.keep({missing: VALUES[missing]}, 2)
    assert list(named(device.collection, device.seal(3 * HOUR)[2])) == [missing]
    assert device.health == {"answered": 4}
    assert "both" not in {charge.metric for charge in device.ledger}
    device.keep(VALUES, 3)
    assert "both" in named(device.collection, device.seal(4 * HOUR)[3])


def test_its_sources_may_be_recorded_by_several_processes(tmp_path: Path) -> None:
    """They share the state file: whoever seals first answers it, once."""
    first, second = (Device(asked(), tmp_path / "state.db") for _ in range(2))
    first.keep({"dark": True}, 0)
    second.keep({"browser": "c"}, 0)
    assert named(first.collection, first.seal(HOUR)[0])["both"].payload == LAST
    assert second.seal(HOUR) == {}
    assert second.health == {"answered": 3}


@pytest.mark.parametrize("expiring", ["dark", "both"])
def test_it_ends_when_it_expires_or_a_source_does(expiring: str) -> None:
    """On the last day it is answered, and from the first day of the other's end it is not; `check` says so."""
    text = TEXT.replace(f"[metrics.{expiring}]", f"[metrics.{expiring}]\nexpires = 1970-01-02")
    collection = asked(text)
    said = [finding for finding in findings(collection) if "expires" in finding]
    assert [finding.partition(", when")[0] for finding in said] == (
        ["both: is not answered from 1970-01-02 on"] if expiring == "dark" else []
    )
    device = Device(collection)
    device.keep(VALUES, 23)
    assert "both" in named(device.collection, device.seal(24 * HOUR)[23])
    device.keep(VALUES, 24)
    assert "both" not in named(device.collection, device.seal(25 * HOUR)[24])


def test_a_value_that_was_never_written_answers_nothing() -> None:
    """A damaged value of a source is no value of it; one that stands under a fed metric's name is none either."""
    remembered = TEXT.replace("epsilon = 30", "epsilon = 1\nmemoize = true")
    cases = (("{", 1, TEXT), ('"north"', 2, TEXT), ("1", 2, TEXT), ("1", 2, remembered))
    for text, unanswered, metrics in cases:  # no JSON; no boolean, which the pair notices too
        device = Device(asked(metrics))
        device.keep(VALUES, 0)
        change = ("UPDATE raw SET state = ? WHERE metric = 'dark'", (text,))
        device.state.run(lambda connection, change=change: connection.execute(*change))  # type: ignore[misc]
        assert list(named(device.collection, device.seal(HOUR)[0])) == ["browser"]
        assert device.health == {"answered": 1, "could not be answered": unanswered}
    device = Device(asked())
    device.keep(VALUES, 0)
    device.state.run(
        lambda connection: connection.execute(
            "INSERT INTO raw SELECT collection, digest, 'both', epoch, ends, '{}' FROM raw WHERE metric = 'dark'"
        )
    )
    (reports,) = device.seal(HOUR).values()
    assert sorted(named(device.collection, reports)) == ["both", "browser", "dark"]
    assert device.health == {"answered": 3, "lost to a change of the collection": 1}


def test_it_is_refused_alone_where_the_budget_has_room_for_its_sources_only(tmp_path: Path) -> None:
    """What another collection of the device has spent counts for it as for any metric."""
    other = asked(TEXT.replace('"fed"', '"other"').replace("[metrics.dark]", "[metrics.d]").replace(
        "[metrics.browser]", "[metrics.b]").replace('"browser", "dark"', '"b", "d"').replace("both", "all").replace(
        "epsilon = 30", "epsilon = 8"))  # fmt: skip
    first = Device(other, tmp_path / "state.db")
    first.keep({"d": True, "b": "a"}, 0)
    first.seal(HOUR)
    second = Device(asked(), tmp_path / "state.db")
    second.keep(VALUES, 0)
    assert sorted(named(second.collection, second.seal(HOUR)[0])) == ["browser", "dark"]
    assert second.health["refused by the ledger"] == 1
    assert second.spent == 8 + 3 + 3


def test_nothing_can_be_recorded_for_it(caplog: pytest.LogCaptureFixture) -> None:
    """The error names what is to be recorded; without `strict` it is counted and logged once, and nothing is kept."""
    with TestClient(asked()) as client:
        with pytest.raises(InvalidValueError, match="both is answered from what is recorded for browser and dark"):
            client.record("both", {"browser": "a", "dark": True})
        assert client.recorded("both") is None
        client.record("dark", True)
        assert client.recorded("both") is None
        client.record("browser", "a")
        assert client.recorded("both") == {"browser": "a", "dark": True}
    with caplog.at_level(logging.WARNING), Client(asked(), consent=Consent.GRANTED) as client:
        client.record("both", {"browser": "a", "dark": True})
        client.record("both", 3)
        assert client.status().counts == {"invalid value": 2}
    assert [record.message.count("browser and dark") for record in caplog.records] == [1]


def test_withdrawing_consent_erases_what_it_would_have_been_answered_from(tmp_path: Path) -> None:
    """Values of its sources and reports that wait; its charges stay, and the epoch is not answered twice."""
    path = tmp_path / "state.db"
    collection, times = asked(), [100.5 * HOUR]
    settings = Settings(clock=lambda: times[0])
    with Client(collection, state=path, consent=Consent.GRANTED, strict=True, settings=settings) as client:
        for name, value in VALUES.items():
            client.record(name, value)
        client._write()
        client.set_consent(Consent.WITHHELD)
        device = Device(collection, path)
        assert (raw(device), device.ledger, client.status().waiting) == ([], [], 0)
        client.set_consent(Consent.GRANTED)
        for answered in (3, 3):
            for name, value in VALUES.items():
                client.record(name, value)
            client._write(everything=True)
            assert client.status().counts["answered"] == answered
            client.set_consent(Consent.WITHHELD)
            assert client.status().waiting == 0
            client.set_consent(Consent.GRANTED)
        assert client.status().counts["refused by the ledger"] == 3
        assert sum(charge.epsilon for charge in client.ledger()) == 33


def test_what_is_forgotten_answers_nothing(tmp_path: Path) -> None:
    """Neither what was erased, nor what was recorded for what its sources meant in another version."""
    device = Device(asked(), tmp_path / "state.db")
    device.keep(VALUES, 0)
    device.state.run(withhold)
    assert raw(device) == []
    assert device.seal(HOUR) == {}
    device.keep(VALUES, 1)
    changed = Device(
        asked(TEXT.replace('reduce = "any"', 'reduce = "all"').replace('"a", "b", "c"', '"a", "c", "b"')),
        tmp_path / "state.db",
    )
    assert changed.seal(2 * HOUR) == {}
    assert changed.health["lost to a change of the collection"] == 2
    assert (raw(changed), changed.ledger) == ([], [])


def test_it_is_remembered_as_any_other() -> None:
    """The pair's first answer is paid for once and repeated; another pair is another answer."""
    text = TEXT.replace("epsilon = 30", 'epsilon = 1\nmemoize = true\ninstantaneous_epsilon = "linkable"')
    device = Device(asked(text))
    said = [device.answers(VALUES, range(epoch, epoch + 1))[0]["both"].payload for epoch in range(12)]
    assert len(set(said)) == 1
    assert sum(charge.epsilon for charge in device.ledger if charge.metric == "both") == 1
    device.answers({"dark": False, "browser": "c"}, range(12, 13))
    assert sum(charge.epsilon for charge in device.ledger if charge.metric == "both") == 2


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("epsilon = 2\n", "epsilon = 1\n", True),
        ('reduce = "any"\n', 'reduce = "any"\nmemoize = true\n', True),
        ('reduce = "any"', 'reduce = "all"', False),
        ('"a", "b", "c"', '"a", "c", "b"', False),
        ("The dark theme is on", "The dark theme is on now", True),
        ('"The dark theme is on"', '"The dark theme is off"\nrevision = 2', False),
        ('["browser", "dark"]', '["dark", "browser"]', False),
    ],
)
def test_it_has_another_memory_when_its_sources_mean_something_else(old: str, new: str, same: bool) -> None:
    """And not when they are only reported in another way."""
    text = TEXT.replace("epsilon = 30", "epsilon = 2\nmemoize = true")
    assert text.count(old) in {1, 2}
    place = text.index(old)
    changed = text[:place] + new + text[place + len(old) :]

    def work(connection: sqlite3.Connection) -> bool:
        memo = Memo(connection, "fed")
        first, second = (memo.question(asked(each).metrics["both"]) for each in (text, changed))
        return first == second

    assert Device(asked()).state.run(work) is same
