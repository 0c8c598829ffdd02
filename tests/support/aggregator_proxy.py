"""A proxy between a store and its server that can lose a reply after the server has done its work."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

__all__ = ["Proxy", "proxied"]

_SCRIPTS = re.compile(rb"\r\n(EVALSHA|EVAL)\r\n")


class Proxy:
    """Passes everything on, and counts scripts; drops the reply to one when told to."""

    def __init__(self, listen: Path, server: str) -> None:
        self.url = f"unix://{listen}"
        self.scripts = 0
        self.dropped = 0
        self.drop = 0
        """Which of the scripts from now on loses its reply; 0: none."""
        self._listen = listen
        self._server = unquote(urlsplit(server).path)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection; it ends when either side ends it, or with a dropped reply."""
        from_server, to_server = await asyncio.open_unix_connection(self._server)
        asked = asyncio.Event()

        async def up() -> None:
            while data := await reader.read(1 << 20):
                found = len(_SCRIPTS.findall(data))
                self.scripts += found
                if 0 < self.drop <= found:
                    asked.set()
                self.drop = max(self.drop - found, 0)
                to_server.write(data)
                await to_server.drain()

        async def down() -> None:
            while data := await from_server.read(1 << 20):
                if asked.is_set():
                    self.dropped += 1
                    return
                writer.write(data)
                await writer.drain()

        tasks = {asyncio.create_task(up()), asyncio.create_task(down())}
        _, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for end in (writer, to_server):
            end.close()

    async def start(self) -> asyncio.Server:
        """Listen."""
        return await asyncio.start_unix_server(self.handle, str(self._listen))


@asynccontextmanager
async def proxied(server: str) -> AsyncIterator[Proxy]:
    """A proxy in front of a server on a unix socket, by its URL."""
    with TemporaryDirectory() as directory:
        proxy = Proxy(Path(directory) / "proxy.sock", server)
        listening = await proxy.start()
        try:
            yield proxy
        finally:
            listening.close()
            await listening.wait_closed()
