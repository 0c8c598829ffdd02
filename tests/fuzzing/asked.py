"""The aggregator that questions are asked of: one of this process, on a real store with a few days of two platforms.

It is begun with the first question, and runs on a loop that goes on while one is being answered; it is noon of the
last day. What is told by gRPC and by HTTP is held against the question here, as it stands in protobuf's messages.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import shutil
import tempfile
from collections.abc import Awaitable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from deniable import Collection
from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.analysis.offline import accumulate
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.serving.server import Server, Settings, layout_of
from deniable_aggregator.web import Site
from support.collection_files import head, metric
from support.stored import put

__all__ = ["COLLECTION", "TODAY", "Asked", "asked", "refuse_other"]

TODAY = 20_000
COLLECTION = Collection.loads(
    head("editor", 5.0, platform=["linux", "windows"])
    + metric("browser", "category", "The default browser", values=["chrome", "edge", "firefox", "safari"])
    + metric("dark", "boolean", "The dark theme is on")
    + metric("minutes", "number", "Minutes in the foreground", range=[0, 480], unit="minutes")
    + metric("latency", "distribution", "Time to the first sign", range=[0, 1000], buckets=16)
)
_QUESTIONS = 200
"""Of a connection: a busy page closes those over which much comes of which no batch does."""
_Found = TypeVar("_Found")


class Asked:
    """The aggregator, and whoever answers."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._directory = Path(tempfile.mkdtemp(prefix="deniable-asked-"))
        noon = (TODAY + 0.5) * COLLECTION.epoch_seconds
        analysts = functools.cache(lambda store: Analyst(Catalog([COLLECTION]), store, lambda: noon))
        self._site = Site("127.0.0.1:0", analysts)
        settings = Settings(listen="127.0.0.1:0", data_dir=self._directory / "data", grace=1.0)
        self._server = Server(settings, [layout_of(COLLECTION)], [], [self._site.beside])
        self._begun: list[asyncio.StreamWriter] = []
        self._left = 0
        self.wait_for(self._server.start())
        self.wait_for(self._fill())
        self.analyst = analysts(self._server.store)
        """Who answers."""
        self._reader: asyncio.StreamReader | None = None

    async def _fill(self) -> None:
        for ago in range(5):
            for segment in (0, 1):
                columns: dict[str, Any] = {"browser": [340 + ago, 280, 220, 180], "dark": [450, 550 + ago]}
                columns["latency"] = [own + 50 for own in accumulate(COLLECTION.metrics["latency"], ())]
                columns["minutes"] = [1000, 1_153_000, 1_767_000_000, 0]
                await put(self._server.store, COLLECTION, TODAY - ago, columns, segment, 10)

    def wait_for(self, work: Awaitable[_Found]) -> _Found:
        """What comes of something, while all else goes on."""
        return self._loop.run_until_complete(asyncio.ensure_future(work, loop=self._loop))

    def end(self) -> None:
        """End the aggregator with its store."""
        for writer in self._begun:
            writer.close()
        self.wait_for(self._server.drain())
        shutil.rmtree(self._directory)

    def got(self, target: bytes) -> tuple[int, str, bytes]:
        """What is answered over HTTP to a GET of these bytes: status, type and body."""
        return self.wait_for(self._got(b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"))

    async def _got(self, request: bytes) -> tuple[int, str, bytes]:
        if self._reader is None:
            url = self._site.url.removeprefix("http://").rstrip("/")
            host, _, port = url.rpartition(":")
            self._reader, writer = await asyncio.open_connection(host, int(port))
            self._begun, self._left = [writer], _QUESTIONS
        self._begun[0].write(request)
        told = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in told[1:])}
        body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        self._left -= 1
        if headers.get("connection") == "close" or not self._left:
            self._begun.pop().close()
            self._reader = None
        return int(told[0].split()[1]), headers.get("content-type", ""), body


@functools.cache
def asked() -> Asked:
    """The aggregator of this process."""
    found = Asked()
    atexit.register(found.end)
    return found


def refuse_other(estimates: Iterable[pb.Estimate], query: pb.Query, metric: str, *, segments: bool = True) -> None:
    """An AssertionError where answers are not of what was asked, or have an interval that is none."""
    for own in estimates:
        assert own.collection == COLLECTION.name
        assert own.metric == metric or (not metric and own.metric in COLLECTION.metrics)
        assert not segments or dict(own.segment) == dict(query.segment)
        assert not query.looks or own.looks == query.looks
        assert not query.target or own.target == query.target
        assert own.confidence == (query.confidence or 0.95)
        assert own.fakes == query.fakes
        assert own.first_epoch <= own.last_epoch
        if not (getattr(query, "from") or query.to or query.last):
            assert own.last_epoch - own.first_epoch < max(query.epochs, 1)
            assert not query.last_epoch or own.last_epoch <= query.last_epoch
        for series in own.series:
            assert not query.series or series.heading.name in query.series
            assert not query.rows or series.heading.ordered or len(series.rows) <= query.rows + len(query.asked)
            for row in series.rows:
                assert not row.low > row.high, row
