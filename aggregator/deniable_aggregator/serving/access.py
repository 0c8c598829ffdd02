"""Access: who is let in at the gRPC port, by TLS certificates and bearer tokens.

words:
  scope  what a token is good for: "report" (an application's devices) or "read" (people and programs that ask)
  token  what comes as `authorization: Bearer TOKEN`; only its SHA-256 is known here

A file of tokens has a line for each: a scope, the SHA-256 in hexadecimal digits, and whatever else helps people.
Empty lines and lines that begin with # say nothing. `printf %s TOKEN | sha256sum` tells what to write.

    report 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 the editor, since 2.0

A token of a device can be found by everybody who has the application: it keeps out accidents and floods, not a
person who means it. That is why it does not let anybody read.
"""

from __future__ import annotations

import hashlib
import logging
import re
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import grpc

from deniable_aggregator.ingest import NAME
from deniable_aggregator.ingest.ending import refuse as refuse_call
from deniable_aggregator.ingest.refusal import Refusal
from deniable_aggregator.serving.certificates import Certificates, content
from deniable_aggregator.serving.port import whose

__all__ = ["Access"]

_LOG = logging.getLogger(__name__)
REPORT, READ = "report", "read"
_LINE = re.compile(rf"({REPORT}|{READ})\s+([0-9a-fA-F]{{64}})(\s.*)?")
_OPEN = ("/grpc.health.v1.Health/",)
_LOOK_SECONDS = 1.0
"""How often the file is looked at: a line that is taken out stops working as soon."""

_NO_TOKEN = Refusal(grpc.StatusCode.UNAUTHENTICATED, "NO_TOKEN", "a bearer token is needed here, and it is not known")
_OTHER_SCOPE = Refusal(grpc.StatusCode.PERMISSION_DENIED, "OTHER_SCOPE", "this token is not good for that")

_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


_PEM_BEGIN, _PEM_END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_RSA_KEY = bytes.fromhex("06092a864886f70d010101")
"""How a certificate says that its key is an RSA one (1.2.840.113549.1.1.1)."""


@dataclass(frozen=True, slots=True)
class Access:
    """Who is let in; everybody who reaches the port, if nothing is given."""

    certificate: Path | None = None
    """The server's certificate chain (PEM): with it, only TLS is spoken. It may be renewed while it is served."""
    key: Path | None = None
    """The certificate's private key (PEM)."""
    client_ca: Path | None = None
    """Certificates (PEM) of which one must have signed the client's."""
    tokens: Path | None = None
    """The file of tokens."""

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a certificate goes with its key")
        if self.client_ca and not self.certificate:
            raise ValueError("clients show certificates over TLS only: give the server one too")

    def check(self) -> None:
        """An error for files that nobody could be let in by."""
        self.guards()
        if self.certificate and self.key:
            Certificates(self.certificate, self.key, self.client_ca).credentials()

    def listen(self, server: grpc.aio.Server, where: str) -> int:
        """Have a server listen there, by TLS if there is a certificate; its port."""
        try:
            if self.certificate is None or self.key is None:
                return server.add_insecure_port(where)
            secrets = Certificates(self.certificate, self.key, self.client_ca).credentials()
            return server.add_secure_port(where, secrets)
        except RuntimeError as error:
            raise OSError(f"can not listen on {where}{whose(error)}; --listen HOST:PORT has another") from error

    def costs_more(self) -> bool:
        """Whether the certificate is an RSA one. Devices do not keep connections, and one that connects costs 2.4
        times as much as where the key is on an elliptic curve."""
        if self.certificate is None:
            return False
        try:
            first = self.certificate.read_text().partition(_PEM_END)[0] + _PEM_END
            return _RSA_KEY in ssl.PEM_cert_to_DER_cert(first[first.index(_PEM_BEGIN) :])
        except (OSError, ValueError):
            return False  # to listen will say so

    def guards(self) -> tuple[grpc.aio.ServerInterceptor, ...]:
        """What looks at every call: nothing, or what knows the tokens."""
        return (_Guard(self.tokens),) if self.tokens else ()


class _Guard(grpc.aio.ServerInterceptor):
    """Lets calls with a token through."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._tokens = _read(file)
        self._state = _state(file)
        self._looked = time.monotonic()
        self._trouble = ""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler | None:
        """Go on, or to what refuses."""
        refusal = self._refusal(handler_call_details)
        return await continuation(handler_call_details) if refusal is None else _refusing(refusal)

    def _refusal(self, details: grpc.HandlerCallDetails) -> Refusal | None:
        method = details.method or ""
        if method.startswith(_OPEN):
            return None
        self._look()
        said = dict(details.invocation_metadata or ()).get("authorization", "")
        scheme, _, token = str(said).partition(" ")
        if scheme.lower() != "bearer":
            return _NO_TOKEN
        scopes = self._tokens.get(hashlib.sha256(token.strip().encode()).digest())
        if scopes is None:
            return _NO_TOKEN
        needed = REPORT if method.startswith(f"/{NAME}/") else READ
        return None if needed in scopes else _OTHER_SCOPE

    def _look(self) -> None:
        """Read the file again if it has changed; one that can not be read changes nothing."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        try:
            if (state := _state(self._file)) != self._state:
                self._tokens = _read(self._file)
                self._state, self._trouble = state, ""
        except OSError as error:
            if str(error) != self._trouble:  # said once; it is looked at again, as it may be mended unseen
                self._trouble = str(error)
                _LOG.error("who is let in stays as it is: %s", error)


def _state(file: Path) -> tuple[int, int, int]:
    found = file.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def _read(file: Path) -> dict[bytes, set[str]]:
    """The scopes of every known token, by its hash; an OSError names a line that is none."""
    tokens: dict[bytes, set[str]] = {}
    for number, line in enumerate(_lines(file), 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise OSError(f"{file}, line {number}: takes report or read, then the SHA-256 of a token in 64 digits")
        tokens.setdefault(bytes.fromhex(found[2]), set()).add(found[1])
    return tokens


def _lines(file: Path) -> list[str]:
    try:
        return content(file).decode().splitlines()
    except UnicodeDecodeError as error:
        raise OSError(f"{file}: is not UTF-8: {error.reason}") from error
    except OSError as error:
        raise OSError(f"the file of tokens can not be read: {error}") from error


def _refusing(refusal: Refusal) -> _Handler:
    async def refuse(_requests: Any, context: grpc.aio.ServicerContext[Any, Any]) -> NoReturn:
        await refuse_call(context, refusal)

    # On the wire every call is a stream of requests: whatever it is, it is refused before any is read.
    return grpc.stream_stream_rpc_method_handler(refuse)
