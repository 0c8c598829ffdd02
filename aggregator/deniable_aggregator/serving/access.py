"""Access: who is let in at the gRPC port, by TLS certificates and bearer tokens.

A token of a device can be found by everybody who has the application: it keeps out accidents and floods, not a
person who means it. That is why it does not let anybody read.

What a token is good for is asked when a call comes (its scope), where its collection is found (`caller.py`), and
once a second for as long as it lasts: a stream or a watch ends within a second of its token's end. How much it may
bring is asked before each batch is looked at.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import grpc

from deniable_aggregator.caller import CALLER, READ, REPORT
from deniable_aggregator.ingest import NAME
from deniable_aggregator.ingest.ending import forget_soon
from deniable_aggregator.ingest.ending import refuse as refuse_call
from deniable_aggregator.ingest.refusal import Refusal
from deniable_aggregator.serving.certificates import Certificates
from deniable_aggregator.serving.port import whose
from deniable_aggregator.serving.tokens import Bearer, Tokens

__all__ = ["Access"]

_OPEN = ("/grpc.health.v1.Health/",)
_LOOK_SECONDS = 1.0
"""How often it is asked whether a call that lasts may go on."""

_NO_TOKEN = Refusal(grpc.StatusCode.UNAUTHENTICATED, "NO_TOKEN", "a bearer token is needed here, and it is not known")
_EXPIRED = Refusal(grpc.StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED", "this token has expired: ask for a new one")
_OTHER_SCOPE = Refusal(grpc.StatusCode.PERMISSION_DENIED, "OTHER_SCOPE", "this token is not good for that")
_CHANGED = Refusal(
    grpc.StatusCode.UNAVAILABLE,
    "TOKEN_CHANGED",
    "what this token is good for has changed: call again",
    retry_after=timedelta(seconds=1),
)

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
        if found := self.certificates():
            found.check()

    def certificates(self) -> Certificates | None:
        """What TLS is spoken with; None where it is not."""
        if self.certificate is None or self.key is None:
            return None
        return Certificates(self.certificate, self.key, self.client_ca)

    def listen(self, server: grpc.aio.Server, where: str) -> int:
        """Have a server listen there, by TLS if there is a certificate; its port."""
        try:
            found = self.certificates()
            return server.add_secure_port(where, found.credentials()) if found else server.add_insecure_port(where)
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

    def guards(self, workers: int = 1) -> tuple[grpc.aio.ServerInterceptor, ...]:
        """What looks at every call: nothing, or what knows the tokens, in one of so many workers."""
        return (_Guard(Tokens(self.tokens, workers)),) if self.tokens else ()

    def names(self) -> frozenset[str]:
        """The collections that tokens are good for, where they are named."""
        return Tokens(self.tokens).names() if self.tokens else frozenset()


class _Guard(grpc.aio.ServerInterceptor):
    """Lets calls with a token through."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler | None:
        """Go on, or to what refuses."""
        method = handler_call_details.method or ""
        if method.startswith(_OPEN):
            return await continuation(handler_call_details)
        scope = REPORT if method.startswith(f"/{NAME}/") else READ
        bearer = self._bearer(handler_call_details)
        refusal = _NO_TOKEN if bearer is None else _refusal(bearer, scope)
        if bearer is None or refusal:
            return _refusing(refusal or _NO_TOKEN)
        CALLER.set(bearer)
        handler = await continuation(handler_call_details)
        lasts = handler is not None and handler.request_streaming and handler.response_streaming
        return _ending(handler, bearer, scope) if lasts else handler

    def _bearer(self, details: grpc.HandlerCallDetails) -> Bearer | None:
        """Whoever shows a token: one, as it is said once."""
        metadata = details.invocation_metadata or ()
        said = [str(value) for name, value in metadata if name == "authorization"]
        scheme, _, token = said[0].partition(" ") if len(said) == 1 else ("", "", "")
        return self._tokens.bearer(token) if scheme.lower() == "bearer" else None


def _refusal(bearer: Bearer, scope: str) -> Refusal | None:
    if bearer.has(scope):
        return None
    return _EXPIRED if bearer.expired else _OTHER_SCOPE if bearer.grants() else _NO_TOKEN


def _refusing(refusal: Refusal) -> _Handler:
    async def refuse(_requests: Any, context: grpc.aio.ServicerContext[Any, Any]) -> NoReturn:
        await refuse_call(context, refusal)

    # On the wire every call is a stream of requests: whatever it is, it is refused before any is read.
    return grpc.stream_stream_rpc_method_handler(refuse)


def _ending(handler: Any, bearer: Bearer, scope: str) -> _Handler:
    """A method whose calls end when what their token is good for changes."""
    granted = bearer.grants()

    async def last(requests: Any, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        call = asyncio.ensure_future(handler.stream_stream(requests, context))
        try:
            while not (await asyncio.wait({call}, timeout=_LOOK_SECONDS))[0]:
                if bearer.grants() != granted:
                    break
            else:
                await call
                return
        except grpc.aio.AbortError as error:
            forget_soon(error)
            raise
        finally:
            if not call.done():
                call.cancel()
                await asyncio.wait({call})
        await refuse_call(context, _refusal(bearer, scope) or _CHANGED)

    replaced: _Handler = handler._replace(stream_stream=last)
    return replaced
