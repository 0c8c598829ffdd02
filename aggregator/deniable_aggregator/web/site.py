"""The web site of an aggregator, on the loop that its gRPC server runs on.

Everything is read-only. Nothing is loaded from another host, no script or style stands in the page itself, and
the browser is told so. Without tokens it lets everybody in, and so listens on this machine alone unless it is told
otherwise; and there it answers only to this machine's names, so that no other site's script can reach it by a name
that is made to point here. With tokens and a certificate it may be for other machines (`entry.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import traceback
from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler

from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.serving.certificates import Certificates
from deniable_aggregator.serving.connections import Guard, places
from deniable_aggregator.serving.port import whose
from deniable_aggregator.serving.server import Aggregator, ended
from deniable_aggregator.store import Store
from deniable_aggregator.tracing import span
from deniable_aggregator.web.api import Api
from deniable_aggregator.web.debug import DebugView
from deniable_aggregator.web.entry import LOG_IN, Entry
from deniable_aggregator.web.health import Health
from deniable_aggregator.web.pages import Pages
from deniable_aggregator.web.prometheus import Metrics

__all__ = ["Site"]

_LOG = logging.getLogger(__name__)
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "deniable",
    "X-Content-Type-Options": "nosniff",
}
_OF_THE_FORM = {
    "Content-Security-Policy": _HEADERS["Content-Security-Policy"].replace(
        "form-action 'none'", "form-action 'self'"
    ),
    "Referrer-Policy": "same-origin",
}
"""Where people log in: without a referrer to this page a browser does not say where its form comes from."""
_MOST = 512
"""Connections, as far as there are files for them. From half of them on the quietest are closed: aiohttp lets whoever
says nothing stay for ever, and without files no worker can be started either."""
_REFUSED = 400
"""The first status that is no answer. The others are not told apart: one of them says that nothing has changed."""
_LONGEST_END = 2.0
"""Seconds that a page being sent has to arrive when the aggregator ends."""


class Site:
    """The page, its API and /metrics."""

    def __init__(
        self,
        address: str,
        analyst_of: Callable[[Store], Analyst],
        *,
        demo: bool = False,
        debug: DebugView | None = None,
        entry: Entry | None = None,
        certificates: Certificates | None = None,
    ) -> None:
        host, _, port = address.rpartition(":")
        self._host, self._port = host.strip("[]"), int(port)
        if debug and not _is_loopback(self._host):
            raise ValueError(
                f"a debug view has what was recorded, as it is: for this machine alone, not {self._host}"
            )
        self._analyst_of = analyst_of
        self._demo = demo
        self._debug = debug
        self._entry = entry
        self._certificates = certificates
        self.url = ""
        """Where it is, once it is served."""

    @property
    def scheme(self) -> str:
        """How its address begins."""
        return "https" if self._certificates else "http"

    @property
    def debug_url(self) -> str:
        """Where the debug view is; empty without one."""
        return f"{self.url}debug?key={self._debug.key}" if self._debug else ""

    @contextlib.asynccontextmanager
    async def beside(self, server: Aggregator) -> AsyncIterator[None]:
        """Serve the site for as long as a server runs; an OSError where the address is taken."""
        runner = web.AppRunner(
            self._application(server),
            access_log=None,
            logger=_LOG,
            handle_signals=False,
            shutdown_timeout=_LONGEST_END,
            handler_cancellation=True,  # who has gone is not answered
        )
        await runner.setup()
        try:
            try:
                secured = self._certificates.context() if self._certificates else None
                await web.TCPSite(runner, self._host, self._port, ssl_context=secured).start()
            except OSError as error:
                raise OSError(
                    f"the page can not listen on {self._host}:{self._port}{whose(error)}; --http HOST:PORT has "
                    "another, and --http off none"
                ) from error
            port = runner.addresses[0][1]
            self.url = f"{self.scheme}://{_named(self._host)}:{port}/"
            guarding = asyncio.create_task(Guard(port, min(_MOST, places())).keep())
            try:
                async with self._debug.listening() if self._debug else contextlib.nullcontext():
                    yield
            finally:
                await ended(guarding)
        finally:
            await runner.cleanup()

    def _application(self, server: Aggregator) -> web.Application:
        analyst = self._analyst_of(server.store)
        health = Health(server)
        here = [_guarded] if _is_loopback(self._host) else []
        application = web.Application(middlewares=[_spanned, *here, *([self._entry.admit] if self._entry else [])])
        application.on_response_prepare.append(_with_headers)
        if self._debug:
            application.add_routes(self._debug.routes())
        if self._entry:
            application.add_routes(self._entry.routes())
        pages = Pages(self._demo, guarded=self._entry is not None)
        for part in (Api(analyst, health), Metrics(analyst, health), pages):
            application.add_routes(part.routes())
        return application


class _Unsigned(logging.Filter):
    """Leaves out of the log who has asked what: aiohttp names the address, and an error quotes the request."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether something is said: of bytes that are no request nothing, of a failure where it was."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None or isinstance(error, HttpProcessingError):
            return False
        place = traceback.extract_tb(error.__traceback__)[-1]
        record.msg, record.args = f"a request failed: {type(error).__name__} in {place.name}, line {place.lineno}", ()
        record.exc_info = record.exc_text = None
        return True


_LOG.addFilter(_Unsigned())


@web.middleware
async def _spanned(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answers inside a span. Who asks whether something has changed, as an open page does, leaves none: how long that
    takes says whether it has. Nor does the debug view, which is about one device."""
    place = request.match_info.route.resource
    route = place.canonical if place else "none"
    if "If-None-Match" in request.headers or "debug" in route.split("/"):
        return await handler(request)
    with span(f"{request.method if place else 'a request'} {route}") as own:
        response: web.StreamResponse | web.HTTPException
        try:
            response = await handler(request)
        except web.HTTPException as raised:
            response = raised
        if response.status >= _REFUSED:
            own.note({"http.response.status_code": response.status})
            own.failed()
    if isinstance(response, web.HTTPException):
        raise response
    return response


@web.middleware
async def _guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answers only to names of this machine."""
    try:
        host = urlsplit(f"//{request.host}").hostname or ""
    except ValueError as error:
        return web.Response(status=400, text=f"this host is none: {error}\n")
    if _is_loopback(host):
        return await handler(request)
    return web.Response(status=421, text="this page is served to this machine, as localhost\n")


async def _with_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS | _OF_THE_FORM if request.path == LOG_IN else _HEADERS)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def _named(host: str) -> str:
    if host in {"", "0.0.0.0", "::"}:  # noqa: S104 - every address of the machine
        return "localhost"
    return f"[{host}]" if ":" in host else host
