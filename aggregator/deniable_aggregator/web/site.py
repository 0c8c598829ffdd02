"""The web site of an aggregator, on the loop that its gRPC server runs on.

Everything is read-only. Nothing is loaded from another host, no script or style stands in the page itself, and
the browser is told so. Without a password of its own, the site listens on this machine alone unless it is told
otherwise; and there it answers only to this machine's names, so that no other site's script can reach it by a name
that is made to point here.
"""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.serving.port import whose
from deniable_aggregator.serving.server import Aggregator
from deniable_aggregator.store import Store
from deniable_aggregator.web.api import Api
from deniable_aggregator.web.debug import DebugView
from deniable_aggregator.web.health import Health
from deniable_aggregator.web.pages import Pages
from deniable_aggregator.web.prometheus import Metrics

__all__ = ["Site"]

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
        self.url = ""
        """Where it is, once it is served."""

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
            handle_signals=False,
            shutdown_timeout=_LONGEST_END,
            handler_cancellation=True,  # who has gone is not answered
        )
        await runner.setup()
        try:
            try:
                await web.TCPSite(runner, self._host, self._port).start()
            except OSError as error:
                raise OSError(
                    f"the page can not listen on {self._host}:{self._port}{whose(error)}; --http HOST:PORT has "
                    "another, and --http off none"
                ) from error
            self.url = f"http://{_named(self._host)}:{runner.addresses[0][1]}/"
            async with self._debug.listening() if self._debug else contextlib.nullcontext():
                yield
        finally:
            await runner.cleanup()

    def _application(self, server: Aggregator) -> web.Application:
        analyst = self._analyst_of(server.store)
        health = Health(server)
        application = web.Application(middlewares=[_guarded] if _is_loopback(self._host) else [])
        application.on_response_prepare.append(_with_headers)
        if self._debug:
            application.add_routes(self._debug.routes())
        for part in (Api(analyst, health), Metrics(analyst, health), Pages(self._demo)):
            application.add_routes(part.routes())
        return application


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


async def _with_headers(request: web.Request, response: web.StreamResponse) -> None:  # noqa: ARG001
    response.headers.update(_HEADERS)


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
