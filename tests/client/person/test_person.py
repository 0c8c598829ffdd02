"""`python -m deniable`: what the person whose device it is sees of it, and can say to it."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import deniable
from deniable import Client, Collection, Consent
from deniable.__main__ import main
from deniable.device.schema import MIGRATIONS
from deniable.device.state import State, health
from support.device import Device
from support.person import COLLECTION, DAY, FIRST, TEXT, VALUES, Person, answered, rows
from support.programs import isolated

READING: tuple[list[str], ...] = (["transcript"], ["ledger"], ["consent"], ["view", "--no-open"], [])


def test_the_transcript_says_what_was_sent_and_what_it_lets_somebody_believe(tmp_path: Path, person: Person) -> None:
    """Every report with its question, what became of it, what it cost, and odds that are those of its epsilon."""
    told = person(answered(tmp_path / "s.db"), "transcript").out
    assert told.count("sent; whether it arrived is not known") == 9
    assert "2024-10-04  dark_mode: The dark theme is on" in told
    assert told.count("it cost epsilon 1)") == 4, "three of the boolean, and one of what is remembered"
    assert told.count("remembered: paid for before") == 2
    words = " ".join(told.split())
    assert words.count("devices with the other answer send this 25% of the time, those with this one 75%") == 3
    assert words.count("who held an answer to be an even bet is at most 3 in 4 sure of it then") >= 6
    assert words.count("of which device it is from, it tells someone who") == 9
    assert "9 reports, the oldest first." in told


def test_the_ledger_says_what_it_cost_beside_what_it_may(tmp_path: Path, person: Person) -> None:
    """Per question and in all, against the budgets of the time and of a lifetime; memories count in advance."""
    told = person(answered(tmp_path / "s.db"), "ledger").out
    lines = {line.split()[1]: line.split()[2:5] for line in told.splitlines() if line.startswith("editor: ")}
    assert lines == {"crashed": ["3", "3", "3.29584"], "dark_mode": ["3", "3", "3"], "theme": ["3", "1", "1"]}
    assert "editor: dark_mode        3         3        3  953 in 1,000" in told, "e^3 to one"
    assert "This device has spent 7.29584 in all." in told
    assert (
        "asked by telemetry@example.org): at one time it may spend epsilon 6; 2024-10-06 took epsilon 3.09861."
        in told
    )
    assert "in all it may spend up to epsilon 12; epsilon 9.29584 counts against that." in told
    assert "What is remembered counts in advance." in told
    assert "crashed: It crashed today" in told


def test_how_often_a_device_is_asked_is_told(tmp_path: Path, person: Person) -> None:
    """Where its collection asks a part of its devices; and what its coins were is forgotten with all else."""
    path = tmp_path / "s.db"
    device = Device(Collection.loads(TEXT.replace(
        'epoch = "1d"', 'epoch = "1d"\nsample = 0.5')), path)  # fmt: skip
    device.answers(VALUES, range(FIRST, FIRST + 40))
    assert len(rows(path, "SELECT * FROM coin")) == 40
    device.state.close()
    assert "this device is asked about 0.5 of the time, by a coin of its own." in person(path, "ledger").out
    assert "asked about" not in person(answered(tmp_path / "other.db"), "ledger").out
    assert person(path, "forget", "--yes").code == 0
    assert rows(path, "SELECT * FROM coin") == []


def test_a_delta_is_told_with_its_chance(tmp_path: Path, person: Person) -> None:
    """Where there is one, no ratio holds without it."""
    body = (
        'kind = "vector"\ndescription = "It"\ndimensions = 2\nclip = 1\nnorm = "l2"\n'
        "epsilon = 1\ndelta = 1e-6\nfleet = 1000\n"
    )
    head = '[collection]\nname = "d"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = 1\n[metrics.v]\n'
    device = Device(Collection.loads(head + body), tmp_path / "s.db")
    device.answers({"v": [0.1, 0.2]}, range(FIRST, FIRST + 2))
    device.state.run(lambda connection: connection.execute("UPDATE transcript SET fate = 'sent'"))
    ledger, sent = person(tmp_path / "s.db", "ledger").out, person(tmp_path / "s.db", "transcript").out
    assert "but for a chance of 4e-06" in ledger
    assert "and delta 2e-06, in all." in ledger
    assert "Of delta it may spend 0.001; 2e-06 counts." in ledger
    assert "it cost epsilon 1 and delta 1e-06" in sent
    assert "but for that who held an answer to be an even bet is at most 17 in 20 sure" in " ".join(sent.split())


def test_a_device_that_has_said_nothing_says_so(tmp_path: Path, person: Person) -> None:
    """In every command, without a table."""
    with Client(COLLECTION, state=tmp_path / "s.db", consent=Consent.GRANTED):
        pass
    assert "Nothing has left this device" in person(tmp_path / "s.db", "transcript").out
    assert person(tmp_path / "s.db", "ledger").out == "This device has answered nothing, and spent nothing.\n"
    assert "You have said nothing here yet" in person(tmp_path / "s.db", "consent").out


def test_the_words_of_questions_are_noted_with_answers_and_follow_them(tmp_path: Path) -> None:
    """Nothing before the first answer; changed words, owners and budgets with the next one."""
    device = Device(COLLECTION, tmp_path / "s.db")

    def noted() -> dict[str, Any]:
        query = "SELECT key, value FROM meta WHERE key LIKE 'asked %'"
        return {key: json.loads(text) for key, text in rows(tmp_path / "s.db", query)}

    device.keep(VALUES, FIRST)
    assert noted() == {}
    device.seal((FIRST + 1) * DAY)
    assert noted()["asked editor"]["questions"]["theme"] == "The theme"
    device.collection = Collection.loads(
        TEXT.replace("The theme", "The theme in use").replace("epoch = 6", "epoch = 7")
    )
    device.answers({"crashed": True}, range(FIRST + 1, FIRST + 2))
    assert noted()["asked editor"]["questions"]["theme"] == "The theme in use"
    assert noted()["asked editor"]["epoch"] == 7.0


@pytest.mark.parametrize("command", READING, ids=lambda command: " ".join(command) or "nothing")
def test_reading_changes_nothing(tmp_path: Path, person: Person, command: list[str]) -> None:
    """Not one byte, not the mode, and nothing beside the file."""
    path = answered(tmp_path / "device" / "s.db")
    before = path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode
    assert person(path, *command).code == 0
    assert (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode) == before
    assert [each.name for each in path.parent.iterdir()] == ["s.db"]


def test_an_application_that_has_the_file_open_is_not_disturbed(tmp_path: Path) -> None:
    """Another process reads while this one is in the middle of a transaction, which then ends well."""
    state = State(answered(tmp_path / "s.db"))

    def work(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO health VALUES ('before', 1)")
        for command in ("transcript", "ledger", "consent"):
            ran = subprocess.run(
                [sys.executable, "-m", "deniable", tmp_path / "s.db", command], capture_output=True, text=True
            )
            assert (ran.returncode, ran.stderr) == (0, "")
        connection.execute("INSERT INTO health VALUES ('after', 1)")

    state.run(work)
    assert {"before", "after"} <= state.run(health).keys()


@pytest.mark.parametrize("command", [*READING, ["consent", "withheld"], ["forget", "--yes"]], ids=" ".join)
def test_what_is_no_state_file_is_refused_with_the_next_step(
    tmp_path: Path, person: Person, command: list[str]
) -> None:
    """A text, another application's database, a link, nothing at all: one line, exit code 2, and nothing changed."""
    (tmp_path / "text").write_text("no state file")
    other = sqlite3.connect(tmp_path / "other.db")
    other.executescript("CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')")
    other.close()
    (tmp_path / "link").symlink_to(answered(tmp_path / "s.db"))
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    for name in ("text", "other.db", "link", "nowhere"):
        said = person(tmp_path / name, *command)
        assert (said.code, said.out) == (2, "")
        assert said.error.count("\n") == 1
        assert "`python -m deniable` lists the state files that it finds" in said.error
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_a_file_of_another_version_is_refused_and_left(tmp_path: Path, person: Person) -> None:
    """What it says is not guessed at, and an older application goes on with it."""
    connection = sqlite3.connect(tmp_path / "s.db")
    connection.executescript(MIGRATIONS[0] + ";PRAGMA user_version = 1")
    connection.close()
    before = (tmp_path / "s.db").read_bytes()
    for command in (["ledger"], ["consent", "withheld"], ["forget", "--yes"]):
        said = person(tmp_path / "s.db", *command)
        assert said.code == 2
        assert "written by another version of deniable" in said.error
    assert (tmp_path / "s.db").read_bytes() == before


def test_it_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    """With site-packages out of reach every command works, and nothing of gRPC or protobuf is there to be loaded."""
    path = answered(tmp_path / "s.db")
    program = (
        "from deniable.__main__ import main\nimport json, sys\n"
        "code = main(json.loads(sys.argv[1]))\n"
        "sys.stderr.write(json.dumps([code, sorted(sys.modules)]))"
    )
    for command in ([], ["transcript"], ["ledger"], ["consent", "paused"], ["forget", "--yes"],
                    ["view", "--no-open", "--to", str(tmp_path / "page.html")]):  # fmt: skip
        code, loaded = json.loads(isolated(program, json.dumps([str(path), *command])).stderr)
        assert code == 0
        assert {name.partition(".")[0] for name in loaded} - {"deniable", "__main__"} <= sys.stdlib_module_names


def test_state_files_are_found_where_applications_are_told_to_put_them(tmp_path: Path, person: Person) -> None:
    """Those of this person, also where XDG_STATE_HOME was not set; what only has the name is somebody else's."""
    said = person()
    assert (said.code, said.out) == (2, "")
    assert "no state file was found" in said.error
    assert "python -m deniable STATE" in said.error
    editor = answered(deniable.state_path("editor"))
    other = answered(tmp_path / "home" / ".local" / "state" / "other" / "telemetry.db", 1)
    stranger = deniable.state_path("stranger")
    stranger.parent.mkdir(parents=True)
    stranger.write_text("mine")
    deniable.state_path("directory").mkdir(parents=True)
    listed = person()
    assert listed.code == 0
    assert [line for line in listed.out.splitlines() if line.startswith(str(tmp_path))] == [str(other), str(editor)]
    assert "9 reports that left are listed, 3 batches wait." in listed.out
    assert "3 reports that left are listed, 1 batch waits." in listed.out
    both = person("transcript").out
    assert both.count("sent: ") == 12
    assert both.index(str(other)) < both.index(str(editor))
    for command in (["consent", "withheld"], ["forget", "--yes"]):
        said = person(*command)
        assert said.code == 2
        assert said.error.startswith(f"deniable: which one? {other}, {editor}")
    other.unlink()
    assert person("consent", "withheld").code == 0
    assert "You have said withheld" in person(editor, "consent").out


def test_a_file_that_can_not_be_read_does_not_hide_the_others(tmp_path: Path, person: Person) -> None:
    """The list has it with the reason."""
    answered(deniable.state_path("editor"))
    old = deniable.state_path("old")
    old.parent.mkdir()
    connection = sqlite3.connect(old)
    connection.executescript(MIGRATIONS[0] + ";PRAGMA user_version = 1")
    connection.close()
    listed = person().out
    assert f"{old}: written by another version of deniable" in listed
    assert "This device has spent" in listed


def test_the_page_is_for_its_owner_alone_and_nothing_is_written_over(tmp_path: Path, person: Person) -> None:
    """Mode 600 whatever the umask; a name that is taken is refused, a link too."""
    path, page = answered(tmp_path / "s.db"), tmp_path / "page.html"
    before = os.umask(0)
    try:
        said = person(path, "view", "--no-open", "--to", page)
    finally:
        os.umask(before)
    assert said.out.splitlines()[0] == str(page)
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    state = path.read_bytes()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for taken in (page, path, tmp_path / "link"):
        said = person(path, "view", "--no-open", "--to", taken)
        assert (said.code, said.out) == (2, "")
        assert "is there already: give the page a name of its own" in said.error
    assert path.read_bytes() == state
    assert not (tmp_path / "elsewhere").exists()
    assert "give the page another place" in person(path, "view", "--to", tmp_path / "no" / "where").error


def test_the_page_opens_in_the_browser_of_the_person(tmp_path: Path) -> None:
    """A page in a directory that only they can enter; without a browser it says where the page is."""
    path, seen = answered(tmp_path / "s.db"), tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\necho \"$1\" > '{seen}'\n")
    browser.chmod(0o700)
    for command, code in ((f"{browser} %s", 0), ("/nowhere/browser %s", 0)):
        ran = subprocess.run(
            [sys.executable, "-m", "deniable", path, "view"],
            capture_output=True, text=True, env=os.environ | {"BROWSER": command, "TMPDIR": str(tmp_path)},
        )  # fmt: skip
        assert (ran.returncode, ran.stderr) == (code, "")
        page = Path(ran.stdout.splitlines()[0])
        assert page.parent.parent == tmp_path
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
        assert "What this device has told" in page.read_text()
        if "nowhere" not in command:
            assert seen.read_text().strip() == page.as_uri()


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    """And says that reading changes nothing."""
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert "python -m deniable STATE consent withheld" in told
    assert "Reading changes nothing" in told
