"""The examples, run as people run them, against a real aggregator."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deniable import Client, Collection, Consent
from deniable.codegen import generate
from deniable.device import ledger
from support.commands import ROOT, serving, told
from support.waiting import PATIENCE, soon

EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An aggregator of both examples' collections."""
    data = tmp_path_factory.mktemp("aggregator") / "data"
    with serving(data, EXAMPLES / "wordcount.toml", EXAMPLES / "guestbook.toml") as address:
        yield address


def reports(endpoint: str, collection: str, metric: str) -> int:
    """How many devices have answered."""
    shown = told(
        "estimates", "--endpoint", endpoint, "--collection", collection, "--metric", metric, "--format", "csv"
    )
    lines = [line.split(",") for line in shown.stdout.splitlines()]
    return int(lines[1][lines[0].index("reports")])


def wordcount(home: Path, endpoint: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command-line tool, whose state is in a directory of its own."""
    environment = os.environ | {"XDG_STATE_HOME": str(home), "WORDCOUNT_ENDPOINT": endpoint}
    return subprocess.run(
        [sys.executable, EXAMPLES / "wordcount.py", *arguments],
        capture_output=True, text=True, timeout=PATIENCE, env=environment,
    )  # fmt: skip


def test_the_command_line_tool_asks_first_and_tells_what_it_tells(tmp_path: Path, endpoint: str) -> None:
    """Before a yes nothing is kept; after it a day's use is one report a metric, shown to the person in words."""
    text = tmp_path / "text"
    text.write_text("a few words\non two lines\n")
    counted = wordcount(tmp_path, endpoint, text)
    assert counted.stdout == f"2\t6\t25\t{text}\n"
    assert counted.stderr == ""
    state = tmp_path / "wordcount" / "telemetry.db"
    assert b"words" not in state.read_bytes().partition(b"CREATE")[0]
    assert ledger.read(state) == []

    assert "thank you" in wordcount(tmp_path, endpoint, "--telemetry", "on").stdout
    for _ in range(3):
        assert wordcount(tmp_path, endpoint, "--lines", text).returncode == 0
    assert wordcount(tmp_path, endpoint, tmp_path / "nowhere").returncode == 1
    assert wordcount(tmp_path, endpoint, "--telemetry", "send").stdout == "sent\n"
    assert reports(endpoint, "wordcount", "files") == 1

    shown = wordcount(tmp_path, endpoint, "--telemetry", "show").stdout
    assert shown.count("stored") == 3
    assert "failed: stored '" in shown
    assert "send this 27% of the time" in shown
    assert "spent so far: epsilon 3" in shown
    spent = told("ledger", state)
    assert "wordcount: files" in spent.stdout
    assert "This device has spent 3 in all." in spent.stdout
    assert told("ledger", state, "--sent").stdout.count("stored") == 3
    for command, same in (("ledger", spent), ("transcript", told("ledger", state, "--sent"))):
        own = subprocess.run([sys.executable, "-m", "deniable", state, command], capture_output=True, text=True)
        assert (own.returncode, own.stdout) == (0, same.stdout), "one way to say it"


def test_the_command_line_tool_forgets_when_it_is_told_to(tmp_path: Path, endpoint: str) -> None:
    """A no erases what was not sent, and lasts."""
    text = tmp_path / "text"
    text.write_text("words\n")
    wordcount(tmp_path, endpoint, "--telemetry", "on")
    wordcount(tmp_path, endpoint, text)
    assert "nothing is collected" in wordcount(tmp_path, endpoint, "--telemetry", "off").stdout
    wordcount(tmp_path, endpoint, text)
    before = reports(endpoint, "wordcount", "files")
    assert wordcount(tmp_path, endpoint, "--telemetry", "send").stdout == "sent\n", "there is nothing to send"
    assert reports(endpoint, "wordcount", "files") == before
    assert "spent so far: epsilon 0" in wordcount(tmp_path, endpoint, "--telemetry", "show").stdout


def test_the_command_line_tool_works_where_nobody_listens(tmp_path: Path) -> None:
    """Without an aggregator it counts as ever, at once and in silence."""
    text = tmp_path / "text"
    text.write_text("words\n")
    wordcount(tmp_path, "127.0.0.1:1", "--telemetry", "on")
    for _ in range(2):
        counted = wordcount(tmp_path, "127.0.0.1:1", text)
        assert (counted.returncode, counted.stderr) == (0, "")


@contextlib.contextmanager
def guestbook(data: Path, endpoint: str, telemetry: str) -> Iterator[tuple[str, int]]:
    """The web application, with three workers; its address, and its process."""
    process = subprocess.Popen(
        [sys.executable, EXAMPLES / "guestbook.py", "--port", "0", "--workers", "3", "--data", data,
         "--telemetry", telemetry, "--endpoint", endpoint],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert errors == ""


def waited_at(port: int, pid: int) -> bool:
    """Whether who asks the listening socket of a port for a visitor, where there is none, waits for one."""
    table = (row.split() for row in Path("/proc/net/tcp").read_text(encoding="utf-8").splitlines())
    (inode,) = (row[9] for row in table if row[1] == f"0100007F:{port:04X}" and row[3] == "0A")
    (own,) = (each for each in Path(f"/proc/{pid}/fd").iterdir() if os.readlink(each) == f"socket:[{inode}]")
    flags = dict(line.split(":\t") for line in Path(f"/proc/{pid}/fdinfo/{own.name}").read_text().splitlines())
    return not int(flags["flags"], 8) & os.O_NONBLOCK


def visit(address: str) -> int:
    """Look at the page."""
    with urllib.request.urlopen(address, timeout=PATIENCE) as page:
        return int(page.status)


def test_the_web_application_answers_as_one(tmp_path: Path, endpoint: str) -> None:
    """Sixty visits to three processes are sixty visits of one installation, whose day is one report a metric."""
    with guestbook(tmp_path, endpoint, "on") as (address, _):
        with ThreadPoolExecutor(6) as visitors:
            assert set(visitors.map(visit, [address] * 60)) == {200}
        with urllib.request.urlopen(address, data=b"name=Ada", timeout=PATIENCE) as page:
            assert b"Ada" in page.read()
    collection = Collection.load(EXAMPLES / "guestbook.toml")
    with Client(collection, state=tmp_path / "telemetry.db", consent=Consent.GRANTED, endpoint=endpoint) as client:
        states = dict(
            client._state.run(lambda connection: connection.execute("SELECT metric, state FROM raw").fetchall())
        )
        assert states == {"visits": "61", "signed": "true", "workers": '"2 to 4"'}
        assert client.flush(PATIENCE)
    assert reports(endpoint, "guestbook", "visits") == 1


def test_the_web_application_without_consent_keeps_nothing(tmp_path: Path, endpoint: str) -> None:
    """It works the same, and ends: who is woken for a visitor that another worker has does not wait for the next."""
    with guestbook(tmp_path, endpoint, "off") as (address, pid):
        assert visit(address) == 200
        port = urlsplit(address).port
        assert port is not None
        assert not waited_at(port, pid)
        soon((tmp_path / "telemetry.db").exists)
    assert ledger.read(tmp_path / "telemetry.db") == []
    assert b"visits" not in (tmp_path / "telemetry.db").read_bytes()


def test_the_accessors_are_those_of_the_collection() -> None:
    """Who changes the collection makes them anew."""
    collection = Collection.load(EXAMPLES / "guestbook.toml")
    assert generate(collection, "guestbook.toml") == (EXAMPLES / "guestbook_metrics.py").read_text()


def test_a_ledger_that_is_none_is_one_line(tmp_path: Path) -> None:
    """So is the transcript of a file that is not there."""
    (tmp_path / "text").write_text("no ledger")
    for path in (tmp_path / "text", tmp_path / "nowhere"):
        refused = told("ledger", path)
        assert refused.returncode == 2
        assert refused.stderr.count("\n") == 1
        assert "can not be read as a state file" in refused.stderr


def test_accessors_are_made_by_a_command(tmp_path: Path) -> None:
    """To a file or to standard output."""
    printed = told("codegen", EXAMPLES / "guestbook.toml")
    assert printed.stdout == (EXAMPLES / "guestbook_metrics.py").read_text()
    assert told("codegen", EXAMPLES / "guestbook.toml", "--output", tmp_path / "made.py").returncode == 0
    assert (tmp_path / "made.py").read_text() == printed.stdout
