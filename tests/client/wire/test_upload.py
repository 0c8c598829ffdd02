"""Upload: what an aggregator's answer means for a batch, over real gRPC."""

from __future__ import annotations

import socket
import ssl
import threading
from datetime import timedelta

import grpc
import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]

from deniable import Credentials
from deniable.v1.report_service_pb2 import SubmitReportsResponse
from deniable.wire.credentials import is_loopback
from deniable.wire.outcome import Outcome, backoff
from deniable.wire.upload import Uploader
from support.attacker import Answer as Breaking
from support.attacker import attacking
from support.endpoints import TLS, Answer, answering, dead, lying, refusing, turning_away
from support.waiting import PATIENCE

HOUR = 3600.0


def sent(answer: Answer, deadline: float = PATIENCE) -> Outcome:
    """What comes of a batch that is answered like this."""
    with answering(answer) as endpoint:
        return sent_to(endpoint.address, deadline)


def sent_to(endpoint: str, deadline: float = PATIENCE, credentials: Credentials | None = None) -> Outcome:
    """What comes of a batch that is sent there."""
    uploader = Uploader(endpoint, credentials or Credentials(), deadline)
    try:
        outcome = uploader.send(b"batch")
    finally:
        uploader.close()
    assert outcome is not None
    return outcome


def status(code: grpc.StatusCode, seconds: float) -> tuple[str, bytes]:
    """The trailer with which an aggregator asks to wait."""
    delay, info, retry = Duration(), Any(), Any()
    delay.FromTimedelta(timedelta(seconds=seconds))
    info.Pack(ErrorInfo(reason="BUSY", domain="deniable"))
    retry.Pack(RetryInfo(retry_delay=delay))
    message = Status(
        code=code.value[0], message="a message that is longer than 127 bytes " * 5, details=[info, retry]
    )
    return "grpc-status-details-bin", message.SerializeToString()


DROPPED = {"INVALID_ARGUMENT", "OUT_OF_RANGE"}
LONG = {"FAILED_PRECONDITION", "UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED"}
QUARTER = 900.0


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK], ids=str)
def test_every_code_has_its_outcome(code: grpc.StatusCode) -> None:
    """What can never be taken is dropped; what only people can mend waits an hour; all else is tried again soon.

    Only codes that an aggregator answers before it stores anything say that a batch was not stored, and of those that
    gRPC makes up where a stream breaks only those that are explained.
    """
    outcome = sent(refusing(code))
    assert outcome.keep is (code.name not in DROPPED)
    assert (outcome.retry_after == HOUR) is (code.name in LONG)
    assert outcome.retry_after in {None, HOUR}
    assert outcome.unstored is (code.name in LONG - {"PERMISSION_DENIED"})
    explained = sent(refusing(code, status(code, 0.0)))
    assert explained.unstored is (code.name in LONG | {"RESOURCE_EXHAUSTED"})
    assert bool(outcome.advice) is (code.name in DROPPED | LONG)


def test_a_stored_batch_is_done_with() -> None:
    """An acknowledgement ends it, whether it was stored now or before."""
    assert sent(lambda *_: b"") == Outcome(False, "stored")
    duplicate = SubmitReportsResponse(duplicate=True).SerializeToString()
    assert sent(lambda *_: duplicate) == Outcome(False, "stored before")


def test_an_acknowledgement_that_is_none_does_not_count() -> None:
    """An endpoint that says yes to everything, but not in the words of an aggregator, is not believed."""
    assert sent(lambda *_: b"\xff\xff\xff garbage") == Outcome(True, "not taken")


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED], ids=str)
def test_the_delay_that_a_server_asks_for_is_heard(code: grpc.StatusCode) -> None:
    """In the status's RetryInfo, or in the pushback trailer, which goes first; a pushback that is negative or no
    number says not to come back: a long wait."""
    pushback = "grpc-retry-pushback-ms"
    assert sent(refusing(code, status(code, 2.5))).retry_after == 2.5
    assert sent(refusing(code, (pushback, "1500"))).retry_after == 1.5
    assert sent(refusing(code, (pushback, "1500"), status(code, 2.5))).retry_after == 1.5
    assert sent(refusing(code, (pushback, "-1"))).retry_after == HOUR
    assert sent(refusing(code, (pushback, "soon"))).retry_after == HOUR


@pytest.mark.parametrize("details", [b"\xff" * 40, b"\x1a\x7f short", b"\x1a\x02\xff\xff", b"\x08"])
def test_details_that_make_no_sense_ask_for_nothing(details: bytes) -> None:
    """Whatever a server sends is survived."""
    answer = refusing(grpc.StatusCode.UNAVAILABLE, ("grpc-status-details-bin", details))
    assert sent(answer).retry_after is None


def test_no_server_can_silence_a_device_for_ever() -> None:
    """A delay of years is a delay of a day at most."""
    code = grpc.StatusCode.UNAVAILABLE
    asked = sent(refusing(code, status(code, 10 * 365 * 86400.0))).retry_after
    assert asked is not None
    assert 43200 <= backoff(0, asked, QUARTER) <= 86400
    absurd = sent(refusing(code, ("grpc-retry-pushback-ms", "9" * 4000))).retry_after
    assert backoff(0, absurd, QUARTER) <= 86400


def test_waits_grow_up_to_the_longest_and_are_jittered() -> None:
    """A device that fails again and again waits longer and longer, and never at the same beat as the others."""
    for failures in range(30):
        middle = min(4.0**failures, QUARTER)
        waits = [backoff(failures, None, QUARTER) for _ in range(200)]
        assert 0.5 * middle <= min(waits) < max(waits) <= 1.5 * middle
        # Of 200 draws from a stretch all lie within a half of it once in 10^57 times.
        assert max(waits) - min(waits) > 0.5 * middle


def test_a_wait_is_never_shorter_than_asked() -> None:
    """Jitter only adds to what a server asks for, and spreads the devices that were told the same."""
    waits = [backoff(0, 60.0, QUARTER) for _ in range(200)]
    assert 60.0 <= min(waits) < max(waits) <= 120.0
    assert backoff(10, 2.0, QUARTER) >= 450, "a short delay does not shorten the own one"


def test_the_delay_that_a_server_asks_for_is_no_name_for_a_device() -> None:
    """A server that asks each device for another delay meets them again after one of four waits, and no others.

    Waits after 61 and after 3,600 seconds come from the same stretch: the means of 200 differ by more than 0.16 of
    it, 5.5 standard deviations, once in 10^7 times.
    """
    for low, high in ((0.001, 2.0), (2.1, 60.0), (61.0, 3600.0), (3601.0, 1e12)):
        means = []
        for asked in (low, high):
            waits = [backoff(0, asked, QUARTER) for _ in range(200)]
            step = min(high, 43200.0)
            assert step <= min(waits) < max(waits) <= 2 * step
            means.append(sum(waits) / 200 / step)
        assert abs(means[0] - means[1]) < 0.16


def test_whether_a_call_has_left_is_known_where_it_can_be() -> None:
    """Nobody there: it certainly was not stored. A connection that breaks, or stays silent: it may have been."""
    assert sent_to(dead()).unstored
    assert sent_to("no such host.invalid:443").unstored
    for how in ("silent", "reset"):
        with lying(how) as endpoint:
            outcome = sent_to(endpoint, deadline=0.5)
        assert outcome.keep
        assert outcome.counted_as == "unreachable"


@pytest.mark.parametrize("error", range(14))
def test_a_stream_that_is_broken_off_may_have_been_stored(error: int) -> None:
    """Whatever the reason, and whatever gRPC makes of it: only an aggregator's own word says that it was not."""
    with attacking(lambda _: Breaking(broken=error), lambda: 0.0) as attacker:
        outcome = sent_to(attacker.address)
    assert outcome.keep
    assert not outcome.unstored


def test_every_batch_has_a_connection_of_its_own() -> None:
    """Also those of two uploaders to the same place that are open at the same time; gRPC would join them."""
    with answering() as endpoint:
        uploaders = [Uploader(endpoint.address, Credentials(), 5.0) for _ in range(3)]
        for uploader in uploaders:
            assert uploader.send(b"batch") == Outcome(False, "stored")
        for uploader in uploaders:
            uploader.close()
    assert len(set(endpoint.peers)) == 3


def test_tls_sessions_are_not_resumed() -> None:
    """A ticket of an earlier connection would name the device on the next one: none is shown."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.pem", TLS / "server.key")
    context.set_alpn_protocols(["h2"])
    resumed = []

    def serve(server: socket.socket) -> None:
        for _ in range(3):
            connection, _ = server.accept()
            with context.wrap_socket(connection, server_side=True) as secured:
                resumed.append(secured.session_reused)
                secured.recv(1000)  # with this the tickets have been taken in; then the connection ends

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        for _ in range(3):
            address = f"127.0.0.1:{server.getsockname()[1]}"
            assert sent_to(address, credentials=Credentials(roots=read("ca.pem"))).keep
        thread.join()
    assert resumed == [False] * 3


@pytest.mark.parametrize("how", ["silent", "garbage", "reset"])
def test_a_lying_endpoint_keeps_the_batch(how: str) -> None:
    """Silence ends with the deadline; garbage and resets are failures like others."""
    with lying(how) as endpoint:
        assert sent_to(endpoint, deadline=0.5).keep


def test_a_call_is_tried_once() -> None:
    """gRPC does not repeat it, not even one that was not begun: when to try again is for the queue to say."""
    with turning_away() as (endpoint, calls):
        assert sent_to(endpoint, deadline=2.0).keep
    assert len(calls) == 1


@pytest.mark.parametrize("endpoint", ["localhost:1", "no such host.invalid:443", "", "::::", "127.0.0.1:99999999"])
def test_an_endpoint_that_is_none_keeps_the_batch(endpoint: str) -> None:
    """Where nobody is, or where the name makes no sense, nothing is lost and nothing raised."""
    assert sent_to(endpoint or dead(), deadline=1.0).keep


@pytest.mark.parametrize(
    ("endpoint", "local"),
    [
        ("localhost:8470", True),
        ("127.0.0.1:8470", True),
        ("127.8.4.7:8470", True),
        ("[::1]:8470", True),
        ("dns:///localhost:8470", True),
        ("dns://8.8.8.8/localhost:1", True),
        ("unix:/run/deniable.sock", True),
        ("unix-abstract:deniable", True),
        ("telemetry.example.org:443", False),
        ("localhost.example.org:443", False),
        ("10.0.0.1:8470", False),
        ("[2001:db8::1]:8470", False),
        ("dns:///example.org:443", False),
        ("dns://127.0.0.1/example.org:443", False),
        ("example.org", False),
        ("ipv4:10.0.0.1:80,127.0.0.1:80", False),
        ("", False),
    ],
)
def test_only_this_machine_is_reached_without_tls(endpoint: str, local: bool) -> None:
    """Whatever is not certainly here is spoken to by TLS."""
    assert is_loopback(endpoint) is local


def test_this_machine_is_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment says of proxies."""
    monkeypatch.setenv("http_proxy", f"http://{dead()}")
    assert sent(lambda *_: b"").counted_as == "stored"


def test_others_are_reached_by_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As gRPC does it: it is asked for a tunnel, and never sees what goes through."""
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        proxy.settimeout(10)
        sending = threading.Thread(target=sent_to, args=("telemetry.example.org:443", 1.0))
        sending.start()
        connection, _ = proxy.accept()
        with connection:
            asked = connection.recv(1000)
        sending.join()
    assert asked.startswith(b"CONNECT telemetry.example.org:443 HTTP/1")


def read(name: str) -> bytes:
    """A certificate or key of the tests."""
    return (TLS / name).read_bytes()


def tls(*, both_ways: bool = False) -> grpc.ServerCredentials:
    """The secrets of a server; `both_ways`: it asks for the client's certificate."""
    pair = [(read("server.key"), read("server.pem"))]
    return grpc.ssl_server_credentials(pair, read("ca.pem") if both_ways else None, both_ways)


def test_tls_is_spoken_with_own_roots() -> None:
    """With the authority's certificate the server is believed; with another authority's it is not."""
    with answering(secrets=tls()) as endpoint:
        assert sent_to(endpoint.address, credentials=Credentials(roots=read("ca.pem"))).counted_as == "stored"
        wrong = sent_to(endpoint.address, credentials=Credentials(roots=read("client.pem")), deadline=2.0)
        assert wrong.counted_as == "unreachable"
    assert len(endpoint.requests) == 1


def test_a_client_shows_its_certificate_where_it_is_asked() -> None:
    """With mutual TLS a client without a certificate is not let in, one with it is."""
    with answering(secrets=tls(both_ways=True)) as endpoint:
        assert sent_to(endpoint.address, credentials=Credentials(roots=read("ca.pem")), deadline=2.0).keep
        own = Credentials(roots=read("ca.pem"), certificate=read("client.pem"), key=read("client.key"))
        assert sent_to(endpoint.address, credentials=own).counted_as == "stored"
    assert len(endpoint.requests) == 1


def test_a_token_travels_with_the_batch_and_shows_nowhere_else() -> None:
    """It is a bearer token in the call's metadata; the credentials' representation has no secret in it."""
    credentials = Credentials(roots=read("ca.pem"), certificate=b"CERT", key=b"SECRET", token="hush")
    assert "hush" not in repr(credentials)
    assert "SECRET" not in repr(credentials)
    with answering() as endpoint:
        assert sent_to(endpoint.address, credentials=Credentials(token="hush")).counted_as == "stored"
        assert sent_to(endpoint.address).counted_as == "stored"
    assert [metadata.get("authorization") for metadata in endpoint.metadata] == ["Bearer hush", None]


def test_a_token_is_taken_from_a_file_as_it_was_written_there() -> None:
    """With its line end; a whole file of tokens, or none, is refused before gRPC complains of it."""
    assert Credentials(token="hush\n") == Credentials(token="hush")
    for text in ("", "\n", "one\ntwo", "h\u00fcsch"):
        with pytest.raises(ValueError, match="takes one token"):
            Credentials(token=text)


def test_a_certificate_goes_with_its_key() -> None:
    """Half a pair is refused when it is given, not when it is needed."""
    with pytest.raises(ValueError, match="goes with its key"):
        Credentials(certificate=b"CERT")


def test_nothing_but_the_batch_travels() -> None:
    """The metadata of a call names the library that made it, and neither device nor application."""
    with answering() as endpoint:
        sent_to(endpoint.address)
    assert set(endpoint.metadata[0]) <= {"user-agent", "grpc-accept-encoding"}
    assert str(endpoint.metadata[0]["user-agent"]).startswith("grpc-python/")


def test_a_call_that_is_cut_short_says_so() -> None:
    """Before a fork or an exit a call ends at once, none begins, and it is not taken for a failure."""
    with lying("silent") as endpoint:
        uploader = Uploader(endpoint, Credentials(), PATIENCE)
        timer = threading.Timer(0.2, uploader.cut)
        timer.start()
        assert uploader.send(b"batch") is None
        assert uploader.send(b"batch") is None
        timer.join()
        uploader.close()
