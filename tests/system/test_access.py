"""Access: TLS both ways and bearer tokens, from an SDK's client to a running aggregator."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import grpc
import pytest
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from grpc_health.v1 import health_pb2, health_pb2_grpc

from deniable import Client, Collection, Consent, Credentials
from deniable.wire.upload import METHOD
from deniable_aggregator.serving.access import Access
from deniable_aggregator.telling.remote import Reader, RemoteError
from support.commands import EDITOR, serving, told
from support.endpoints import TLS
from support.waiting import PATIENCE, soon

COLLECTION = Collection.load(EDITOR)
STREAM = "/deniable.v1.ReportService/StreamReports"
SECRETS = ("--tls-cert", str(TLS / "server.pem"), "--tls-key", str(TLS / "server.key"))
DEVICE, PERSON = "the application's token", "the team's token"


def pem(name: str) -> bytes:
    """A certificate or key of the tests."""
    return (TLS / name).read_bytes()


def line(scope: str, token: str) -> str:
    """A line of a file of tokens."""
    return f"{scope} {hashlib.sha256(token.encode()).hexdigest()} for a test\n"


def reported(endpoint: str, credentials: Credentials | None) -> str:
    """What becomes of a device's batch: the word in its health counts."""
    with Client(
        COLLECTION, endpoint=endpoint, consent=Consent.GRANTED, segment={"platform": "linux"}, credentials=credentials
    ) as client:
        client.record("dark_mode", True)
        client.flush(0.0)
        soon(lambda: set(client.status().counts) - {"answered"})
        (outcome,) = set(client.status().counts) - {"answered"}
    return outcome


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of tokens."""
    path = tmp_path_factory.mktemp("access") / "tokens"
    path.write_text("# who may do what\n\n" + line("report", DEVICE) + line("read", PERSON))
    return path


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, tokens: Path) -> Iterator[str]:
    """An aggregator with TLS and tokens."""
    secrets = ("--tls-cert", TLS / "server.pem", "--tls-key", TLS / "server.key", "--tokens", tokens)
    with serving(
        tmp_path_factory.mktemp("guarded") / "data", EDITOR, *secrets, log=tokens.with_name("log")
    ) as endpoint:
        yield endpoint


def test_a_device_with_the_token_is_let_in(guarded: str) -> None:
    """Over TLS, with its application's token, its batch is stored."""
    assert reported(guarded, Credentials(pem("ca.pem"), token=DEVICE)) == "stored"


@pytest.mark.parametrize(
    ("token", "outcome"), [(None, "not authenticated"), ("guess", "not authenticated"), (PERSON, "not permitted")]
)
def test_a_device_without_it_keeps_its_batch(guarded: str, token: str | None, outcome: str) -> None:
    """No token, a wrong one, one that is good for something else: the batch waits, and the device backs off long."""
    with Client(
        COLLECTION, endpoint=guarded, consent=Consent.GRANTED, segment={"platform": "linux"},
        credentials=Credentials(pem("ca.pem"), token=token),
    ) as client:  # fmt: skip
        client.record("dark_mode", True)
        assert not client.flush(1.5)
        assert client.status().counts == {"answered": 1, outcome: 1}
        assert client.status().waiting == 1


def test_without_tls_nobody_is_heard(guarded: str) -> None:
    """A client that speaks in the clear reaches nobody."""
    assert reported(guarded, None) == "unreachable"


def test_reading_takes_a_token_of_its_own(guarded: str) -> None:
    """What every device has does not let anybody read; what people have does, in Python and on the command line."""
    with Reader(guarded, credentials=Credentials(pem("ca.pem"), token=PERSON)) as reader:
        assert {info.name for info in reader.collections()} == {"editor"}
        assert {row["metric"] for row in reader.counters("dark_mode")} == {"dark_mode"}
    with Reader(guarded, credentials=Credentials(pem("ca.pem"), token=DEVICE)) as reader:
        for question in (reader.collections, reader.estimates, reader.counters):
            with pytest.raises(RemoteError, match="not good for that"):
                question()


def test_the_command_line_reads_with_a_token(guarded: str, tmp_path: Path) -> None:
    """It is in a file, for the list of processes shows a command's arguments to everybody."""
    (tmp_path / "token").write_text(f"{PERSON}\n")
    options = ("estimates", "--endpoint", guarded, "--tls-ca", TLS / "ca.pem", "--format", "csv")
    shown = told(*options, "--token-file", tmp_path / "token")
    assert shown.returncode == 0, shown.stderr
    refused = told(*options)
    assert refused.returncode == 2
    assert "a bearer token is needed" in refused.stderr


def test_a_refusal_says_why_in_a_word(guarded: str) -> None:
    """Its details have an ErrorInfo, as every other refusal; any method is refused, a stream as well."""
    secrets = grpc.ssl_channel_credentials(pem("ca.pem"))
    with grpc.secure_channel(guarded, secrets) as channel:
        submit: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(METHOD)
        stream: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(STREAM)
        with pytest.raises(grpc.RpcError) as caught:
            submit(b"", timeout=PATIENCE)
        with pytest.raises(grpc.RpcError) as streamed:
            next(iter(stream(iter([]), timeout=PATIENCE)))
    for error in (cast("grpc.Call", caught.value), cast("grpc.Call", streamed.value)):
        assert error.code() is grpc.StatusCode.UNAUTHENTICATED
        trailer = dict(error.trailing_metadata() or ())
        status, info = Status.FromString(trailer["grpc-status-details-bin"]), ErrorInfo()
        assert status.details[0].Unpack(info)
        assert (info.domain, info.reason) == ("deniable", "NO_TOKEN")


def test_health_is_for_everybody(guarded: str) -> None:
    """A load balancer has no token."""
    with grpc.secure_channel(guarded, grpc.ssl_channel_credentials(pem("ca.pem"))) as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_a_token_that_is_taken_out_stops_working(guarded: str, tokens: Path) -> None:
    """Within seconds, without a restart; a file that makes no sense changes nothing."""
    before, other = tokens.read_text(), Credentials(pem("ca.pem"), token="another token")
    try:
        tokens.write_text(before + line("report", "another token"))
        soon(lambda: reported(guarded, other) == "stored")
        tokens.write_text("nonsense\n")
        while "who is let in stays as it is" not in tokens.with_name("log").read_text():
            assert reported(guarded, other) == "stored"
        assert reported(guarded, other) == "stored"
        tokens.write_text(before)
        soon(lambda: reported(guarded, other) != "stored")
    finally:
        tokens.write_text(before)


def test_clients_can_be_asked_for_a_certificate(tmp_path: Path) -> None:
    """With mutual TLS a device that has one signed by the authority is let in, one without is not."""
    secrets = ("--tls-cert", TLS / "server.pem", "--tls-key", TLS / "server.key", "--tls-client-ca", TLS / "ca.pem")
    with serving(tmp_path / "data", EDITOR, *secrets) as endpoint:
        own = Credentials(pem("ca.pem"), pem("client.pem"), pem("client.key"))
        assert reported(endpoint, own) == "stored"
        assert reported(endpoint, Credentials(pem("ca.pem"))) == "unreachable"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--tls-cert", TLS / "server.pem"), "a certificate goes with its key"),
        (("--tls-client-ca", TLS / "ca.pem"), "over TLS only"),
        (("--tokens", TLS / "README.md"), "line 1: takes report or read"),
        (("--tokens", TLS / "nowhere"), "nowhere"),
        (("--tls-cert", TLS / "README.md", "--tls-key", TLS / "server.key"), "its certificate is none"),
        (("--tls-cert", TLS / "nowhere", "--tls-key", TLS / "server.key"), "nowhere"),
        ((*SECRETS, "--tls-client-ca", TLS / "nowhere"), "nowhere"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, arguments: tuple[str | Path, ...], words: str) -> None:
    """An aggregator that can not guard as it is told does not start, and begins no store."""
    shown = told("serve", EDITOR, "--data", tmp_path / "data", "--listen", "127.0.0.1:0", *arguments)
    assert shown.returncode == 2
    assert words in shown.stderr.splitlines()[-1]
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--listen", "0.0.0.0:0"), "--listen 0.0.0.0:0 is for other machines, in the clear: --tls-cert"),
        (("--listen", "[::]:0"), "or --insecure"),
        (("--listen", "telemetry.example.org:0"), "or --insecure"),
        (("--listen", "127.0.0.1:0", "--http", "0.0.0.0:0"), "shows the page to other machines"),
        (("--listen", "0.0.0.0:0", "--http", "[::]:0", *SECRETS), "--http [::]:0 shows the page"),
    ],
)
def test_nothing_is_in_the_clear_beyond_this_machine(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    """Unless somebody says that it may be: who forgets the certificate does not serve a fleet without one."""
    shown = told("serve", EDITOR, "--data", tmp_path / "data", *arguments)
    assert shown.returncode == 2
    assert words in shown.stderr.splitlines()[-1]


@pytest.mark.parametrize("arguments", [("--insecure",), SECRETS], ids=["told to", "by TLS"])
def test_what_may_listen_for_other_machines_does(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """In the clear where that is said, and with a certificate."""
    with serving(tmp_path / "data", EDITOR, "--listen", "0.0.0.0:0", *arguments) as endpoint:
        roots = Credentials(pem("ca.pem")) if arguments == SECRETS else None
        assert reported(f"127.0.0.1:{endpoint.rpartition(':')[2]}", roots) == "stored"


def test_what_is_not_asked_for_is_not_there() -> None:
    """Without any of it there is no interceptor: nothing is looked at that nobody asked to."""
    assert Access().guards() == ()


def test_an_rsa_certificate_is_noticed() -> None:
    """What makes every visit dear is said; a certificate on a curve is fine, and so is none."""
    key = TLS / "server.key"
    assert Access(TLS / "rsa.pem", key).costs_more()
    assert not Access(TLS / "server.pem", key).costs_more()
    assert not Access().costs_more()
