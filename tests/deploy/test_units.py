"""The units for one machine: what systemd says of them, and what they start."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from support.commands import COMMAND, EDITOR, ROOT
from support.deployed import DEPLOY, answers, batches, users
from support.ports import free_port
from support.programs import program
from support.servers import VALKEY
from support.submitting import submit
from support.waiting import PATIENCE, soon

HERE = DEPLOY / "systemd"
UNITS = ("deniable.service", "deniable-valkey.service")
ANSWERS = {"dark_mode": True, "crashed": False, "session_minutes": 40.0, "browser": "firefox"}
MOST_EXPOSED = {"deniable.service": "1.5", "deniable-valkey.service": "0.8"}
"""Of ten, by systemd's own reckoning: an aggregator has to be reached, its store by a socket alone."""
_CONFINED = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)  # no new privileges
libc.prctl(65, 1, 0, 0, 0)  # no memory that is written and run, from Linux 6.3
os.umask(0o077)
os.execvp("sh", ["sh", "-c", "exec " + sys.argv[1]])
"""
"""What units forbid, as far as a process can forbid it itself."""


@pytest.fixture(params=[False, True], ids=["embedded", "valkey"])
def installed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The units where systemd would look, but with programs of this machine; with the drop-in or not."""
    for name in UNITS:
        text = (HERE / name).read_text().replace("/opt/deniable/bin/deniable", str(COMMAND))
        (tmp_path / name).write_text(text.replace("/usr/bin/valkey-server", VALKEY))
    if request.param:
        (tmp_path / "deniable.service.d").mkdir()
        text = (HERE / "deniable.service.d" / "valkey.conf").read_text()
        (tmp_path / "deniable.service.d" / "valkey.conf").write_text(text.replace("/opt/deniable/bin", "/bin"))
    return tmp_path


def test_systemd_takes_the_units(installed: Path) -> None:
    """Every line is one that it knows, and has a value that it takes."""
    command = [program("systemd-analyze"), "verify", "--man=no", "--recursive-errors=no"]
    found = subprocess.run([*command, *(installed / name for name in UNITS)], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_is_exposed_as_little_as_may_be(name: str) -> None:
    """By the score of `systemd-analyze security`; without one of its lines, it would be more."""
    limit = int(float(MOST_EXPOSED[name]) * 10)
    command = [program("systemd-analyze"), "security", "--offline=yes", f"--threshold={limit}", str(HERE / name)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
    said = " and ".join(MOST_EXPOSED.values())
    assert f"exposed at most {said} of 10" in (ROOT / "docs" / "deploying.md").read_text()


def test_users_are_made_as_systemd_makes_them(tmp_path: Path) -> None:
    """One for each service, of one group, by which the aggregator reaches the store's socket."""
    (tmp_path / "etc").mkdir()
    command = [program("systemd-sysusers"), f"--root={tmp_path}", str(HERE / "deniable.sysusers")]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    rows = [line.split(":") for line in (tmp_path / "etc" / "passwd").read_text().splitlines()]
    groups = {
        line.split(":")[0]: line.split(":")[2] for line in (tmp_path / "etc" / "group").read_text().splitlines()
    }
    assert {row[0]: row[3] for row in rows} == dict.fromkeys(("deniable", "deniable-valkey"), groups["deniable"])
    said = [re.findall(r"^(?:User|Group)=(\S+)", (HERE / name).read_text(), re.MULTILINE) for name in UNITS]
    assert said == [["deniable", "deniable"], ["deniable-valkey", "deniable"]]


def started(unit: str) -> list[str]:
    """The command that a unit, or a drop-in, starts."""
    return re.findall(r"^ExecStart=(.+)$", (HERE / unit).read_text(), re.MULTILINE)[-1:]


@contextlib.contextmanager
def run(command: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A unit's command, ended as systemd ends it."""
    words = [sys.executable, "-c", _CONFINED, command]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ | environment)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)


def laid_out(room: Path) -> tuple[dict[str, str], str]:
    """A directory for all that the units name, and where the aggregator will be."""
    reports = f"127.0.0.1:{free_port()}"
    (room / "collections").mkdir()
    shutil.copy(EDITOR, room / "collections")
    shutil.copy(DEPLOY / "valkey" / "valkey.conf", room)
    text = (HERE / "serve.toml").read_text().replace("/var/lib/deniable", str(room / "data"))
    (room / "serve.toml").write_text(f'{text}\nlisten = "{reports}"\nhttp = "off"\n')
    (room / "kept").mkdir()
    places = {
        "/etc/deniable": str(room),
        "/opt/deniable/bin/deniable": str(COMMAND),
        "/usr/bin/valkey-server": VALKEY,
        "/run/deniable-valkey/valkey.sock": str(room / "s"),
        "/var/lib/deniable-valkey": str(room / "kept"),
        "%d": str(room / "store"),
    }
    return places, reports


def there(command: str, places: dict[str, str]) -> str:
    """A command as systemd reads it, with the places of a test."""
    command = command.replace("$$", "$")
    for before, after in places.items():
        command = command.replace(before, after)
    return command


def taken(reports: str) -> list[grpc.StatusCode]:
    """What becomes of some batches."""
    return submit(reports, [batch.request for batch in batches(10, ANSWERS)])


def test_what_the_units_start_takes_reports(tmp_path: Path) -> None:
    """With the embedded store, by the check that comes first and the command; then with a Valkey and the drop-in."""
    places, reports = laid_out(tmp_path)
    (checked,) = re.findall(r"^ExecStartPre=(.+)$", (HERE / "deniable.service").read_text(), re.MULTILINE)
    found = subprocess.run(["sh", "-c", there(checked, places)], capture_output=True, text=True)
    assert (found.returncode, "would begin a store" in found.stdout) == (0, True)
    (command,) = started("deniable.service")
    with run(there(command, places)) as process:
        assert process.stdout
        assert "serving editor" in process.stdout.readline()
        assert set(taken(reports)) == {grpc.StatusCode.OK}
    assert process.returncode == 0

    users(tmp_path / "store", f"unix://%s@{tmp_path / 's'}")
    shutil.copy(tmp_path / "store" / "aggregator.url", tmp_path / "store" / "store")
    (valkey,), (command,) = started("deniable-valkey.service"), started("deniable.service.d/valkey.conf")
    with run(there(valkey, places)):
        soon(lambda: answers(f"unix://health:any@{tmp_path / 's'}"), "the store answers")
        assert (tmp_path / "s").stat().st_mode & 0o777 == 0o770
        with run(there(command, places), CREDENTIALS_DIRECTORY=str(tmp_path / "store")) as process:
            assert process.stdout
            assert "serving editor" in process.stdout.readline()
            assert set(taken(reports)) == {grpc.StatusCode.OK}
        assert process.returncode == 0
