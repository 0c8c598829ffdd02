"""What is not a question, over HTTP: it is refused with a reason, and no server error is ever told."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable import Collection
from support.editor import BROWSER, HEAD, MINUTES
from support.site import Running, running
from support.waiting import PATIENCE

TODAY = 20_000
COLLECTION = Collection.loads(f"{HEAD}{BROWSER}{MINUTES}")
ROOT = "/api/v1/collections/editor/"


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """An aggregator with a few reports."""
    with running(COLLECTION) as started:
        started.put(COLLECTION, TODAY, {"browser": [20, 30, 40]})
        yield started


def told(aggregator: Running, path: str, headers: tuple[tuple[str, bytes], ...] = ()) -> tuple[int, bytes]:
    """The status and the body, for bytes that no library would send."""
    where = urlsplit(aggregator.url)
    given_names = {name.lower() for name, _ in headers}
    head = [f"GET {path} HTTP/1.1".encode(), b"Connection: close"]
    if "host" not in given_names:
        head.append(b"Host: localhost")
    head += [name.encode() + b": " + value for name, value in headers]
    with socket.create_connection((where.hostname, where.port), timeout=PATIENCE) as connection:
        connection.sendall(b"\r\n".join(head) + b"\r\n\r\n")
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
    first, _, body = answer.partition(b"\r\n\r\n")
    return int(first.split(b" ", 2)[1]), body


@pytest.mark.parametrize("host", [b"[", b"[::1", b"]", b"[::1]x", b"[1.2.3.4]", b"[v1.x]", b"\xff[", b"localhost:x"])
def test_a_host_that_is_none_is_told_so(aggregator: Running, host: bytes) -> None:
    """A name that can not be read is a bad request, or one that is not this machine's."""
    assert told(aggregator, "/api/v1/collections", (("Host", host),))[0] in {200, 400, 421}
    assert told(aggregator, "/api/v1/collections", (("Host", b"["),))[0] == 400


@pytest.mark.parametrize(
    "path",
    [
        "estimates/browser?last_epoch=4294967295",
        "estimates.csv?last_epoch=4294967295",
        "estimates/browser/epochs?last_epoch=4294967295&last=3",
        "overview?last_epoch=2932897&trend=4294967295",
        "estimates/browser?last=0&confidence=nan",
        "estimates/browser?last=3661",
        "estimates/browser?trend=-1",
        "overview?trend=99999999999",
        "estimates/browser?confidence=" + "9" * 5000,
        "estimates/browser?last=" + "9" * 5000,
    ],
)
def test_what_can_not_be_asked_is_a_bad_request(aggregator: Running, path: str) -> None:
    """A number beyond what it can be is answered with 400, and with what it can be."""
    status, body = told(aggregator, ROOT + path)
    assert status == 400
    error = json.loads(body)["error"]
    assert error["status"] == "INVALID_ARGUMENT"
    assert len(error["message"]) > 20


def test_the_last_epoch_of_all_is_answered(aggregator: Running) -> None:
    """The last that ends within the year 9999 is asked about as any other, as JSON and as a table."""
    last = 253_402_300_799 // 86_400 - 1
    for path in (f"estimates/browser?last_epoch={last}", f"estimates.csv?last_epoch={last}&last=2"):
        assert told(aggregator, ROOT + path)[0] == 200
    assert told(aggregator, ROOT + f"estimates/browser?last_epoch={last + 1}")[0] == 400


@pytest.mark.parametrize("path", ["estimates/a%0Ab", "estimates/a%0Ab.csv", "%0A", "estimates/browser%0A/epochs"])
def test_a_name_of_two_lines_is_not_known_as_any_other(aggregator: Running, path: str) -> None:
    """It is refused as the description of the API says, in JSON."""
    status, body = told(aggregator, ROOT + path)
    assert status == 404
    assert json.loads(body)["error"]["status"] == "NOT_FOUND"


PLACES = st.sampled_from(
    [
        "overview", "estimates", "estimates.csv", "estimates/browser", "estimates/minutes.csv", "estimates/nothing",
        "estimates/browser/epochs", "estimates/minutes/epochs.csv", "estimates/browser/segments/platform",
        "estimates/browser/segments/nothing", "", "../..", "estimates/", "%2e%2e/%00", "%ff%fe",
    ]
)  # fmt: skip
NAMES = st.sampled_from(
    [
        "last",
        "last_epoch",
        "confidence",
        "target",
        "rows",
        "trend",
        "segment.platform",
        "segment.",
        "segment",
        "x",
        "",
    ]
)
VALUES = st.one_of(
    st.sampled_from(
        [
            "0", "1", "7", "2932896", "3660", "3661", "20000", "4294967295", "-1", "1e9", "0.95", "nan", "inf",
            "-0.0", "1e-320", "0.9999999999999999", "5e-324", "1", "linux", "population", "reporting", "REPORTING",
            "٣", "²", "1_000", " 7", "+7", "0x10", "%", "%zz", "%ff", "a" * 3000,
        ]
    ),
    st.text(max_size=8),
    st.integers(0, 1 << 33).map(str),
    st.floats().map(str),
)  # fmt: skip
HEADERS = st.sampled_from(["Host", "Host", "If-None-Match", "Accept", "Accept-Encoding", "Range", "Content-Length"])
BYTES = st.one_of(
    st.sampled_from(
        [
            b"*", b"W/", b'W/"', b'"', b'W/"a", *', b"[", b"]", b"[::1]", b"localhost:", b"localhost:99999", b"127.1",
            b"application/openmetrics-text; version=", b"application/openmetrics-text;version=1.0.0;q=x",
            b"application/openmetrics-text; version=1.0.0; escaping=x", b"text/plain;escaping=allow-utf-8",
            b"gzip;q=x, br", b"bytes=9-1", b"bytes=-", b"0", b"-1", b"\xff\xfe", b"=;=", b'a="',
        ]
    ),
    st.binary(max_size=12).map(lambda value: bytes(byte for byte in value if byte > 31 and byte != 127)),
)  # fmt: skip


@settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    path=st.one_of(
        PLACES.map(lambda place: ROOT + place), st.sampled_from(["/metrics", "/", "/api/v1/health", "/%"])
    ),
    choices=st.lists(st.tuples(NAMES, VALUES), max_size=3),
    headers=st.lists(st.tuples(HEADERS, BYTES), max_size=2),
)
def test_no_request_is_a_server_error(
    aggregator: Running, path: str, choices: list[tuple[str, str]], headers: list[tuple[str, bytes]]
) -> None:
    """Whatever is asked and said: it is answered, or refused as something that can not be asked."""
    query = "&".join(f"{quote(name)}={quote(value, safe='%')}" for name, value in choices)
    status, _ = told(aggregator, f"{path}?{query}" if choices else path, tuple(headers))
    assert status < 500, (status, path, query, headers)
