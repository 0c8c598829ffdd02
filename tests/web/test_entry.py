"""The entry of the page: who is let in by a token, a session or a proxy, and what the others are told."""

from __future__ import annotations

import hashlib
import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest

from deniable import Collection
from deniable_aggregator.serving import tokens as tokens_room
from deniable_aggregator.serving.access import Access
from deniable_aggregator.web.entry import Proxy
from deniable_aggregator.web.sessions import SECONDS, Sessions, Tries
from support.editor import BROWSER, HEAD, MINUTES
from support.site import Running, running
from support.waiting import PATIENCE, soon

EDITOR = Collection.loads(f"{HEAD}{BROWSER}{MINUTES}")
OTHER = Collection.loads(f"{HEAD.replace('editor', 'other')}{BROWSER}")
TOKENS = {
    "reads all": "read",
    "reads editor": "read collections=editor",
    "reports": "report",
    "has read": "read expires=2020-01-01",
}
USER = "X-Forwarded-User"
QUESTION = "/api/v1/collections/editor/estimates/browser"


class Told(NamedTuple):
    """An answer."""

    status: int
    headers: http.client.HTTPMessage
    body: str

    @property
    def cookie(self) -> str:
        """What a browser would say from now on."""
        return self.headers["Set-Cookie"].partition(";")[0]


def ask(
    url: str, path: str, headers: Mapping[str, str] | None = None, method: str = "GET", body: str | None = None
) -> Told:
    """What is answered, without following it."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, dict(headers or {}))
        response = connection.getresponse()
        return Told(response.status, response.headers, response.read().decode())
    finally:
        connection.close()


def log_in(url: str, token: str, to: str = "/", **others: str) -> Told:
    """What a browser is told that sends the form."""
    headers = {"Origin": url, "Content-Type": "application/x-www-form-urlencoded"}
    headers |= {name.replace("_", "-"): value for name, value in others.items()}
    return ask(url, "/login", headers, "POST", urlencode({"token": token, "to": to}))


def lines(**changed: str) -> str:
    """A file of the tokens, but for those that have changed."""
    own = {name: changed.get(name.replace(" ", "_"), says) for name, says in TOKENS.items()}
    return "".join(f"{says} {hashlib.sha256(name.encode()).hexdigest()}\n" for name, says in own.items() if says)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tokens."""
    path = tmp_path_factory.mktemp("entry") / "tokens"
    path.write_text(lines())
    return path


@pytest.fixture(scope="module")
def aggregator(file: Path) -> Iterator[Running]:
    """An aggregator of two collections, with tokens, and a proxy on this machine."""
    with running(
        EDITOR, OTHER, access=Access(tokens=file), proxy=Proxy(USER, frozenset({"127.0.0.1", "::1"}))
    ) as started:
        started.put(EDITOR, EDITOR.epoch_at(datetime.now(UTC).timestamp()), {"browser": [20, 30, 40]}, batches=30)
        yield started


@pytest.fixture
def url(aggregator: Running, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the page is; who has tried before is forgotten, and the file is looked at with every request."""
    entry = aggregator._site._entry
    assert entry
    monkeypatch.setattr(entry, "_tries", Tries())
    monkeypatch.setattr(tokens_room, "_LOOK_SECONDS", 0.0)
    return aggregator.url


@pytest.fixture
def changing(file: Path) -> Iterator[Callable[..., None]]:
    """What changes the file; it is as it was afterwards."""

    def change(**changed: str) -> None:
        fresh = file.with_name("fresh")
        fresh.write_text(lines(**changed))
        fresh.replace(file)

    yield change
    change()


def test_a_page_asks_to_log_in_and_a_program_is_told(url: str) -> None:
    """A person is led to the form, and from there to what was asked for; a program is told what to send."""
    for path in ("/", "/c/editor/browser?last=7", "/health", "/nothing"):
        told = ask(url, path)
        assert told.status == 303
        assert urlsplit(told.headers["Location"]).path == "/login"
        assert "editor" not in told.body
    for path in (QUESTION, "/metrics", "/api/v1/health", "/api/openapi.json", "/api/v1/debug", "/api/v1/nothing"):
        told = ask(url, path)
        assert told.status == 401
        assert told.headers["WWW-Authenticate"] == 'Bearer realm="deniable"'
        assert json.loads(told.body)["error"]["status"] == "UNAUTHENTICATED"
        assert told.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("token", "own", "other", "whole"),
    [
        ("reads all", 200, 200, 200),
        ("reads editor", 200, 403, 403),
        ("reports", 403, 403, 403),
        ("has read", 401, 401, 401),
        ("", 401, 401, 401),
        ("dnb_" + "0" * 64, 401, 401, 401),
    ],
)
def test_a_token_reads_what_it_is_good_for(url: str, token: str, own: int, other: int, whole: int) -> None:
    """With every request; what is about all collections takes a token for all. In the address it is nothing."""
    said = {"Authorization": f"Bearer {token}"}
    assert ask(url, QUESTION, said).status == own
    for path in (QUESTION.replace("editor", "other"), QUESTION.replace("editor", f"{OTHER.digest:016x}")):
        assert ask(url, path, said).status == other
    for path in ("/metrics", "/api/v1/health"):
        assert ask(url, path, said).status == whole
    assert ask(url, f"{QUESTION}?{urlencode({'token': token})}").status == 401
    assert ask(url, QUESTION, {"Authorization": f"Basic {token}"}).status == 401


def test_what_is_not_known_is_not_told_from_what_may_not_be_read(url: str) -> None:
    """Who reads one collection is told of no other, neither by a list nor by an error."""
    said = {"Authorization": "Bearer reads editor"}
    shown = json.loads(ask(url, "/api/v1/collections", said).body)
    assert [each["name"] for each in shown["collections"]] == ["editor"]
    there, nowhere = (ask(url, QUESTION.replace("editor", name), said) for name in ("other", "nowhere"))
    assert (there.status, there.body) == (nowhere.status, nowhere.body)


def test_a_session_lasts_until_it_is_ended(url: str) -> None:
    """It begins with a token that reads, leads to where somebody was going, and ends when they say so."""
    told = log_in(url, "reads all", "/c/editor?last=7")
    assert (told.status, told.headers["Location"]) == (303, "/c/editor?last=7")
    name, *traits = told.headers["Set-Cookie"].split("; ")
    assert name.startswith("deniable=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/", f"Max-Age={SECONDS}"} <= set(traits)
    session = {"Cookie": told.cookie}
    assert ask(url, QUESTION, session).status == 200
    assert ask(url, "/", session).status == 200
    out = ask(url, "/logout", session | {"Origin": url}, "POST")
    assert out.status == 204
    assert "Max-Age=0" in out.headers["Set-Cookie"]
    assert ask(url, QUESTION, session).status == 401


def test_a_session_reads_what_its_token_is_good_for(url: str, changing: Callable[..., None]) -> None:
    """As of now: what is taken from the token is taken from its sessions, and with the token they end."""
    session = {"Cookie": log_in(url, "reads editor").cookie}
    assert ask(url, QUESTION, session).status == 200
    assert ask(url, "/metrics", session).status == 403
    changing(reads_editor="read collections=other")
    soon(lambda: ask(url, QUESTION, session).status == 403)
    changing(reads_editor="read expires=2020-01-01")
    soon(lambda: ask(url, QUESTION, session).status == 401)
    changing()
    assert ask(url, QUESTION, session).status == 401  # it has ended, and nobody brings it back


@pytest.mark.parametrize(
    ("token", "words"),
    [("wrong", "is not known"), ("", "is not known"), ("has read", "has expired"), ("reports", "good for reports")],
)
def test_what_does_not_log_in_is_said(url: str, token: str, words: str) -> None:
    """On the form, which is there again; it does not repeat what was typed."""
    told = log_in(url, token, "/health")
    assert told.status == 403
    assert words in told.body
    assert 'role="alert"' in told.body
    assert 'value="/health"' in told.body
    assert "Set-Cookie" not in told.headers
    assert not token or f'"{token}"' not in told.body


def test_over_tls_the_cookie_is_for_tls_alone(url: str) -> None:
    """Where the browser says that it came by https, whatever is in front: and it is good under that name alone."""
    origin = url.replace("http:", "https:")
    told = log_in(url, "reads all", Origin=origin)
    assert told.cookie.startswith("__Host-deniable=")
    assert "Secure" in told.headers["Set-Cookie"]
    assert "Domain" not in told.headers["Set-Cookie"]
    assert ask(url, QUESTION, {"Cookie": told.cookie}).status == 200
    assert ask(url, QUESTION, {"Cookie": told.cookie.removeprefix("__Host-")}).status == 401


def test_a_proxy_says_who_is_let_in(url: str) -> None:
    """By its header, once and with something in it; who shows a token of their own is judged by that."""
    assert ask(url, "/metrics", {USER: "somebody"}).status == 200
    assert ask(url, QUESTION, {USER: " "}).status == 401
    assert ask(url, QUESTION, {USER: "somebody", "Authorization": "Bearer wrong"}).status == 401


@pytest.mark.parametrize("proxy", [None, Proxy(USER, frozenset({"10.0.0.7"}))], ids=["none", "elsewhere"])
def test_nobody_else_says_so(file: Path, proxy: Proxy | None) -> None:
    """Where there is no proxy, or another address than its own."""
    with running(EDITOR, access=Access(tokens=file), proxy=proxy) as started:
        assert ask(started.url, QUESTION, {USER: "somebody"}).status == 401


def test_without_tokens_nothing_is_asked() -> None:
    """There is no form either."""
    with running(EDITOR) as started:
        assert ask(started.url, "/api/v1/health").status == 200
        assert ask(started.url, "/login").status == 404
        assert 'data-guarded="false"' in ask(started.url, "/").body


def test_sessions_are_bounded(file: Path) -> None:
    """Twelve hours, and twenty of a token: then the oldest of that token goes, and nobody else's."""
    now = [0.0]
    sessions, known = Sessions(lambda: now[0]), tokens_room.Tokens(file)
    mine, other = known.bearer("reads all"), known.bearer("reads editor")
    kept = sessions.begin(other, secure=True)
    said = [sessions.begin(mine, secure=True) for _ in range(30)]
    assert len(set(said)) == 30
    assert [sessions.find(each, secure=True) is mine for each in said] == [False] * 10 + [True] * 20
    assert sessions.find(kept, secure=True) is other
    assert sessions.find(kept, secure=False) is None
    now[0] = SECONDS - 1.0
    assert sessions.find(kept, secure=True) is other
    now[0] = float(SECONDS)
    assert sessions.find(kept, secure=True) is None
    assert sessions.find("", secure=True) is None


def test_a_thousand_sessions_are_the_most(tmp_path: Path) -> None:
    """Of sixty tokens that log in twenty times."""
    names = [f"token {number}" for number in range(60)]
    path = tmp_path / "tokens"
    path.write_text("".join(f"read {hashlib.sha256(name.encode()).hexdigest()}\n" for name in names))
    known, sessions = tokens_room.Tokens(path), Sessions()
    said = [sessions.begin(known.bearer(name), secure=False) for name in names for _ in range(20)]
    assert len(sessions) == 1000
    assert [sessions.find(each, secure=False) is not None for each in said] == [False] * 200 + [True] * 1000
