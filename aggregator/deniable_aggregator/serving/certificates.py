"""Certificates that are renewed while devices connect.

words:
  set      a certificate chain, its key, and the certificates of which one must have signed a client's
  renewed  its files have changed, and go together: whoever connects from then on is shown the new one

Whoever renews a certificate replaces its files, and tells nobody: they are looked at when somebody connects, once a
second at the most. Connections that are there go on. A set that does not go together, as between the replacing of
one file and of the other, changes nothing, and is said in the log.
"""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import grpc

__all__ = ["Certificates"]

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0


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

    def credentials(self) -> grpc.ServerCredentials:
        """What a server listens with; an OSError for a set that does not go together."""
        self._state, self._looked = self._states(), time.monotonic()
        fetch = cast(
            "Callable[[], grpc.ServerCertificateConfiguration]", self._renewed
        )  # None is taken, but not typed
        return grpc.dynamic_ssl_server_credentials(self._read(), fetch, self._client_ca is not None)

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
            self._state, self._trouble = state, ""
            found = self._read()
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
        files = (self._certificate, self._key, *([self._client_ca] if self._client_ca else []))
        return tuple((at.st_ino, at.st_mtime_ns, at.st_size) for at in (file.stat() for file in files))

    def _read(self) -> grpc.ServerCertificateConfiguration:
        checked = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            checked.load_cert_chain(self._certificate, self._key, password=_no_password)
            if self._client_ca:
                checked.load_verify_locations(self._client_ca)
        except ssl.SSLError as error:
            raise OSError(f"{self._certificate} and {self._key}: {_said(error)}") from error
        pair = (self._key.read_bytes(), self._certificate.read_bytes())
        roots = self._client_ca.read_bytes() if self._client_ca else None
        return grpc.ssl_server_certificate_configuration([pair], roots)


def _no_password() -> str:
    """A key with a password would ask for it at the terminal."""
    raise OSError("the key has a password: a server reads it by itself, so it can have none")


def _said(error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the key is not the certificate's"
    return f"its certificate is none, or its key ({error.reason or error})"
