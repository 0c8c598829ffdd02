"""Certificates that are renewed while devices connect.

words:
  set      a certificate chain, its key, and the certificates of which one must have signed a client's
  renewed  its files have changed, and go together: whoever connects from then on is shown the new one

Whoever renews a certificate replaces its files, and tells nobody: they are looked at when somebody connects, once a
second at the most. Connections that are there go on. A set that does not go together, as between the replacing of
one file and of the other, changes nothing, and is said in the log. It is looked at again until it does: what is wrong
with it may be mended without its files being touched. Threads of gRPC's wait for what is read here, all that shake
hands behind it: what could keep its reader waiting, such as a pipe, is not read.
"""

from __future__ import annotations

import logging
import os
import ssl
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import grpc

__all__ = ["Certificates", "content"]

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0
_MOST_BYTES = 1 << 20
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def content(file: Path) -> bytes:
    """What a short file says; an OSError for a pipe, a device, a directory, and whatever has no end."""
    descriptor = os.open(file, _OPEN)
    with open(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{file} is not a file")
        found = opened.read(_MOST_BYTES + 1)
    if len(found) > _MOST_BYTES:
        raise OSError(f"{file} is longer than the {_MOST_BYTES} bytes that it can have")
    return found


class Certificates:
    """The files of a set, and what was read of them last."""

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None) -> None:
        self._certificate = certificate
        self._key = key
        self._client_ca = client_ca
        self._looking = threading.Lock()
        self._state: tuple[tuple[int, int, int], ...] = ()
        self._looked = 0.0
        self._trouble = ""

    def check(self) -> None:
        """An OSError for a set that can not be read, or does not go together."""
        self._checked()

    def credentials(self) -> grpc.ServerCredentials:
        """What a server listens with; an OSError for a set that does not go together."""
        self._state, self._looked = self._states(), time.monotonic()
        fetch = cast(
            "Callable[[], grpc.ServerCertificateConfiguration]", self._renewed
        )  # None is taken, but not typed
        return grpc.dynamic_ssl_server_credentials(self._read(), fetch, self._client_ca is not None)

    def context(self) -> ssl.SSLContext:
        """The same for a server that is not gRPC's: whoever connects is shown what there is by then."""
        self.credentials()
        first = self._fresh()
        shown = [first]

        def choose(connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _context: ssl.SSLContext) -> None:
            if self._renewed() is not None:
                try:
                    shown[0] = self._fresh()
                except OSError:  # replaced since it was looked at: it is looked at again
                    self._state = ()
            connection.context = shown[0]

        first.sni_callback = choose
        return first

    def _fresh(self) -> ssl.SSLContext:
        found = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self._client_ca)
        found.load_cert_chain(self._certificate, self._key, password=_no_password)
        found.verify_mode = ssl.CERT_REQUIRED if self._client_ca else ssl.CERT_NONE
        return found

    def _renewed(self) -> grpc.ServerCertificateConfiguration | None:
        """A new set, if there is one: asked by threads of gRPC's, for every connection."""
        if not self._looking.acquire(blocking=False):
            return None  # another one looks
        try:
            now = time.monotonic()
            if now - self._looked < _LOOK_SECONDS:
                return None
            self._looked = now
            if (state := self._states()) == self._state:
                return None
            found = self._read()
            self._state, self._trouble = state, ""
            _LOG.info("the certificate has been renewed: %s", self._certificate)
            return found
        except OSError as error:
            if str(error) != self._trouble:  # said once, however many connect
                self._trouble = str(error)
                _LOG.error("the certificate stays as it is: %s", error)
            return None
        finally:
            self._looking.release()

    def _states(self) -> tuple[tuple[int, int, int], ...]:
        """By what changed files are told, also where links lead to others."""
        return tuple((at.st_ino, at.st_mtime_ns, at.st_size) for at in (file.stat() for file in self._files()))

    def _files(self) -> tuple[Path, ...]:
        return (self._certificate, self._key, *([self._client_ca] if self._client_ca else []))

    def _checked(self) -> list[bytes]:
        """What the files have, one by one."""
        found = [content(file) for file in self._files()]
        checked = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            checked.load_cert_chain(self._certificate, self._key, password=_no_password)
            if self._client_ca:
                checked.load_verify_locations(self._client_ca)
        except ssl.SSLError as error:
            raise OSError(f"{self._certificate} and {self._key}: {_said(error)}") from error
        if found != [content(file) for file in self._files()]:  # what was checked is what is shown
            raise OSError(f"{self._certificate} and {self._key}: are being replaced")
        return found

    def _read(self) -> grpc.ServerCertificateConfiguration:
        chain, key, *roots = self._checked()
        return grpc.ssl_server_certificate_configuration([(key, chain)], roots[0] if roots else None)


def _no_password() -> str:
    """A key with a password would ask for it at the terminal."""
    raise OSError("the key has a password: a server reads it by itself, so it can have none")


def _said(error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the key is not the certificate's"
    return f"its certificate is none, or its key ({error.reason or error})"
