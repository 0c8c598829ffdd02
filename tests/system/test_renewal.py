"""A certificate that is renewed while devices report: new connections are shown the new one, and no call fails.

`server.pem` and `client.pem` are both of one authority and for this machine: the second stands for the renewed one.
"""

from __future__ import annotations

import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import grpc
import pytest

from deniable import Credentials
from deniable_aggregator import Reader
from support.commands import EDITOR, serving
from support.deployed import batches
from support.endpoints import TLS
from support.waiting import PATIENCE, soon

ANSWERS = {"dark_mode": True, "crashed": False, "session_minutes": 40.0, "browser": "firefox"}
PAUSE = 0.01
"""Seconds between calls."""
SECRETS = grpc.ssl_channel_credentials((TLS / "ca.pem").read_bytes())


def put(name: str, *files: Path) -> None:
    """Replace files as those do who renew certificates: each at once, one after the other."""
    for file in files:
        fresh = file.with_name("fresh")
        shutil.copyfile(TLS / f"{name}{file.suffix}", fresh)
        fresh.replace(file)


def shown(endpoint: str) -> str:
    """Whose certificate somebody sees who connects."""
    host, _, port = endpoint.rpartition(":")
    context = ssl.create_default_context(cafile=str(TLS / "ca.pem"))
    context.set_alpn_protocols(["h2"])
    with (
        socket.create_connection((host, int(port)), PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secured,
    ):
        der = secured.getpeercert(binary_form=True)
    (name,) = [
        name for name in ("server", "client") if ssl.PEM_cert_to_DER_cert((TLS / f"{name}.pem").read_text()) == der
    ]
    return name


class Calls:
    """Batches that follow each other, on connections of their own or on one."""

    def __init__(self, endpoint: str, *, fresh: bool) -> None:
        self.done = 0
        self.failed: list[grpc.RpcError] = []
        self._endpoint = endpoint
        self._fresh = fresh
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        channel = self._channel()
        while not self._ended.wait(PAUSE):
            try:
                (own,) = batches(1, ANSWERS)
                submit: Any = channel.unary_unary("/deniable.v1.ReportService/SubmitReports")
                submit(own.request, timeout=PATIENCE)
                self.done += 1
            except grpc.RpcError as error:
                self.failed.append(error)
            if self._fresh:
                channel.close()
                channel = self._channel()
        channel.close()

    def _channel(self) -> grpc.Channel:
        return grpc.secure_channel(self._endpoint, SECRETS, [("grpc.use_local_subchannel_pool", 1)])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate and its key, which may be replaced."""
    pair = tmp_path / "own.pem", tmp_path / "own.key"
    put("server", *pair)
    return pair


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """What the aggregator says."""
    return tmp_path / "log"


@pytest.fixture
def endpoint(tmp_path: Path, files: tuple[Path, Path], log: Path) -> Iterator[str]:
    """An aggregator that speaks TLS with it."""
    with serving(
        tmp_path / "data", EDITOR, "--tls-cert", files[0], "--tls-key", files[1], "--workers", "2", log=log
    ) as endpoint:
        yield endpoint


def test_a_renewed_certificate_is_shown_and_no_call_fails(endpoint: str, files: tuple[Path, Path], log: Path) -> None:
    """On connections that are there, and on ones that come, before, while and after it is replaced: each batch
    of both is counted, once."""
    certificate, key = files
    assert shown(endpoint) == "server"
    with Calls(endpoint, fresh=False) as kept, Calls(endpoint, fresh=True) as fresh:
        soon(lambda: kept.done > 10 and fresh.done > 10)
        put("client", certificate)  # does not go with the key that is there
        soon(lambda: "the certificate stays as it is" in log.read_text())
        assert shown(endpoint) == "server"
        put("client", key)
        soon(lambda: {shown(endpoint) for _ in range(8)} == {"client"})
        done = kept.done, fresh.done
        soon(lambda: kept.done > done[0] + 10 and fresh.done > done[1] + 10)
    assert not kept.failed
    assert not fresh.failed
    with Reader(endpoint, credentials=Credentials(roots=(TLS / "ca.pem").read_bytes())) as reader:
        assert {row["reports"] for row in reader.estimates("crashed")} == {kept.done + fresh.done}
    assert "the key is not the certificate's" in log.read_text()
    assert "the certificate has been renewed" in log.read_text()
