"""Commands whose reader has seen enough, as in `deniable check metrics.toml | head -3`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deniable import Client, Collection, Consent
from deniable_aggregator import commands
from deniable_aggregator.commands import check, main
from support.commands import COMMAND, EDITOR
from support.waiting import PATIENCE

SIGPIPE_ENDED = 141


def unheard(directory: Path, unbuffered: str, *command: str | Path) -> tuple[int, str]:
    """How a command ends that writes where nobody reads, and what it says of that."""
    reading, writing = os.pipe()
    os.close(reading)
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    try:
        ended = subprocess.run(
            command, stdout=writing, stderr=subprocess.PIPE, text=True, env=environment, cwd=directory,
            stdin=subprocess.DEVNULL, timeout=PATIENCE,
        )  # fmt: skip
    finally:
        os.close(writing)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["check", "bundle", "codegen"])
def test_a_command_that_nobody_reads_ends_in_silence(tmp_path: Path, command: str, unbuffered: str) -> None:
    """With the exit code of a program that SIGPIPE has ended, whether it finds out as it writes or as it ends."""
    assert unheard(tmp_path, unbuffered, COMMAND, command, EDITOR) == (SIGPIPE_ENDED, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_so_does_what_a_person_asks_of_their_device(tmp_path: Path, unbuffered: str) -> None:
    """`python -m deniable STATE transcript | head` has no traceback."""
    state = tmp_path / "device.state"
    Client(Collection.load(EDITOR), endpoint="127.0.0.1:1", state=state, consent=Consent.GRANTED,
           segment={"platform": "linux"}).close()  # fmt: skip
    assert state.exists()
    command = (sys.executable, "-m", "deniable", state, "ledger")
    assert unheard(tmp_path, unbuffered, *command) == (SIGPIPE_ENDED, "")


@pytest.mark.parametrize("command", [(COMMAND,), (COMMAND, "check"), (sys.executable, "-m", "deniable")])
def test_so_does_help(tmp_path: Path, command: tuple[str | Path, ...]) -> None:
    """`deniable --help | head -1`: where it is written at the end, its reader may be gone by then.

    Written at once, it is argparse that finds nobody there, and says nothing of it.
    """
    assert unheard(tmp_path, "", *command, "--help") == (SIGPIPE_ENDED, "")
    assert unheard(tmp_path, "1", *command, "--help") == (0, "")


@pytest.mark.parametrize("asked", ["--help", "check"])
def test_a_full_disk_is_told_in_a_line(tmp_path: Path, asked: str) -> None:
    """Once, and not again by Python as it ends."""
    with Path("/dev/full").open("w") as full:
        for command in ((COMMAND, asked, EDITOR), (sys.executable, "-m", "deniable", "--help")):
            ended = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, timeout=PATIENCE,
                env=os.environ | {"PYTHONUNBUFFERED": ""}, check=False,
            )  # fmt: skip
            assert ended.returncode == 2
            (line,) = ended.stderr.splitlines()
            assert line.startswith("deniable: what it says can not be written: there is no room left on its disk")


def test_other_broken_pipes_are_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where standard output is read, the error is another one's, and is said in a line."""

    def broken(_: object) -> None:
        raise BrokenPipeError("of a socket")

    monkeypatch.setattr(check, "add", lambda all_of_them: all_of_them.add_parser("check").set_defaults(run=broken))
    monkeypatch.setattr(commands, "_parser", commands._parser.__wrapped__)  # another one than is known already
    assert main(["check"]) == 2
    assert capsys.readouterr().err == "deniable: of a socket\n"
