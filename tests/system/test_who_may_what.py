"""Who may do what: every credential, every RPC and every route over HTTP, over TLS, mutual TLS and in the clear.

The RPCs are those of the services' own descriptors, and the routes those that the site has: what is added is asked
for here, or this fails.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import itertools
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import grpc
import pytest
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from deniable import Collection
from deniable.v1 import estimate_service_pb2, report_service_pb2
from deniable.v1.report_service_pb2 import StreamReportsRequest, StreamReportsResponse
from deniable_aggregator.serving.tokens import Tokens
from deniable_aggregator.web import DebugView, Site
from deniable_aggregator.web.entry import Entry
from support.aggregator_server import request
from support.commands import EDITOR
from support.endpoints import TLS
from support.site import running
from support.template import started
from support.waiting import PATIENCE, soon

OWN = Collection.load(EDITOR)
OTHER = """\
[collection]
name = "other"
epoch = "1d"
owner = "nobody"
[budget]
epoch = 1.0
[metrics.dark_mode]
kind = "boolean"
description = "It is dark"
epsilon = 1.0
"""
TOKENS = {
    "expired device": "report expires=2020-01-01",
    "expired reader": "read expires=2020-01-01",
    "other's device": "report collections=other",
    "other's reader": "read collections=other",
    "own device": "report collections=editor",
    "own reader": "read collections=editor",
    "device": "report",
    "reader": "read",
    "both": "report collections=editor,other",
}
"""Who is in the file; the last one stands in it twice."""
REVOKED = ("revoked device", "revoked reader")
UNKNOWN = ("nobody", "a stranger", *REVOKED, "expired device", "expired reader")
"""Whose token is none, is not in the file, is not any more, or has expired."""
WHO = (*UNKNOWN, "other's device", "other's reader", "own device", "own reader", "device", "reader", "both")
REPORTING = {"own device": "editor", "device": None, "both": None, "other's device": "other"}
READING = {"own reader": "editor", "reader": None, "both": None, "other's reader": "other"}
"""Who reports or reads, and what: None is all."""
TRANSPORTS = ("plain", "tls", "mtls")
REACHES = {"none": {"plain"}, "tls": {"tls", "mtls"}, "mtls": {"mtls"}}
"""By what a server asks for, how it is reached."""


def line(name: str, says: str) -> str:
    """One of a file of tokens."""
    return f"{says} {hashlib.sha256(name.encode()).hexdigest()} {name}\n"


def good(who: dict[str, str | None], name: str, collection: str | None) -> bool:
    """Whether somebody is let in for a collection; None: for anything at all."""
    return name in who and (collection is None or who[name] in {None, collection})


class Serving(NamedTuple):
    """An aggregator, and how it is reached."""

    asks: str
    endpoint: str
    url: str

    def channel(self, transport: str) -> grpc.Channel:
        """To gRPC."""
        if transport == "plain":
            return grpc.insecure_channel(self.endpoint)
        own = [(TLS / "client.key").read_bytes(), (TLS / "client.pem").read_bytes()] if transport == "mtls" else []
        secrets = grpc.ssl_channel_credentials((TLS / "ca.pem").read_bytes(), *own)
        return grpc.secure_channel(self.endpoint.replace("127.0.0.1", "localhost"), secrets)

    def connection(self, transport: str) -> http.client.HTTPConnection:
        """To the page."""
        port = urlsplit(self.url).port
        if transport == "plain":
            return http.client.HTTPConnection("localhost", port, timeout=PATIENCE)
        context = ssl.create_default_context(cafile=str(TLS / "ca.pem"))
        if transport == "mtls":
            context.load_cert_chain(TLS / "client.pem", TLS / "client.key")
        return http.client.HTTPSConnection("localhost", port, timeout=PATIENCE, context=context)


@pytest.fixture(scope="module", params=["none", "tls", "mtls"])
def serving(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """An aggregator with tokens, in processes of its own: in the clear for this machine, or for others by TLS."""
    asks = str(request.param)
    here = tmp_path_factory.mktemp(asks)
    (here / "other.toml").write_text(OTHER)
    file = here / "tokens"
    stays = "".join(line(*each) for each in TOKENS.items()) + line("both", "read")
    file.write_text(stays + line("revoked device", "report") + line("revoked reader", "read"))
    given: list[str | Path] = ["--data", here / "data", "--tokens", file, "--listen", "127.0.0.1:0"]
    if asks == "none":
        given += ["--http", "127.0.0.1:0"]
    else:
        given += ["--http", "0.0.0.0:0", "--tls-cert", TLS / "server.pem", "--tls-key", TLS / "server.key"]
        given += ["--tls-client-ca", TLS / "ca.pem"] if asks == "mtls" else []
    program = started("serve", EDITOR, here / "other.toml", *given)
    with program.stdout:
        try:
            endpoint = program.stdout.readline().rsplit(" on ", 1)[1].strip()
            url = program.stdout.readline().strip().removeprefix("the page is at ").removesuffix("/")
            own = Serving(asks, endpoint, url)
            transport = min(REACHES[asks], key=TRANSPORTS.index)
            assert outcome(own, transport, "/deniable.v1.ReportService/SubmitReports", "revoked device") == "OK"
            file.write_text(stays)
            with contextlib.closing(own.connection(transport)) as connection:
                soon(lambda: asked(connection, "/api/v1/collections", "revoked reader")[0] == 401)
            for method in ("ReportService/SubmitReports", "EstimateService/ListCollections"):
                who = "revoked device" if method.startswith("Report") else "revoked reader"
                soon(lambda: outcome(own, transport, f"/deniable.v1.{method}", who) == "UNAUTHENTICATED")  # noqa: B023
            yield own
        finally:
            program.kill()
            program.wait(PATIENCE)


def methods() -> dict[str, Any]:
    """All that can be called, by its path: the descriptor of the method."""
    files = (
        report_service_pb2.DESCRIPTOR, estimate_service_pb2.DESCRIPTOR, health_pb2.DESCRIPTOR,
        reflection_pb2.DESCRIPTOR,
    )  # fmt: skip
    services = [service for file in files for service in file.services_by_name.values()]
    return {f"/{own.full_name}/{method.name}": method for own in services for method in own.methods}


METHODS = methods()


def message(method: str) -> Message:
    """A question that can be answered: about the editor's collection, where it is about one."""
    name = method.rpartition("/")[2]
    if name == "SubmitReports":
        return batch()
    if name == "StreamReports":
        return StreamReportsRequest(sequence=1, batches=[batch()])
    if name == "ServerReflectionInfo":
        asked: Message = reflection_pb2.ServerReflectionRequest(list_services="")
        return asked
    fields = {"collection": "editor", "metric": "dark_mode", "segment": "platform"}
    kind: Any = getattr(estimate_service_pb2 if "Estimate" in method else health_pb2, METHODS[method].input_type.name)
    found: Message = kind(**{field: fields[field] for field in fields if field in kind.DESCRIPTOR.fields_by_name})
    return found


def batch() -> report_service_pb2.SubmitReportsRequest:
    """One that is stored."""
    return request((0, 1), epoch=OWN.epoch_at(time.time()), collection_digest=OWN.digest, segment=0)


def outcome(serving: Serving, transport: str, method: str, who: str) -> str:
    """How a call ends, or its first answer: the code, of a stream of batches that of the batch."""
    said = () if who == "nobody" else (("authorization", f"Bearer {who}"),)
    with serving.channel(transport) as channel:
        call: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(method)
        answers = call(iter([message(method).SerializeToString()]), metadata=said, timeout=PATIENCE)
        try:
            first = next(iter(answers))
        except grpc.RpcError as error:
            return str(error.code().name)
        finally:
            answers.cancel()
    if method.endswith("/StreamReports"):
        answer = StreamReportsResponse.FromString(first)
        return "OK" if answer.stored else grpc.StatusCode(_status(answer.others[0].code)).name
    return "OK"


def _status(number: int) -> tuple[int, str]:
    (found,) = (each.value for each in grpc.StatusCode if each.value[0] == number)
    return found


def expected_of_call(method: str, who: str) -> str:
    """How a call of somebody who reaches the server is to end."""
    service, _, name = method.strip("/").rpartition("/")
    if service == "grpc.health.v1.Health":
        return "OK"  # a load balancer has no token
    if who in UNKNOWN:
        return "UNAUTHENTICATED"
    if service == "deniable.v1.ReportService":
        return "OK" if good(REPORTING, who, "editor") else "PERMISSION_DENIED"
    whole = service == "grpc.reflection.v1alpha.ServerReflection" or name == "ListCollections"
    return "OK" if good(READING, who, None if whole else "editor") else "PERMISSION_DENIED"


@pytest.mark.parametrize("method", METHODS)
def test_every_rpc(serving: Serving, method: str) -> None:
    """By everybody who reaches it; by who does not, nothing is heard."""
    found, wanted = {}, {}
    for transport in TRANSPORTS:
        reached = transport in REACHES[serving.asks]
        for who in WHO if reached else ("both",):
            found[transport, who] = outcome(serving, transport, method, who)
            wanted[transport, who] = expected_of_call(method, who) if reached else "UNAVAILABLE"
    assert found == wanted


NAMES = {"{collection}": "editor", "{metric}": "dark_mode", "{segment}": "platform", "{rest}": "nothing"}
OPEN = ("/login", "/logout", "/static/", "/favicon.ico")
OF_ALL = ("/metrics", "/api/v1/health", "/api/v1/debug")


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """All that a site answers, as methods and paths: its own list of them, with the names filled in."""
    file = tmp_path_factory.mktemp("routes") / "tokens"
    file.touch()
    with running(OWN) as aggregator:
        site = Site("127.0.0.1:0", aggregator.analyst_of, debug=DebugView(), entry=Entry(Tokens(file)))
        known = site._application(aggregator.server).router.routes()
        found = {(own.method, own.resource.canonical) for own in known if own.resource}
    return [(method, _filled(path)) for method, path in sorted(found)]


def _filled(path: str) -> str:
    """A path with names of what there is."""
    for name, value in NAMES.items():
        path = path.replace(name, value)
    return path.replace("{name}", "page.css")


def asked(
    connection: http.client.HTTPConnection, path: str, who: str = "nobody", method: str = "GET", **headers: str
) -> tuple[int, str]:
    """The status of an answer, and the cookie that it sets."""
    said = {} if who == "nobody" else {"Authorization": f"Bearer {who}"}
    connection.request(method, path, headers=said | headers)
    response = connection.getresponse()
    response.read()
    return response.status, response.headers.get("Set-Cookie", "").partition(";")[0]


def logged_in(serving: Serving, connection: http.client.HTTPConnection, who: str) -> str:
    """The cookie of somebody who has logged in; none where they may not."""
    port = urlsplit(serving.url).port
    origin = f"{urlsplit(serving.url).scheme}://localhost:{port}"
    headers = {"Origin": origin, "Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/login", urlencode({"token": who}), headers)
    response = connection.getresponse()
    response.read()
    assert response.status in {303, 403}
    return response.headers.get("Set-Cookie", "").partition(";")[0]


def expected_of_route(method: str, path: str, who: str) -> int:
    """What somebody is answered who reaches the page."""
    if path.startswith(OPEN):
        return 403 if method == "POST" else 200  # a form that does not say where it comes from
    reads = good(READING, who, None)
    if not path.startswith(("/api/", "/metrics")):
        return 200 if reads else 303
    if not reads:
        return 401 if who in UNKNOWN else 403
    if path in OF_ALL and READING[who] is not None:
        return 403
    if path in {"/api/v1/nothing", "/api/v1/debug"}:  # nobody has asked for a debug view
        return 404
    return 200 if "/collections/" not in path or good(READING, who, "editor") else 403


def test_every_route(serving: Serving, routes: list[tuple[str, str]]) -> None:
    """By everybody who reaches it, with a token and with the session of one; who does not is answered nothing."""
    assert {path for _, path in routes} > {"/", "/login", "/logout", *OF_ALL, "/api/v1/collections/editor/overview"}
    for transport in sorted(REACHES[serving.asks]):
        found, wanted = {}, {}
        with contextlib.closing(serving.connection(transport)) as connection:
            for (method, path), who in itertools.product(routes, WHO):
                if not path.startswith(OPEN) or who in {"nobody", "both"}:
                    found[method, path, who] = asked(connection, path, who, method)[0]
                    wanted[method, path, who] = expected_of_route(method, path, who)
        assert found == wanted, transport


def test_every_route_with_a_session(serving: Serving, routes: list[tuple[str, str]]) -> None:
    """It is good for what its token is good for; nobody else has one."""
    for transport in sorted(REACHES[serving.asks]):
        with contextlib.closing(serving.connection(transport)) as connection:
            cookies = {who: logged_in(serving, connection, who) for who in (*READING, "own device", "a stranger")}
            assert {who for who, cookie in cookies.items() if cookie} == set(READING)
            secure = serving.asks != "none"
            assert all(cookies[who].startswith("__Host-deniable=") is secure for who in READING)
            asking = [(*each, who) for each in routes for who in READING if each[1] not in OPEN]
            found = {
                (method, path, who): asked(connection, path, method=method, Cookie=cookies[who])[0]
                for method, path, who in asking
            }
        assert found == {each: expected_of_route(*each) for each in asking}, transport


def test_who_does_not_reach_the_page_is_answered_nothing(serving: Serving, routes: list[tuple[str, str]]) -> None:
    """In the clear where TLS is spoken, by TLS where it is not, and without the certificate that is asked for."""
    for transport in set(TRANSPORTS) - REACHES[serving.asks]:
        for method, path in routes:
            refused = pytest.raises((OSError, http.client.HTTPException))
            with contextlib.closing(serving.connection(transport)) as connection, refused:
                asked(connection, path, "both", method)
