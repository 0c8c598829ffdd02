"""Files that are read while an aggregator serves, certificates, tokens and collections: in place of one somebody
puts what keeps its reader waiting, what has no end, or what can not be read yet.

Handshakes are given as long as tests wait for anything: only one that hangs for ever fails.
"""

from __future__ import annotations

import os
import shutil
import socket
import ssl
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path

import grpc
import pytest

from deniable import CollectionError
from deniable_aggregator.serving import certificates, tokens
from deniable_aggregator.serving.access import Access
from deniable_aggregator.serving.certificates import Certificates
from deniable_aggregator.serving.sources import Sources
from deniable_aggregator.serving.tokens import Tokens
from support.commands import EDITOR
from support.endpoints import TLS
from support.waiting import soon

LONG = 10.0
"""Seconds after which a handshake hangs: others are done in milliseconds."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are looked at whenever somebody comes."""
    monkeypatch.setattr(certificates, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(tokens, "_LOOK_SECONDS", 0.0)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A certificate; its key lies beside it."""
    for end in (".pem", ".key"):
        shutil.copyfile(TLS / f"server{end}", tmp_path / f"own{end}")
    return tmp_path / "own.pem"


@pytest.fixture
def port(own: Path) -> Iterator[int]:
    """Where a server speaks TLS with it."""
    server = grpc.server(futures.ThreadPoolExecutor(1))
    found = server.add_secure_port("127.0.0.1:0", Certificates(own, own.with_suffix(".key"), None).credentials())
    server.start()
    yield found
    server.stop(None)


def shown(port: int) -> str:
    """Whose certificate somebody sees who connects."""
    context = ssl.create_default_context(cafile=str(TLS / "ca.pem"))
    context.set_alpn_protocols(["h2"])
    with (
        socket.create_connection(("127.0.0.1", port), LONG) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secured,
    ):
        der = secured.getpeercert(binary_form=True)
    (name,) = (each for each in ("server", "client") if der == _der(TLS / f"{each}.pem"))
    return name


def _der(file: Path) -> bytes:
    return ssl.PEM_cert_to_DER_cert(file.read_text())


def _pipe(file: Path) -> None:
    os.mkfifo(file)


def _endless(file: Path) -> None:
    file.symlink_to("/dev/zero")


def _long(file: Path) -> None:
    with file.open("wb") as opened:
        opened.truncate(1 << 30)


@pytest.mark.parametrize("put", [_pipe, _endless, _long])
@pytest.mark.parametrize("end", [".pem", ".key"])
def test_what_keeps_its_reader_waiting_keeps_nobody_out(
    port: int, own: Path, put: Callable[[Path], None], end: str
) -> None:
    """A thread of gRPC's reads what has changed, and all others that shake hands wait for it: a pipe would have kept
    out every device for ever. The certificate stays, and the next one that is good is shown."""
    put(own.with_name("other"))
    own.with_name("other").replace(own.with_suffix(end))
    assert [shown(port) for _ in range(3)] == ["server"] * 3
    for name in (".pem", ".key"):
        shutil.copyfile(TLS / f"client{name}", own.with_name("other"))
        own.with_name("other").replace(own.with_suffix(name))
    soon(lambda: shown(port) == "client")


def test_a_file_that_is_readable_later_is_read_later(port: int, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever renews puts a file there, and lets the aggregator read it after that, which leaves no trace on what the
    file is: the old certificate would have been shown until it ends."""
    real = ssl.SSLContext.load_cert_chain

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", refused)
    for name in (".pem", ".key"):
        shutil.copyfile(TLS / f"client{name}", own.with_suffix(name))
    assert shown(port) == "server"
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", real)
    soon(lambda: shown(port) == "client")


@pytest.mark.parametrize("put", [_pipe, _endless, _long])
def test_it_does_not_begin_with_such_a_file(own: Path, put: Callable[[Path], None]) -> None:
    """It says why, and does not hang: neither of a certificate nor of tokens."""
    other = own.with_name("other")
    put(other)
    for wrong in (Access(other, own.with_suffix(".key")), Access(own, other), Access(tokens=other)):
        with pytest.raises(OSError, match=r"is not a file|is longer than"):
            wrong.check()


def test_tokens_that_are_no_text_change_nothing_and_are_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A line in another encoding than UTF-8: it is said in the log, once, and no call fails of it."""
    file = tmp_path / "tokens"
    file.write_text("report " + "0" * 64 + "\n")
    known = Tokens(file)
    file.write_bytes("read {} für alle\n".format("1" * 64).encode("latin-1"))
    for _ in range(3):
        known.look()  # what every call begins with
    assert [record.getMessage() for record in caplog.records] == [
        f"who is let in stays as it is: {file}: is not UTF-8: invalid start byte"
    ]


@pytest.mark.parametrize("put", [_pipe, _endless])
def test_a_directory_of_collections_has_files(tmp_path: Path, put: Callable[[Path], None]) -> None:
    """A pipe that is called like a collection keeps no aggregator from reading the others again, for ever: it is
    said, what is served stays, and once it is gone all is read."""
    shutil.copyfile(EDITOR, tmp_path / "editor.toml")
    sources = Sources((tmp_path,))
    before = sources.read()
    put(tmp_path / "pipe.toml")
    assert sources.changed()
    with pytest.raises(CollectionError, match=r"pipe\.toml: .*it is not a file"):
        sources.read()
    (tmp_path / "pipe.toml").unlink()
    assert sources.changed()
    assert sources.read() == before
