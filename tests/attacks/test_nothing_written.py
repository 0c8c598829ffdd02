"""What a loaded system writes down of who calls, and what they send: no token, no address, no payload, in no file.

An aggregator with tokens and TLS takes what devices, gateways, people and attackers send, from an address that only
this test has; a worker is killed meanwhile, and the file of tokens broken. Then everything that was written is looked
through: logs, the store's files, what lies in its temporary directory, and a device's state.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import http.client
import logging
import os
import secrets
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self
from urllib.parse import urlencode, urlsplit

import grpc
import pytest

from deniable import Client, Collection, Consent, Credentials
from deniable.v1.report_service_pb2 import StreamReportsRequest, StreamReportsResponse, SubmitReportsRequest
from support.aggregator_server import request
from support.aggregators import started_by
from support.commands import COMMAND
from support.endpoints import TLS
from support.waiting import PATIENCE, soon

CALLER = "127.0.0.77"
"""Where all that calls seems to be."""
FLAGS = ", ".join(f'"f{number}"' for number in range(100))
TEXT = f"""\
[collection]
name = "shown"
epoch = "1d"
owner = "nobody"
[budget]
epoch = 10.0
[metrics.switched]
kind = "flags"
description = "What is switched on"
flags = [{FLAGS}]
mechanism = "bitwise_response"
epsilon = 4.0
"""
OWN = Collection.loads(TEXT)
SUBMIT, STREAM = (f"/deniable.v1.ReportService/{name}" for name in ("SubmitReports", "StreamReports"))


class Said:
    """What has been said, and is to be found nowhere."""

    def __init__(self) -> None:
        self.needles: list[bytes] = [CALLER.encode()]

    def token(self) -> str:
        """A token."""
        made = "dnb_" + secrets.token_hex(32)
        self.needles.append(made.encode())
        return made

    def payload(self, size: int = 12) -> bytes:
        """Bytes that nobody else sends."""
        made = secrets.token_bytes(size)
        self.needles.append(made)
        return made

    def found(self, content: bytes) -> list[bytes]:
        """What of it is there: as it is, or as programs write bytes down."""
        return [each for each in self.needles if any(form in content for form in _forms(each))]


def _forms(needle: bytes) -> list[bytes]:
    return [needle, needle.hex().encode(), repr(needle)[2:-1].encode(), base64.b64encode(needle)[:12]]


class Forwarder(threading.Thread):
    """Carries bytes to a port of this machine, from the caller's address."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.port = 0
        self._to = port
        self._ready = threading.Event()

    def run(self) -> None:
        """Until it is stopped."""
        asyncio.run(self._listen())

    def __enter__(self) -> Self:
        self.start()
        self._ready.wait()
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self.join()

    async def _listen(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        listening = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.port = listening.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopped.wait()
        listening.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", self._to, local_addr=(CALLER, 0))
        with contextlib.suppress(OSError):
            await asyncio.gather(_pass_on(reader, there[1]), _pass_on(there[0], writer))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while part := await reader.read(1 << 16):
            writer.write(part)
            await writer.drain()
    finally:
        writer.close()


class System:
    """An aggregator, and those who call it."""

    def __init__(self, here: Path, said: Said) -> None:
        self.here, self.said = here, said
        self.device, self.reader, self.other, self.expired, self.stranger = (said.token() for _ in range(5))
        self.written, self.tokens = here / "written", here / "tokens"
        (self.written / "temporary").mkdir(parents=True)
        (here / "shown.toml").write_text(TEXT)
        self.lines = "".join(
            f"{says} {hashlib.sha256(token.encode()).hexdigest()}\n"
            for says, token in (
                ("report", self.device), ("read", self.reader), ("report collections=elsewhere", self.other),
                ("read expires=2020-01-01", self.expired),
            )
        )  # fmt: skip
        self.tokens.write_text(self.lines)
        self.endpoint, self.page = "", 0
        self.stored = 0

    @contextlib.contextmanager
    def serving(self) -> Iterator[subprocess.Popen[bytes]]:
        """The aggregator in processes of its own, which write where it is looked."""
        tls = ("--tls-cert", TLS / "server.pem", "--tls-key", TLS / "server.key", "--tokens", self.tokens)
        where = ("--data", self.written / "data", "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0", "--workers", "2")
        with (self.written / "out").open("wb") as out, (self.written / "log").open("wb") as log:
            program = subprocess.Popen(
                [COMMAND, "serve", self.here / "shown.toml", *tls, *where],
                stdout=out,
                stderr=log,
                env=os.environ | {"TMPDIR": str(self.written / "temporary")},
            )
        try:
            soon(lambda: "the page is at" in (self.written / "out").read_text())
            first, second = (self.written / "out").read_text().splitlines()[:2]
            port, page = int(first.rpartition(":")[2]), urlsplit(second.rpartition(" ")[2]).port
            assert page
            with Forwarder(port) as calls, Forwarder(page) as views:
                self.endpoint, self.page = f"localhost:{calls.port}", views.port
                yield program
        finally:
            program.send_signal(signal.SIGTERM)
            assert program.wait(PATIENCE) == 0

    def channel(self) -> grpc.Channel:
        """To the aggregator."""
        return grpc.secure_channel(
            self.endpoint, grpc.ssl_channel_credentials((TLS / "ca.pem").read_bytes()),
            [("grpc.use_local_subchannel_pool", 1)],
        )  # fmt: skip

    def batch(self, payload: bytes) -> SubmitReportsRequest:
        """With a wide row that has these bytes: flags of all hundred bits but four."""
        wide = [(0, payload + b"\x05")]
        return request(wide=wide, epoch=OWN.epoch_at(time.time()), collection_digest=OWN.digest, segment=0)

    def call(self, method: str, message: bytes, *metadata: tuple[str, str]) -> bytes:
        """The first answer of a call; nothing where it is refused."""
        with self.channel() as channel:
            call: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(method)
            answers = call(iter([message]), metadata=metadata, timeout=PATIENCE)
            with contextlib.suppress(grpc.RpcError):
                return bytes(next(iter(answers)))
            return b""

    def report(self, token: str, payload: bytes) -> bool:
        """Whether a batch is stored, or was."""
        message = self.batch(payload).SerializeToString()
        with self.channel() as channel:
            submit: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(SUBMIT)
            try:
                submit(message, metadata=(("authorization", f"Bearer {token}"),), timeout=PATIENCE)
            except grpc.RpcError:
                return False
        return True

    def forward(self) -> int:
        """How many batches of a gateway are stored, of a hundred that have nothing wrong and ten that have."""
        payloads = [self.said.payload() for _ in range(110)]
        batches = [self.batch(each) for each in payloads[:100]]
        for each in payloads[100:]:
            batches.append(self.batch(each))
            batches[-1].wide_rows[0].payload = each * 3
        message = StreamReportsRequest(sequence=1, batches=batches).SerializeToString()
        answer = self.call(STREAM, message, ("authorization", f"Bearer {self.device}"))
        return StreamReportsResponse.FromString(answer).stored

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, str]:
        """What the page answers, and the cookie that it sets."""
        context = ssl.create_default_context(cafile=str(TLS / "ca.pem"))
        connection = http.client.HTTPSConnection("localhost", self.page, timeout=PATIENCE, context=context)
        with contextlib.closing(connection):
            connection.request(method, path, body, {name.replace("_", "-"): each for name, each in headers.items()})
            response = connection.getresponse()
            response.read()
            return response.status, response.headers.get("Set-Cookie", "").partition(";")[0]

    def log_in(self, token: str) -> str:
        """The cookie of somebody who has logged in."""
        origin = f"https://localhost:{self.page}"
        kind = "application/x-www-form-urlencoded"
        return self.ask("POST", "/login", urlencode({"token": token}), Origin=origin, Content_Type=kind)[1]

    def garbage(self, port: int, what: bytes, *, tls: bool, alpn: str = "h2") -> None:
        """Bytes that are no call."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE) as plain:
            context = ssl.create_default_context(cafile=str(TLS / "ca.pem"))
            context.set_alpn_protocols([alpn])
            secured = context.wrap_socket(plain, server_hostname="localhost") if tls else plain
            with secured as connection:
                connection.sendall(what)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass


@pytest.fixture(scope="module")
def said() -> Said:
    """What is to be found nowhere."""
    return Said()


def _of_devices(system: System) -> None:
    """Batches that are stored, and those that are not: whatever credentials, and whatever is wrong with them."""
    for token in (system.other, system.expired, system.stranger, system.reader, "", "x" * 9000):
        assert not system.report(token, system.said.payload())
    for wrong in (
        system.said.payload(64),
        b"\x0a\x10" + system.said.payload(16) + b"\xff",
        system.said.payload(64) * 4000,
        system.batch(system.said.payload() * 9).SerializeToString(),
    ):
        assert not system.call(SUBMIT, wrong, ("authorization", f"Bearer {system.device}"))
        assert not system.call(STREAM, wrong, ("authorization", f"Bearer {system.device}"))
    for method in (f"{SUBMIT}{system.said.token()}", "/deniable.v1.EstimateService/GetEstimate"):
        system.call(method, system.said.payload(), ("authorization", f"Bearer {system.reader}"))
        system.call(method, system.said.payload(), ("authorization", f"Basic {system.reader}"))


def _of_people(system: System) -> None:
    """The page, its API, metrics; tokens where they belong and where not."""
    cookie = system.log_in(system.reader)
    assert cookie.startswith("__Host-deniable=")
    system.said.needles.append(cookie.partition("=")[2].encode())
    for token in (system.device, system.stranger, system.expired):
        assert not system.log_in(token)
    bearer = f"Bearer {system.reader}"
    for path in ("/", "/metrics", "/api/v1/health", "/api/v1/collections/shown/overview", f"/c/{system.stranger}"):
        assert system.ask("GET", path, Cookie=cookie)[0] == 200
        assert system.ask("GET", path, Authorization=bearer)[0] == 200
        assert system.ask("GET", f"{path}?token={system.reader}")[0] in {303, 401}
    missing = f"/api/v1/collections/{system.stranger}/estimates/{system.stranger}"
    assert system.ask("GET", missing, Authorization=bearer)[0] == 404


def _of_attackers(system: System) -> None:
    """Bytes that are no call, over TLS and not, to both ports."""
    calls = int(system.endpoint.rpartition(":")[2])
    token = system.reader.encode()
    for what in (
        system.said.payload(200),
        b"GET / HTTP/1.1\r\nAuthorization Bearer " + token + b"\r\n\r\n",
        b"GET /\x00" + token + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: x" + token + b"\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + system.said.payload(100),
        b"\x16\x03\x01\x02\x00\x01" + system.said.payload(100),
    ):
        for tls in (False, True):
            system.garbage(calls, what, tls=tls)
            system.garbage(system.page, what, tls=tls, alpn="http/1.1")


def _of_the_sdk(system: System) -> None:
    """A device, with a state file and a log: it has what it was told to, and neither its token nor the endpoint."""
    handler = logging.FileHandler(system.written / "device.log")
    logging.getLogger("deniable").addHandler(handler)
    try:
        for token, name in ((system.device, "right"), (system.stranger, "wrong")):
            credentials = Credentials((TLS / "ca.pem").read_bytes(), token=token)
            with Client(
                OWN, endpoint=system.endpoint, consent=Consent.GRANTED, credentials=credentials,
                state=system.written / f"{name}.state",
            ) as client:  # fmt: skip
                client.record("switched", ["f1", "f70"])
                assert client.flush(PATIENCE if name == "right" else 1.5) is (name == "right")
    finally:
        logging.getLogger("deniable").removeHandler(handler)
        handler.close()


def _trouble(system: System, program: subprocess.Popen[bytes]) -> None:
    """A worker is killed; and somebody writes a token itself, in place of its hash, into the file."""
    workers = [pid for pid, name in started_by(program.pid).items() if name == "deniable-worker"]
    os.kill(workers[0], signal.SIGKILL)
    fresh = system.tokens.with_name("fresh")
    fresh.write_text(f"read {system.reader}\n{system.said.token()}\n{system.lines}")
    fresh.replace(system.tokens)
    soon(lambda: _asked_and(system, lambda: b"who is let in stays as it is" in (system.written / "log").read_bytes()))
    system.tokens.write_text(system.lines)


def _asked_and(system: System, true: Callable[[], bool]) -> bool:
    """Whether something is so, once somebody has asked: the file is looked at then."""
    system.ask("GET", "/api/v1/health", Authorization=f"Bearer {system.reader}")
    return true()


def everything(where: Path) -> dict[str, bytes]:
    """All that is written there."""
    files = (each for each in where.rglob("*") if each.is_file() and not each.is_symlink())
    return {str(each.relative_to(where)): each.read_bytes() for each in files}


@pytest.fixture
def here() -> Iterator[Path]:
    """A directory with a short name: sockets lie in what lies in it."""
    with tempfile.TemporaryDirectory(prefix="written-") as made:
        yield Path(made)


def test_nothing_is_written_of_who_calls_or_what_they_send(here: Path, said: Said) -> None:
    """While it runs and after it has ended; and what is written is looked at: the log says what has happened, the
    store has the counters, the device its ledger."""
    system = System(here, said)
    with system.serving() as program:
        payloads = [said.payload() for _ in range(120)]
        with ThreadPoolExecutor(6) as pool:
            stored = pool.map(lambda each: system.report(system.device, each), payloads)
            others = [pool.submit(each, system) for each in (_of_devices, _of_people, _of_attackers, _of_the_sdk)]
            forwarded = pool.submit(system.forward)
            for each in others:
                each.result()
            assert all(stored)
            assert forwarded.result() == 100
        _trouble(system, program)
        soon(lambda: system.report(system.device, said.payload()))
        running = everything(system.written)
    ended = everything(system.written)
    for written in (running, ended):
        assert {name: said.found(content) for name, content in written.items() if said.found(content)} == {}
    assert b"who is let in stays as it is" in ended["log"]
    assert b"Traceback" not in ended["log"]  # nobody fills the log by what they send
    assert any(b"switched" in content for name, content in ended.items() if name == "right.state")
    assert any(f"{OWN.digest:016x}".encode() in content for name, content in ended.items() if "data/" in name)
    assert any(name.startswith("temporary/") or name.endswith("board") for name in running)
    assert len(said.needles) > 250
    assert said.found(b"x".join(said.needles)) == said.needles
