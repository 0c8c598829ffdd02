"""The page's own files, and the chart library's from the package that ships it."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from functools import cache, cached_property
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable

from aiohttp import web

__all__ = ["Pages", "Template"]

_FILES = files(__package__) / "static"
_FOREVER = "public, max-age=31536000, immutable"
_STYLE_IDS = re.compile(r'document\.getElementById\("([0-9a-f]{64})"\)')


_PAGES = {"index.html", "login.html"}


@cache
def _own_files() -> dict[str, bytes]:
    """What pages are made of, but for themselves."""
    return {file.name: file.read_bytes() for file in _FILES.iterdir() if file.name not in _PAGES}


@cache
def _base() -> str:
    return "/static/" + hashlib.sha256(b"".join(_own_files().values())).hexdigest()[:16]


class Template:
    """A page with places that are filled in."""

    def __init__(self, name: str) -> None:
        self._text = (_FILES / name).read_text()

    def filled(self, **places: str) -> str:
        """The page, with what stands at its places; all of it is HTML."""
        known = places | {"base": _base()}
        return re.sub(r"\{\{(\w+)\}\}", lambda found: known[found[1]], self._text)


class Pages:
    """The handlers of the page and of what it is made of.

    Files stand below a directory that is named for their content, so that browsers keep them for good and never mix
    two versions; the page itself is asked for every time.
    """

    def __init__(self, demo: bool, *, guarded: bool = False) -> None:
        self._demo = demo
        self._guarded = guarded
        self._files = _own_files()
        self._charts = f"/static/plotly-{version('plotly')}.min.js"

    def routes(self) -> list[web.RouteDef]:
        """What is answered."""
        return [
            web.get("/", self._page),
            web.get("/health", self._page),
            web.get("/debug", self._page),
            web.get("/c/{collection}", self._page),
            web.get("/changes/{collection}", self._page),
            web.get("/c/{collection}/{metric}", self._page),
            web.get(_base() + "/{name}", self._file),
            web.get(self._charts, self._library),
            web.get("/favicon.ico", self._icon),
        ]

    @cached_property
    def _index(self) -> str:
        return Template("index.html").filled(
            charts=self._charts,
            styled="".join(f'<link id="{name}">' for name in _style_ids()),
            demo="true" if self._demo else "false",
            guarded="true" if self._guarded else "false",
        )

    async def _page(self, request: web.Request) -> web.Response:  # noqa: ARG002
        return web.Response(text=self._index, content_type="text/html", headers={"Cache-Control": "no-cache"})

    async def _file(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in self._files:
            raise web.HTTPNotFound
        return _kept(self._files[name], name)

    async def _library(self, request: web.Request) -> web.Response:  # noqa: ARG002
        return _kept(_library().read_bytes(), "plotly.min.js")

    async def _icon(self, request: web.Request) -> web.Response:  # noqa: ARG002
        return _kept(self._files["icon.svg"], "icon.svg")


def _kept(content: bytes, name: str) -> web.Response:
    kind = "text/javascript" if name.endswith(".js") else mimetypes.guess_type(name)[0]
    response = web.Response(body=content, headers={"Cache-Control": _FOREVER})
    response.content_type = kind or "application/octet-stream"
    response.charset = "utf-8"
    response.enable_compression()
    return response


def _library() -> Traversable:
    return files("plotly") / "package_data" / "plotly.min.js"


def _style_ids() -> list[str]:
    """The ids of style elements that the library would add for maps unless they are there.

    The page's policy forbids styles within it, and nobody draws maps: elements of these ids keep the library from
    trying.
    """
    return sorted(set(_STYLE_IDS.findall(_library().read_text(encoding="utf-8"))))
