"""Servers for loads whose calls all differ: python -m benchmarks.duress_servers KIND DIRECTORY WORKERS [TLS]

    bare  answers, and does nothing else
    floor answers once the id of the call is in an embedded store, synced to disk, and does nothing else; ids that
          come while the store is at work go there together
    own   the aggregator as it is, on an embedded store
    dear  the same, whose flushes cost three times their processor time
    slow  the same as own, on a store that answers ten milliseconds later, as one with a slow disk does

With a fourth argument, a directory with cert.pem and key.pem, they speak TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import grpc
import uvloop

from benchmarks.ingest_servers import COLLECTION_TEXT, say, until_told
from benchmarks.processes import Running
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.ingest import NAME, Batcher
from deniable_aggregator.serving import server
from deniable_aggregator.serving.access import Access
from deniable_aggregator.serving.sources import Sources
from deniable_aggregator.serving.supervisor import Program, Supervisor, serve
from deniable_aggregator.store import Durability, EmbeddedStore, EpochKey, Store
from deniable_aggregator.store.links import Link, link_to

__all__ = ["DATA", "counted", "dear", "plain"]

DATA = "data"
"""Where in its directory a server's store is."""
_SYNC_SECONDS = 0.010
_TIMES = 3


class _DearBatcher(Batcher):
    """One whose flushes burn twice what they have cost on top."""

    async def _finish(self, shard: int, waiting: Any) -> bool:
        before = time.thread_time()
        answered = await super()._finish(shard, waiting)
        spent = waiting.spent + time.thread_time() - before
        end = time.thread_time() + (_TIMES - 1) * min(spent, waiting.spent * 2 + 0.001)
        while time.thread_time() < end:
            pass
        return answered


def dear(catalog: Catalog) -> Sequence[server.AddService]:
    """No more services; but the worker that is told so has dear flushes."""
    assert catalog.collections()
    replaced: Any = server
    replaced.Batcher = _DearBatcher
    return []


def plain(catalog: Catalog) -> Sequence[server.AddService]:
    """No more services."""
    assert catalog.collections()
    return []


async def counted(directory: Path, digest: int) -> int:
    """How many batches the store of a server that has ended remembers of yesterday, today and tomorrow."""
    embedded = EmbeddedStore(directory / DATA)
    await embedded.start()
    store = Store(embedded.url)
    await store.open()
    today = int(time.time() // 86400)
    found = await store.batches([EpochKey(digest, today + day) for day in (-1, 0, 1)])
    await store.close()
    await embedded.stop()
    return sum(found)


@contextlib.asynccontextmanager
async def _late(url: str, path: Path) -> AsyncIterator[str]:
    """The address of the same store, whose replies come ten milliseconds later."""
    socket = url.removeprefix("unix://").partition("?")[0]

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 20):
                await asyncio.sleep(seconds)
                writer.write(data)
                await writer.drain()
        writer.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_unix_connection(socket)
        await asyncio.gather(pass_on(reader, back, 0.0), pass_on(there, writer, _SYNC_SECONDS))

    async with await asyncio.start_unix_server(accept, path):
        yield f"unix://{path}"


async def _slow_store(directory: Path) -> None:
    embedded = EmbeddedStore(directory / DATA)
    await embedded.start()
    async with _late(embedded.url, directory / "late.sock"):
        say(1)
        await until_told()
    await embedded.stop()


def _serve(kind: str, directory: Path, number: int, access: Access) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "metrics.toml"
    file.write_text(COLLECTION_TEXT)
    behind = None
    settings = server.Settings(listen="127.0.0.1:0", data_dir=directory / DATA, access=access)
    if kind == "slow":
        behind = Running("benchmarks.duress_servers", "store", str(directory), "1")
        settings = server.Settings(
            listen="127.0.0.1:0",
            redis_url=f"unix://{directory / 'late.sock'}",
            durability=Durability(),
            access=access,
        )
    from benchmarks.duress_servers import dear as dearer  # a worker could not import them from __main__
    from benchmarks.duress_servers import plain as as_it_is

    program = Program(settings, Sources((file,)), dearer if kind == "dear" else as_it_is)
    supervisor = Supervisor(program, number)
    serve(supervisor, lambda: say(supervisor.port))
    if behind:
        behind.end()


class _Ids:
    """Ids on their way into a store."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._waiting: list[bytes] = []
        self._stored: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    async def answer(self, message: bytes, _context: object) -> bytes:
        """Answer when the id is stored. A message begins with the tag and the length of its id."""
        if self._stored is None:
            self._stored = asyncio.get_running_loop().create_future()
        self._waiting.append(message[2:18])
        if self._task is None:
            self._task = asyncio.create_task(self._store())
        await self._stored
        return b""

    async def _store(self) -> None:
        while self._stored:
            ids, self._waiting, stored, self._stored = self._waiting, [], self._stored, None
            await self._link.ask(b"", ("SADD", b"ids", *ids))
            stored.set_result(None)
        self._task = None


async def _listening(answer: Any, access: Access, port: int) -> tuple[grpc.aio.Server, int]:
    listening = grpc.aio.server(options=(*server.OPTIONS, ("grpc.so_reuseport", 1)))
    handlers: dict[str, Any] = {"SubmitReports": grpc.unary_unary_rpc_method_handler(answer)}
    listening.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(NAME, handlers)])
    port = access.listen(listening, f"127.0.0.1:{port}")
    await listening.start()
    return listening, port


async def _floor(directory: Path, access: Access) -> None:
    embedded = EmbeddedStore(directory / DATA)
    await embedded.start()
    link = link_to(embedded.url, 60.0)
    listening, port = await _listening(_Ids(link).answer, access, 0)
    say(port)
    await until_told()
    await listening.stop(0)
    await link.close()
    await embedded.stop()


async def _bare(directory: Path, number: int, access: Access, port: int) -> None:
    async def answer(_message: bytes, _context: object) -> bytes:
        return b""

    listening, port = await _listening(answer, access, port)
    others = [
        Running("benchmarks.duress_servers", "bare", str(directory), "1", "", str(port)) for _ in range(number - 1)
    ]
    say(port)
    await until_told()
    for other in others:
        other.end()
    await listening.stop(0)


def main() -> None:
    """Serve as one of the kinds."""
    kind, directory, number, room, port = (*sys.argv[1:], "", "")[:5]
    access = Access(certificate=Path(room, "cert.pem"), key=Path(room, "key.pem")) if room else Access()
    if kind == "bare":
        uvloop.run(_bare(Path(directory), int(number), access, int(port or 0)))
    elif kind == "floor":
        uvloop.run(_floor(Path(directory), access))
    elif kind == "store":
        uvloop.run(_slow_store(Path(directory)))
    else:
        _serve(kind, Path(directory), int(number), access)


if __name__ == "__main__":
    main()
