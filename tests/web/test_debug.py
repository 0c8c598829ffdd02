"""The debug view by itself: who sees it, what it holds and for how long, and what it makes of nonsense."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deniable import Collection
from deniable.device.debugging import LONGEST, TAKEN, place
from deniable_aggregator.web import DebugView, Site
from support.commands import EDITOR, told
from support.debugging import at_home, viewing
from support.editor import DARK, HEAD
from support.site import running
from support.waiting import PATIENCE

REPORT = {
    "metric": "dark", "asked": "d", "recorded": "True", "answer": "'no'", "epsilon": 1.0, "delta": 0.0,
    "conclusion": "c",
}  # fmt: skip
SHOWING: dict[str, Any] = {
    "collection": "editor", "digest": "0", "program": "p", "process": 1, "start": 0, "seconds": 3600, "segment": {},
    "bytes": 40, "budget": 5.0, "sample": 1.0, "reports": [REPORT], "refused": {}, "mistakes": [],
}  # fmt: skip


@pytest.fixture(autouse=True)
def home() -> Iterator[Path]:
    """An account of its own, for each test."""
    with at_home() as directory:
        yield directory


def show(line: bytes) -> bool:
    """Whether the view takes it."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(str(place()))
        try:
            connection.sendall(line)
            return connection.recv(64) == TAKEN
        except (BrokenPipeError, ConnectionResetError):
            return False


def line(**other: Any) -> bytes:
    """A showing, as a client tells it."""
    return json.dumps(SHOWING | other).encode() + b"\n"


def fetched(url: str) -> tuple[int, dict[str, Any]]:
    """The status and what is answered."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as response:
            assert response.headers["Cache-Control"] == "no-store"
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_it_is_off_unless_it_is_asked_for(home: Path) -> None:
    """No socket, no question of it, and `serve` says nothing of it."""
    with running(Collection.loads(HEAD + DARK)) as aggregator:
        assert aggregator.debug_url == ""
        assert fetched(f"{aggregator.url}/api/v1/debug")[0] == 404
        assert not place().exists()


def test_only_who_has_the_key_sees_it() -> None:
    """Other accounts of the machine reach the page, too: they are not told the key."""
    with running(Collection.loads(HEAD + DARK), debug=DebugView()) as aggregator:
        assert show(line())
        address = aggregator.debug_url.replace("/debug", "/api/v1/debug")
        status, content = fetched(address)
        assert (status, content["dropped"], len(content["showings"])) == (200, 0, 1)
        assert content["showings"][0]["reports"] == [REPORT]
        for wrong in (address[:-1], address.partition("?")[0], address.partition("=")[0] + "=%C3%A4"):
            status, content = fetched(wrong)
            assert (status, content["error"]["status"]) == (403, "PERMISSION_DENIED")
    assert not place().exists()


def test_it_holds_so_much_and_no_more() -> None:
    """The oldest go: by their number, and by their bytes."""
    with viewing() as view:
        for number in range(210):
            assert show(line(process=number))
        assert [showing["process"] for showing in view.showings] == list(range(209, 9, -1))
        long = line(program="x" * 900_000)
        for _ in range(6):
            assert show(long)
        assert len(view.showings) == 4
        assert not show(line(program="x" * LONGEST))
        assert len(view.showings) == 4


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\n", b"[]\n", b"nonsense\n", b"{}\n", b"[" * 100_000 + b"\n", b"\xff\n",
        line(more=1), line(process="1"), line(process=True), line(budget=float("inf")), line(reports=[{}]),
        line(reports=[REPORT | {"recorded": 1}]), line(mistakes=[[]]), line(segment={"a": {}}),
        line(budget="9" * 5000), line().replace(b"5.0", b"1e999"),
    ],
    ids=lambda told: repr(told[:12]),
)  # fmt: skip
def test_what_is_no_showing_is_not_taken(nonsense: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """Nor is it written down; the next is taken."""
    with viewing() as view:
        assert not show(nonsense)
        assert show(line())
        assert len(view.showings) == 1
    assert caplog.records == []


def test_its_socket_is_this_account_s_alone_and_one_that_died_makes_way() -> None:
    """Nobody else may connect; two views of one account do not take each other's place; a file is left alone."""
    with viewing():
        where = place()
        assert stat.S_IMODE(where.stat().st_mode) == 0o600
        with pytest.raises(OSError, match="another debug view is there"):
            asyncio.run(listens())
        assert show(line()), "the first goes on"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(where))
    with viewing():
        assert show(line())
    where.write_text("a file")
    with pytest.raises(OSError, match="something else is there"):
        asyncio.run(listens())
    assert where.read_text() == "a file"


async def listens() -> None:
    """A view on a loop of the test's own, whose errors it sees."""
    async with DebugView().listening():
        pass


@pytest.mark.parametrize("address", ["0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80", "example.org:80"])
def test_a_page_for_others_has_none(address: str) -> None:
    """What was recorded is shown to this machine."""
    with pytest.raises(ValueError, match="for this machine alone"):
        Site(address, lambda _store: pytest.fail("not asked for"), debug=DebugView())


@pytest.mark.parametrize(
    ("http", "why"), [("off", "it needs --http HOST:PORT"), ("0.0.0.0:0", "for this machine alone")]
)
def test_serve_refuses_a_view_that_nobody_could_see_or_everybody(http: str, why: str) -> None:
    """With one line, before anything has begun."""
    refused = told("serve", EDITOR, "--insecure", "--debug-view", "--http", http)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert why in refused.stderr
