"""Ways in at the page that are none: guessing, other sites, planted sessions, paths, headers and forms."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable_aggregator.serving.access import Access
from deniable_aggregator.web import site as site_room
from deniable_aggregator.web.entry import Proxy
from deniable_aggregator.web.sessions import Tries
from support.site import Running, running
from support.waiting import PATIENCE, soon
from web.test_entry import EDITOR, QUESTION, USER, Told, ask, lines, log_in

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ELSEWHERE = "https://evil.example"


@pytest.fixture(scope="module")
def aggregator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """An aggregator with tokens, and a proxy on this machine."""
    file = tmp_path_factory.mktemp("entry") / "tokens"
    file.write_text(lines())
    with running(EDITOR, access=Access(tokens=file), proxy=Proxy(USER, frozenset({"127.0.0.1"}))) as started:
        yield started


@pytest.fixture
def url(aggregator: Running, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the page is; who has tried before is forgotten."""
    entry = aggregator._site._entry
    assert entry
    monkeypatch.setattr(entry, "_tries", Tries())
    return aggregator.url


def raw(url: str, head: bytes, body: bytes = b"") -> int:
    """The status of an answer to bytes that no library would send."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port), timeout=PATIENCE) as connection:
        connection.sendall(head + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n" + body)
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
    return int(answer.split(b" ", 2)[1])


def test_whoever_holds_connections_keeps_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No token is needed to connect and to say nothing; beyond half of the places those go that have been quiet. If
    it is looked at them when the last have just come, these are not quiet yet, and stay on half of the places."""
    monkeypatch.setattr(site_room, "_MOST", 16)
    (tmp_path / "tokens").write_text(lines())
    with running(EDITOR, access=Access(tokens=tmp_path / "tokens")) as started, ExitStack() as held:
        where = urlsplit(started.url)
        address = where.hostname, where.port
        own = [held.enter_context(socket.create_connection(address, timeout=PATIENCE)) for _ in range(16)]
        soon(lambda: len(select.select(own, [], [], 0)[0]) >= 8)
        assert ask(started.url, QUESTION, {"Authorization": "Bearer reads all"}).status == 200


def test_whoever_guesses_waits(url: str) -> None:
    """Ten wrong tokens, and the eleventh is not looked at, right or wrong; whoever is in stays in."""
    session = {"Cookie": log_in(url, "reads all").cookie}
    assert [log_in(url, f"guess {number}").status for number in range(10)] == [403] * 10
    waits = log_in(url, "reads all")
    assert waits.status == 429
    assert 1 <= int(waits.headers["Retry-After"]) <= 6
    assert "Set-Cookie" not in waits.headers
    assert ask(url, QUESTION, session).status == 200
    assert ask(url, QUESTION, {"Authorization": "Bearer reads all"}).status == 200


def test_a_guess_is_paid_for_by_its_network_and_by_all() -> None:
    """One more every six seconds; of version 6 a network counts, of which anybody has all addresses; with a hundred
    addresses there are a hundred guesses, and then two a second. So few addresses are held as are told."""
    now = [0.0]
    tries = Tries(lambda: now[0])
    for number in range(10):
        assert not tries.wait("2001:db8::1")
        tries.failed(f"2001:db8::{number:x}")
    assert tries.wait("2001:db8::ffff") == 6.0
    assert not tries.wait("2001:db8:0:1::1")
    now[0] = 6.0
    assert not tries.wait("2001:db8::1")
    for number in range(2000):
        tries.failed(f"10.0.{number >> 8}.{number & 255}")
    assert len(tries._paid) <= 1000
    assert tries.wait("192.0.2.1") > 0
    now[0] = 6.0 + 0.5 * 2000
    assert not tries.wait("192.0.2.1")
    tries.failed("192.0.2.1")
    assert list(tries._paid) == ["192.0.2.1"]


@pytest.mark.parametrize(
    "said",
    [
        {"Origin": ELSEWHERE, "Sec_Fetch_Site": "cross-site"},
        {"Origin": ELSEWHERE},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://localhost.evil.example"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
        {"Origin": "null", "Sec_Fetch_Site": "same-origin"},
        {"Origin": "file://localhost", "Sec_Fetch_Site": "same-origin"},
    ],
)
def test_another_site_logs_nobody_in_or_out(url: str, said: dict[str, str]) -> None:
    """A form of another site has another origin, none, or a browser that says that it is none of ours: a person would
    find themselves in somebody else's session, or out of their own."""
    assert log_in(url, "reads all", **said).status == 403
    session = {"Cookie": log_in(url, "reads all").cookie}
    headers = {"Origin": url} | {name.replace("_", "-"): value for name, value in said.items()}
    assert ask(url, "/logout", session | headers, "POST").status == 403
    assert ask(url, QUESTION, session).status == 200
    assert ask(url, "/logout", session, "GET").status == 405


def test_nobody_logs_in_where_others_listen(url: str) -> None:
    """Over http a token is read by whoever is on the way: only on this machine there is nobody."""
    told = log_in(url, "reads all", Origin="http://telemetry.example.org", Sec_Fetch_Site="same-origin")
    assert told.status == 403
    assert "ask for this page by https" in told.body
    assert "Set-Cookie" not in told.headers
    for here in ("http://localhost", "http://127.0.0.1:8471", "http://[::1]:8471", "https://telemetry.example.org"):
        assert log_in(url, "reads all", Origin=here, Sec_Fetch_Site="same-origin").status == 303, here


def test_a_planted_session_is_not_taken_over(url: str) -> None:
    """What somebody has put into a browser before its person logs in is not what they are known by afterwards; and a
    session that they had ends there."""
    planted = "deniable=" + "A" * 43
    begun = log_in(url, "reads all", Cookie=planted)
    assert begun.cookie != planted
    assert ask(url, QUESTION, {"Cookie": planted}).status == 401
    again = log_in(url, "reads all", Cookie=begun.cookie)
    assert again.cookie != begun.cookie
    assert ask(url, QUESTION, {"Cookie": begun.cookie}).status == 401
    assert ask(url, QUESTION, {"Cookie": again.cookie}).status == 200


@pytest.mark.parametrize(
    "to",
    [
        ELSEWHERE, "//evil.example", "/\\evil.example", "/c//..//evil.example\r\nSet-Cookie: a=b", "javascript:0",
        "/c/\r\nLocation: //evil.example", "c/editor", "/login", "/logout", "/api/v1/health", "", "/c/ /", "/c/\x00",
    ],
)  # fmt: skip
def test_nobody_is_led_elsewhere(url: str, to: str) -> None:
    """To pages of this site alone, and by no header that somebody has written into the path."""
    told = log_in(url, "reads all", to)
    assert told.status == 303
    assert told.headers["Location"] == "/"
    assert [name for name, _ in told.headers.items()].count("Set-Cookie") == 1
    assert 'value="/"' in ask(url, f"/login?to={quote(to)}").body


def test_nothing_that_was_said_becomes_part_of_the_page(url: str) -> None:
    """Neither where to go nor a token."""
    told = log_in(url, '"><script>alert(1)</script>', '/c/"><script>')
    assert "<script>" not in told.body
    assert "<script>" not in ask(url, "/login?to=" + quote('/c/"><script>')).body


@pytest.mark.parametrize(
    "path",
    [
        "/static/../api/v1/health", "/static/%2e%2e/metrics", "/static/..%2fmetrics", "/login/../metrics",
        "//metrics", "/metrics/", "/./metrics", "/%6detrics", "/login/", "/login;/metrics", "/favicon.ico/../metrics",
        "/static//metrics",
        "http://localhost/metrics", "/API/v1/health", "/static/\n/metrics", "/metrics?/static/",
    ],
)  # fmt: skip
def test_no_path_leads_around_it(url: str, path: str) -> None:
    """Whatever a path is said to be: nothing is answered that is not the form or a file of the page."""
    head = b"GET " + path.encode() + b" HTTP/1.1"
    assert raw(url, head) in {303, 400, 401, 404}
    assert raw(url, head.replace(b"GET", b"HEAD")) in {303, 400, 401, 404}


def test_what_is_said_twice_is_not_heard(url: str) -> None:
    """A proxy that adds its header to one that was there has not said who that was; nor is a second token a try."""
    head = f"GET {QUESTION} HTTP/1.1\r\n".encode()
    user = f"{USER}: somebody".encode()
    assert raw(url, head + user) == 200
    assert raw(url, head + user + b"\r\n" + user) == 401
    token = b"Authorization: Bearer reads all"
    assert raw(url, head + token) == 200
    assert raw(url, head + token + b"\r\n" + token) == 401
    assert raw(url, head + b"Authorization: Bearer wrong\r\n" + token) == 401


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded; charset=none", b"token=a"),
        ("application/x-www-form-urlencoded; charset=idna", b"token=\xff%ff"),
        ("application/x-www-form-urlencoded", b"token=%ff%fe&token=\xff"),
        ("application/x-www-form-urlencoded", b"token=" + b"a" * 9000),
        ("application/x-www-form-urlencoded", b"&" * 8000),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="token"; filename="f"\r\n\r\na',
        ),
        ("multipart/form-data", b"--"),
        ("text/plain", b"token=reads all"),
        ("\xff", b"token=reads all"),
        ("", b""),
    ],
)
def test_a_form_that_is_none_logs_nobody_in(url: str, kind: str, body: bytes) -> None:
    """It is refused as a wrong token is, and is no server error."""
    head = f"POST /login HTTP/1.1\r\nOrigin: {url}\r\nSec-Fetch-Site: same-origin\r\n".encode()
    head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}".encode("latin-1")
    assert raw(url, head, body) in {400, 403}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from([b"Authorization", b"Cookie", b"Origin", USER.encode(), b"Sec-Fetch-Site", b"Host"]),
    value=st.binary(max_size=40).map(lambda value: bytes(byte for byte in value if byte > 31 and byte != 127))
    | st.sampled_from(
        [b"Bearer \xff\xfe", b"Bearer", b"Bearer  ", b"deniable=\xff; __Host-deniable=\xed\xb0\x80", b"deniable=",
         b"=", b"http://[", b"https://", b"http://a:b", b"http://\xff"]
    ),
    path=st.sampled_from([QUESTION.encode(), b"/", b"/login", b"/logout"]),
    method=st.sampled_from([b"GET", b"POST", b"HEAD", b"OPTIONS"]),
)  # fmt: skip
def test_no_header_is_a_server_error(url: str, name: bytes, value: bytes, path: bytes, method: bytes) -> None:
    """Whatever is said in it."""
    assume_user = name == USER.encode() and value.strip()
    status = raw(url, method + b" " + path + b" HTTP/1.1\r\n" + name + b": " + value)
    assert status < 500
    if path == QUESTION.encode() and not assume_user:
        assert status != 200


def test_the_form_tells_the_browser_what_it_may(url: str, tmp_path: Path) -> None:
    """As every page, but that it may send itself, and that a browser says of it where it comes from."""
    form, page = (_told.headers for _told in (ask(url, "/login"), _page(url)))
    policy = form["Content-Security-Policy"]
    assert "form-action 'self'" in policy
    assert policy.replace("form-action 'self'", "form-action 'none'") == page["Content-Security-Policy"]
    assert (form["Referrer-Policy"], page["Referrer-Policy"]) == ("same-origin", "no-referrer")
    assert form["Cache-Control"] == "no-store"
    assert "frame-ancestors 'none'" in policy


def _page(url: str) -> Told:
    return ask(url, "/", {"Cookie": log_in(url, "reads all").cookie})
