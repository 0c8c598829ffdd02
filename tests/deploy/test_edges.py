"""nginx and Envoy in front of a real aggregator, as deploy/ configures them: TLS, and nothing said of who came."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest

from deniable import Client, Collection, Credentials
from deniable_aggregator import Reader
from support.commands import EDITOR
from support.deployed import Deployed, batches, serving
from support.edges import EDGES, Behind, Edge, edge, networks
from support.endpoints import GARBAGE, TLS, answering, dead, refusing
from support.submitting import submit
from support.waiting import PATIENCE, soon

ANSWERS = {"dark_mode": True, "crashed": False, "session_minutes": 40.0, "browser": "firefox"}
SECRETS = grpc.ssl_channel_credentials((TLS / "ca.pem").read_bytes())
ADDRESS = "127.0.0.77"
"""Of this machine, and of nobody else in the tests."""


class Guarded(NamedTuple):
    """An aggregator and its edge."""

    aggregator: Deployed
    edge: Edge


@pytest.fixture(scope="module", params=EDGES)
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Each edge in front of an aggregator of its own, with two workers."""
    room = tmp_path_factory.mktemp(request.param)
    arguments = ("--data", room / "data", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--workers", "2")
    with (
        serving(EDITOR, *arguments) as aggregator,
        edge(request.param, room / "edge", behind(aggregator)) as running,
    ):
        yield Guarded(aggregator, running)


def behind(aggregator: Deployed) -> Behind:
    """Where an aggregator is."""
    return Behind(aggregator.endpoint, aggregator.page.removeprefix("http://").replace("localhost", "127.0.0.1"))


def person(known: bool = True) -> ssl.SSLContext:
    """How a person's browser connects, with a certificate or without."""
    context = ssl.create_default_context(cafile=str(TLS / "ca.pem"))
    if known:
        context.load_cert_chain(TLS / "client.pem", TLS / "client.key")
    return context


def page(port: int, path: str, context: ssl.SSLContext) -> tuple[int, bytes]:
    """What a path of the page answers."""
    connection = http.client.HTTPSConnection("localhost", port, timeout=PATIENCE, context=context)
    try:
        connection.request("GET", path)
        found = connection.getresponse()
        return found.status, found.read()
    finally:
        connection.close()


def test_a_device_reports_through_tls(guarded: Guarded) -> None:
    """By the SDK, which knows of no proxy: stored, and said so."""
    with Client(
        Collection.load(EDITOR),
        endpoint=f"localhost:{guarded.edge.devices}",
        consent="granted",
        segment={"platform": "linux"},
        credentials=Credentials(roots=(TLS / "ca.pem").read_bytes()),
    ) as client:
        client.record("dark_mode", True)
        assert client.flush(PATIENCE), client.status()


def test_many_calls_at_a_time_are_all_stored_once(guarded: Guarded) -> None:
    """Of 3 connections with 133 each, repeated: more than an aggregator takes of a connection, and none is refused.

    nginx takes 256 calls of an address at a time, 32 of a connection, and counts one that has ended until it has
    forgotten it: those before may still be among them, of this round or the other.
    """
    with Reader(guarded.aggregator.endpoint) as reader:
        before = reports(reader)
        sent = [batch.request for batch in batches(400, ANSWERS)]
        for _ in range(2):
            told = submit(f"localhost:{guarded.edge.devices}", sent, connections=3, secrets=SECRETS)
            assert set(told) == {grpc.StatusCode.OK}
        assert reports(reader) == before + 400


def test_who_has_many_addresses_of_a_network_has_the_calls_of_one(tmp_path: Path) -> None:
    """Of IPv6 the first 64 bits, however much of an address is left out as it is written; of IPv4 all of it."""
    with networks(tmp_path) as network:
        for one, another, elsewhere in (
            ("2001:db8:7:9:1:2:3:4", "2001:db8:7:9::5", "2001:db8:7:8:1:2:3:4"),
            ("2001:db8:7:9::", "2001:db8:7:9:ffff::1", "2001:db8:17:9::"),
            ("2001:db8:7::1", "2001:db8:7::2:3:4", "2001:db8:8::1"),
            ("2001:db8::1", "2001:db8::1:2:3:4", "2001:db9::1"),
            ("fd00::1", "fd00::2:3", "fd01::1"),
        ):
            assert network(one) == network(another) != network(elsewhere)
        alone = ("192.0.2.7", "192.0.2.77", "::1", "::ffff:192.0.2.7")
        assert [network(each) for each in alone] == [*alone]


def reports(reader: Reader) -> int:
    """How many devices have said whether they crashed."""
    return max((row["reports"] for row in reader.estimates("crashed")), default=0)


def call(channel: grpc.Channel, method: str) -> Any:
    """A method that takes bytes."""
    return channel.unary_unary(method)


def test_devices_reach_reports_and_nothing_else(guarded: Guarded) -> None:
    """No question, no reflection, no page, no metrics at their port."""
    with grpc.secure_channel(f"localhost:{guarded.edge.devices}", SECRETS) as channel:
        for method in (
            "/deniable.v1.EstimateService/ListCollections",
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        ):
            with pytest.raises(grpc.RpcError) as refused:
                call(channel, method)(b"", timeout=PATIENCE)
            assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    for path in ("/", "/metrics", "/api/v1/health"):
        assert page(guarded.edge.devices, path, person())[0] == 404


def test_people_are_known_by_their_certificate(guarded: Guarded) -> None:
    """With one they see the page and ask questions, without one nothing; counts of the process are not for them."""
    port = guarded.edge.people
    found = page(port, "/", person())
    assert (found[0], b"<html" in found[1]) == (200, True)
    assert page(port, "/api/v1/health", person())[0] == 200
    assert page(port, "/metrics", person())[0] == 404
    with contextlib.suppress(ssl.SSLError, ConnectionError):
        assert page(port, "/", person(known=False))[0] == 400
    own = Credentials(
        roots=(TLS / "ca.pem").read_bytes(),
        certificate=(TLS / "client.pem").read_bytes(),
        key=(TLS / "client.key").read_bytes(),
    )
    with Reader(f"localhost:{port}", credentials=own) as reader:
        assert reader.collections()


@pytest.mark.parametrize("which", EDGES)
def test_connections_behind_stay_open_and_say_nothing_of_who_came(which: str, tmp_path: Path) -> None:
    """Thirty devices, one after the other: they share a few connections behind, and no address comes along,
    neither theirs nor one that they made up."""
    with (
        answering() as aggregator,
        edge(which, tmp_path / "edge", Behind(aggregator.address, dead())) as running,
    ):
        made_up = tuple((name, "203.0.113.9") for name in ("x-forwarded-for", "x-real-ip", "forwarded"))
        for _ in range(30):
            own = [("grpc.use_local_subchannel_pool", 1)]
            with grpc.secure_channel(f"localhost:{running.devices}", SECRETS, own) as channel:
                call(channel, "/deniable.v1.ReportService/SubmitReports")(
                    b"batch", timeout=PATIENCE, metadata=made_up
                )
        assert aggregator.requests == [b"batch"] * 30
        # Envoy has one for each of its two workers. nginx may not have put one back when the next call comes.
        assert len(set(aggregator.peers)) <= (2 if which == "envoy" else 15)
        said = {f"{name}: {value!r}" for each in aggregator.metadata for name, value in each.items()}
        assert not [each for each in said if "203.0.113" in each or "127.0.0.1" in each or "::1" in each]
        names = {name for each in aggregator.metadata for name in each}
        assert names <= {"user-agent", "x-forwarded-proto"}


@pytest.mark.parametrize("which", EDGES)
def test_a_call_is_made_once(which: str, tmp_path: Path) -> None:
    """A refusal is passed on, and the aggregator is not asked again; one that is gone is told as that."""
    with answering(refusing(grpc.StatusCode.UNAVAILABLE, words="the store is away")) as aggregator:
        with edge(which, tmp_path / "edge", Behind(aggregator.address, dead())) as running:
            assert submit(f"localhost:{running.devices}", [b"batch"], secrets=SECRETS) == [
                grpc.StatusCode.UNAVAILABLE
            ]
        assert aggregator.requests == [b"batch"]
    with edge(which, tmp_path / "without", Behind(dead(), dead())) as running:
        assert submit(f"localhost:{running.devices}", [b"batch"], secrets=SECRETS) == [grpc.StatusCode.UNAVAILABLE]


@pytest.mark.parametrize("which", EDGES)
def test_nothing_of_who_came_is_written(which: str, tmp_path: Path) -> None:
    """Whoever asks for a page that is not there or cannot be had, sends garbage or no certificate, or goes away."""
    with edge(which, tmp_path / "edge", Behind(dead(), dead())) as running:
        for port in (running.devices, running.people):
            for known in (True, False):
                for path in (b"/", b"/nothing", b"/deniable.v1.ReportService/SubmitReports", b"/" + b"x" * 40_000):
                    visit(port, b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", person(known=known))
            visit(port, GARBAGE)
            visit(port, b"")
        assert page(running.people, "/", person())[0] in {502, 503}
        assert ADDRESS not in running.written()


def visit(port: int, said: bytes, context: ssl.SSLContext | None = None) -> None:
    """Come from an address, say something, and hear what comes of it, if anything does."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", port), PATIENCE, (ADDRESS, 0)) as plain,
    ):
        if context is None:
            plain.sendall(said)
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        with context.wrap_socket(plain, server_hostname="localhost") as secured:
            secured.sendall(said)
            secured.recv(100)


@pytest.mark.parametrize("which", EDGES)
def test_a_renewed_certificate_is_shown(which: str, tmp_path: Path) -> None:
    """To whoever connects from then on, while the edge goes on."""
    with edge(which, tmp_path / "edge", Behind(dead(), dead())) as running:
        assert shown(running.devices) == "server"
        running.renew()
        soon(lambda: shown(running.devices) == "client")
        assert running.process.poll() is None


def shown(port: int) -> str:
    """Whose certificate somebody sees who connects."""
    found = ssl.get_server_certificate(("localhost", port), timeout=PATIENCE)
    (name,) = [
        name
        for name in ("server", "client")
        if ssl.PEM_cert_to_DER_cert((TLS / f"{name}.pem").read_text()) == ssl.PEM_cert_to_DER_cert(found)
    ]
    return name
