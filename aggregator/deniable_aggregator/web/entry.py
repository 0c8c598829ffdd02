"""The entry: who is let in at the page, its API and /metrics, where there are tokens.

words:
  log in    to show a token that reads at the page: by a form, for a session
  proxy     what stands in front, has asked people who they are, and says so in a header; heard from its address alone

Programs show their token with every request (`Authorization: Bearer`). A browser has a cookie that no script sees,
that no other site's request carries, and that is good over TLS alone where it was given over TLS. Nobody logs in over
what can be listened to: the page has to be on this machine, or come by TLS, as the browser says in `Origin`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from html import escape
from typing import NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from deniable.wire.credentials import is_loopback
from deniable_aggregator.caller import CALLER, READ, Caller, Reader
from deniable_aggregator.serving.tokens import Bearer, Tokens
from deniable_aggregator.web.pages import Template
from deniable_aggregator.web.sessions import SECONDS, Sessions, Tries

__all__ = ["LOG_IN", "Entry", "Proxy", "proxy_of"]

LOG_IN, LOG_OUT = "/login", "/logout"
_OPEN = re.compile(rf"{LOG_IN}|{LOG_OUT}|/favicon\.ico|/static/.*")
_FOR_PROGRAMS = ("/api/", "/metrics")
_OF_ALL = {"/metrics", "/api/v1/health", "/api/v1/debug"}
"""What is about all collections: good for who may read all of them."""
_PAGE = re.compile(r"/(?:health|debug|(?:c|changes)/[^\\\x00-\x20\x7f]*)?(?:\?[^\\\x00-\x20\x7f]*)?")
_PLAIN, _SECURE = "deniable", "__Host-deniable"
"""The cookie's names. The second one a browser takes over TLS from this host alone, and from no neighbour of it."""
_FORM, _LONGEST_FORM = "application/x-www-form-urlencoded", 8192


class Proxy(NamedTuple):
    """What says in front that it knows who asks."""

    header: str
    addresses: frozenset[str]
    """Where it is."""


class Entry:
    """Lets in who has a token that reads, a session of one, or comes through the proxy."""

    def __init__(self, tokens: Tokens, proxy: Proxy | None = None) -> None:
        self._tokens = tokens
        self._proxy = proxy
        self._sessions = Sessions()
        self._tries = Tries()
        self._form = Template("login.html")

    def routes(self) -> list[web.RouteDef]:
        """What is answered to everybody."""
        return [web.get(LOG_IN, self._ask), web.post(LOG_IN, self._log_in), web.post(LOG_OUT, self._log_out)]

    @web.middleware
    async def admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer who is let in, as far as that goes; tell the others how to get in."""
        if _OPEN.fullmatch(request.path):
            return await handler(request)
        caller = self._caller(request)
        names = frozenset[str]() if caller is None else caller.named(READ)
        if names is not None and not names:
            return self._turned_away(request)
        if names is not None and request.path in _OF_ALL:
            return _refused(403, "PERMISSION_DENIED", "this is about all collections: a token for some does not do")
        before = CALLER.set(caller)
        try:
            return await handler(request)
        finally:
            CALLER.reset(before)  # a connection's next request may be another caller's

    def _caller(self, request: web.Request) -> Caller | None:
        """Who asks; None where nobody is known."""
        if "Authorization" in request.headers:
            return self._bearer(request)
        for name in (_SECURE, _PLAIN):
            if (said := request.cookies.get(name)) is not None:
                found = self._sessions.find(said, secure=name == _SECURE)
                if found is not None:
                    return found
        return Reader(None) if self._proxied(request) else None

    def _bearer(self, request: web.Request) -> Bearer | None:
        said = request.headers.getall("Authorization", [])
        scheme, _, token = said[0].partition(" ") if len(said) == 1 else ("", "", "")
        return self._tokens.bearer(token) if scheme.lower() == "bearer" else None

    def _proxied(self, request: web.Request) -> bool:
        """Whether the proxy says who asks: once, or somebody else has said it, too."""
        if self._proxy is None or request.remote not in self._proxy.addresses:
            return False
        said = request.headers.getall(self._proxy.header, [])
        return len(said) == 1 and bool(said[0].strip())

    def _turned_away(self, request: web.Request) -> web.StreamResponse:
        if request.path.startswith(_FOR_PROGRAMS):
            bearer = self._bearer(request)
            if bearer is not None and bearer.grants():
                return _refused(403, "PERMISSION_DENIED", "this token is not good for reading")
            response = _refused(
                401, "UNAUTHENTICATED", "a token that reads is needed here: Authorization: Bearer TOKEN"
            )
            response.headers["WWW-Authenticate"] = 'Bearer realm="deniable"'
            return response
        raise web.HTTPSeeOther(
            f"{LOG_IN}?to={quote(request.path_qs, safe='/')}", headers={"Cache-Control": "no-store"}
        )

    async def _ask(self, request: web.Request) -> web.Response:
        return self._shown(_own(request.query.get("to", "")))

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        origin = _origin(request)
        secure = origin.scheme == "https"
        if not _from_here(request):
            return self._shown("/", 403, "This came from another site. Log in here.")
        if not secure and not is_loopback(origin.netloc if ":" in origin.netloc else f"{origin.netloc}:80"):
            return self._shown("/", 403, "A token can be read on the way here: ask for this page by https.")
        token, to = await _said(request)
        if wait := math.ceil(self._tries.wait(request.remote or "")):
            again = self._shown(to, 429, f"Too many tokens were wrong. Try again in {wait} s.")
            again.headers["Retry-After"] = str(wait)
            return again
        bearer = self._tokens.bearer(token)
        if not bearer.has(READ):
            self._tries.failed(request.remote or "")
            why = "is good for reports, not for reading" if bearer.grants() else "is not known, or has expired"
            return self._shown(to, 403, f"This token {why}.")
        self._end(request)
        response = web.Response(status=303, headers={"Location": to, "Cache-Control": "no-store"})
        said = self._sessions.begin(bearer, secure=secure)
        response.set_cookie(
            _SECURE if secure else _PLAIN, said, max_age=SECONDS, secure=secure, httponly=True, samesite="Strict"
        )
        return response

    async def _log_out(self, request: web.Request) -> web.Response:
        if not _from_here(request):
            return _refused(403, "PERMISSION_DENIED", "this came from another site")
        self._end(request)
        response = web.Response(status=204, headers={"Cache-Control": "no-store"})
        for name in (_SECURE, _PLAIN):
            response.del_cookie(name, secure=name == _SECURE, httponly=True, samesite="Strict")
        return response

    def _end(self, request: web.Request) -> None:
        """End whatever session a browser says that it has."""
        for name in (_SECURE, _PLAIN):
            self._sessions.end(request.cookies.get(name, ""))

    def _shown(self, to: str, status: int = 200, problem: str = "") -> web.Response:
        """The form, with what was wrong."""
        said = f'<p class="notice bad" id="problem" role="alert">{escape(problem)}</p>' if problem else ""
        text = self._form.filled(problem=said, to=escape(to))
        headers = {"Cache-Control": "no-store"}
        return web.Response(status=status, text=text, content_type="text/html", headers=headers)


def _from_here(request: web.Request) -> bool:
    """Whether a browser says that this page has sent it: it lets no page say so of another one's request."""
    origin = _origin(request)
    site = request.headers.get("Sec-Fetch-Site")
    if origin.scheme not in {"http", "https"} or not origin.netloc:
        return False
    return site == "same-origin" if site is not None else origin.netloc == request.host


def _origin(request: web.Request) -> SplitResult:
    """Where a browser says that a form comes from; nowhere, where that is no place."""
    try:
        return urlsplit(request.headers.get("Origin", ""))
    except ValueError:
        return urlsplit("")


async def _said(request: web.Request) -> tuple[str, str]:
    """The token that a form has, and where to go with it."""
    try:
        if request.content_type != _FORM or (request.content_length or 0) > _LONGEST_FORM:
            return "", "/"
        form = await request.post()
    except (ValueError, LookupError, web.HTTPException):  # bytes or a charset that are none, or no end
        return "", "/"
    token, to = form.get("token"), form.get("to")
    return token if isinstance(token, str) else "", _own(to if isinstance(to, str) else "")


def _own(to: str) -> str:
    """A path of a page; the first one where it is none: nobody is sent elsewhere."""
    return to if _PAGE.fullmatch(to) else "/"


def _refused(status: int, code: str, message: str) -> web.Response:
    body = json.dumps({"error": {"code": status, "status": code, "message": message}})
    headers = {"Cache-Control": "no-store"}
    return web.Response(status=status, text=body, content_type="application/json", headers=headers)


def proxy_of(header: str | None, addresses: Collection[str]) -> Proxy | None:
    """What a proxy is known by; it is on this machine unless that is said."""
    return Proxy(header, frozenset(addresses or ("127.0.0.1", "::1"))) if header else None
