"""An aggregator with its page in a thread of this process, and a browser to look at it."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import threading
import urllib.request
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, expect, sync_playwright
from redis import Redis

from deniable import Collection
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.analysis.query import Truth, analyst_of
from deniable_aggregator.serving.access import Access
from deniable_aggregator.serving.estimate_service import estimates_of
from deniable_aggregator.serving.server import Server, Settings, layout_of
from deniable_aggregator.serving.tokens import Tokens
from deniable_aggregator.web import DebugView, Site
from deniable_aggregator.web.entry import Entry, Proxy
from support.programs import program
from support.stored import Counted, put
from support.waiting import PATIENCE

__all__ = ["Running", "browser", "chromium", "got", "running", "watched"]

_Result = TypeVar("_Result")
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


class Running:
    """An aggregator on a loop of its own."""

    def __init__(
        self,
        collections: Sequence[Collection],
        truth: Truth | None,
        debug: DebugView | None,
        access: Access,
        proxy: Proxy | None,
    ) -> None:
        self.analyst_of = analysts = analyst_of(Catalog(collections), truth)
        self._directory = Path(tempfile.mkdtemp(prefix="deniable-site-"))
        self._site = Site(
            "127.0.0.1:0",
            analysts,
            demo=truth is not None,
            debug=debug,
            entry=Entry(Tokens(access.tokens), proxy) if access.tokens else None,
            certificates=access.certificates(),
        )
        settings = Settings(
            listen="127.0.0.1:0",
            data_dir=self._directory / "data",
            board=self._directory / "board",
            grace=1.0,
            access=access,
        )
        self.server = Server(
            settings, [layout_of(each) for each in collections], [estimates_of(analysts)], [self._site.beside]
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> None:
        """Serve."""
        self._thread.start()
        self.wait_for(self.server.start())

    def stop(self) -> None:
        """End."""
        self.wait_for(self.server.drain())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        shutil.rmtree(self._directory)

    def wait_for(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Do something on the aggregator's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    @contextlib.contextmanager
    def without_store(self) -> Iterator[None]:
        """The store can not be reached: its socket has another name, and whoever was connected to it is not."""
        where = self._directory / "data" / "valkey.sock"
        away = where.with_name("away")
        with Redis(unix_socket_path=str(where)) as beside:
            beside.ping()
            where.rename(away)
            beside.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        try:
            yield
        finally:
            away.rename(where)

    @property
    def url(self) -> str:
        """Where the page is, without a slash at its end."""
        return self._site.url.rstrip("/")

    @property
    def debug_url(self) -> str:
        """Where its debug view is."""
        return self._site.debug_url

    @property
    def endpoint(self) -> str:
        """Where gRPC is."""
        return f"127.0.0.1:{self.server.port}"

    def put(
        self,
        collection: Collection,
        epoch: int,
        counters: Mapping[str, Counted],
        segment: int = 0,
        batches: int = 1,
    ) -> None:
        """Add counters to the store."""
        self.wait_for(put(self.server.store, collection, epoch, counters, segment, batches))


@contextlib.contextmanager
def running(
    *collections: Collection,
    truth: Truth | None = None,
    debug: DebugView | None = None,
    access: Access = Access(),  # noqa: B008 - it is never changed
    proxy: Proxy | None = None,
) -> Iterator[Running]:
    """An aggregator that serves these collections."""
    aggregator = Running(collections, truth, debug, access, proxy)
    aggregator.start()
    try:
        yield aggregator
    finally:
        aggregator.stop()


def got(aggregator: Running, path: str) -> str:
    """What it says over HTTP."""
    with urllib.request.urlopen(aggregator.url + path, timeout=PATIENCE) as response:
        body: bytes = response.read()
    return body.decode()


def chromium() -> str:
    """The browser's program: without windows where there is one, which starts, loads and ends in half the time."""
    return program("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser without a window."""
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=_FLAGS.split())
        try:
            yield started
        finally:
            started.close()


@contextlib.contextmanager
def watched(page: Page, own: str, allowed: Sequence[str] = ()) -> Iterator[None]:
    """A page that has failed where it wrote an error to the console or asked another host for anything.

    `allowed` are parts of messages that a test provokes. In the end the page is empty, and nothing is kept of it: to
    begin with another one costs as much as five views.
    """
    wrong: list[str] = []

    def error(error: Error) -> None:
        wrong.append(f"error: {error}")

    def console(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            wrong.append(message.text)

    def request(request: Request) -> None:
        if not request.url.startswith(own):
            wrong.append(f"asked {request.url}")

    page.on("pageerror", error)
    page.on("console", console)
    page.on("request", request)
    try:
        yield
    finally:
        page.unroute_all(behavior="ignoreErrors")
        if page.url.startswith(own):
            page.evaluate("localStorage.clear()")
        page.goto(f"{own}/api/v1/collections")  # of the same site: that of another one is another process
        page.remove_listener("pageerror", error)
        page.remove_listener("console", console)
        page.remove_listener("request", request)
    left = [text for text in wrong if not any(part in text for part in allowed)]
    assert not left, left
