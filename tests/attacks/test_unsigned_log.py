"""What the page's process writes down of who asks: nothing, whatever they send."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from deniable import Collection
from deniable_aggregator.web.health import Health
from support.editor import BROWSER, HEAD
from support.site import Running, running
from support.waiting import PATIENCE

SECRET = b"dnb_0123456789abcdef"


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """An aggregator."""
    with running(Collection.loads(f"{HEAD}{BROWSER}")) as started:
        yield started


def sent(aggregator: Running, what: bytes) -> bytes:
    """What is answered to bytes."""
    where = urlsplit(aggregator.url)
    with socket.create_connection((where.hostname, where.port), timeout=PATIENCE) as connection:
        connection.sendall(what)
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
    return answer


@pytest.mark.parametrize(
    "what",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization Bearer " + SECRET + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + SECRET + b"\x00\r\n\r\n",
        b"GET /" + SECRET + b" HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01" + SECRET,
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + SECRET + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + SECRET,
        b"GET / HTTP/1.1\r\nX: " + SECRET * 1000 + b"\r\n\r\n",
    ],
)
def test_bytes_that_are_no_request_are_not_written_down(
    aggregator: Running, what: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """aiohttp would write the caller's address, and quote the line that is wrong, which has a token."""
    with caplog.at_level(logging.INFO):
        assert sent(aggregator, what).split(b" ", 2)[1] in {b"400", b"405"}
    assert caplog.text == ""


def test_of_a_failure_the_place_is_written_down(
    aggregator: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A fault of ours is to be found: but for who asked, and what the error quotes."""

    async def failing(_: Health) -> dict[str, object]:
        raise LookupError(SECRET.decode())

    monkeypatch.setattr(Health, "now", failing)
    asked = b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert b" 500 " in sent(aggregator, asked).partition(b"\r\n")[0]
    (record,) = caplog.records
    assert record.getMessage().startswith("a request failed: LookupError in failing, line ")
    assert SECRET.decode() not in caplog.text
    assert "127.0.0.1" not in caplog.text
