"""What goes wrong in a soak: each fault begins, lasts, and is over when the machine is as it was.

words:
  scene  what a fault can do something to: the aggregator with its processes and its disk, and the devices
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.hostile_wire import PREFACE, data, framed, headers
from benchmarks.processes import tree, workers
from benchmarks.raw_load import answers
from benchmarks.soak_devices import SUBMIT, Devices
from benchmarks.soak_server import DATA, DAY, move_clock
from deniable.v1.report_service_pb2 import SubmitReportsRequest

__all__ = ["FAULTS", "Aggregator", "Fault", "Scene", "disk"]

_DISK = "96m"
CROWD = 2000
_SLOW_SENDERS = 50
_DRAIN_SECONDS = 300.0
"""Until an aggregator that does not end is an error."""
_PIECE = 8
"""Bytes that a slow sender says at a time."""


class Aggregator:
    """The aggregator, which can be killed and started again where it was."""

    def __init__(self, room: Path, number: int) -> None:
        self.room, self._number = room, number
        self._listen, self._http = "127.0.0.1:0", "127.0.0.1:0"
        self._process: subprocess.Popen[str] | None = None
        self.port, self.page = 0, ""
        move_clock(room, 0.0)

    def start(self) -> None:
        """Start it; return when it serves."""
        command = [sys.executable, "-m", "benchmarks.soak_server", str(self.room), self._listen, self._http]
        with (self.room / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self._number)], stdout=subprocess.PIPE, stderr=log, text=True, stdin=subprocess.DEVNULL
            )
        assert self._process.stdout
        self.port = int(self._process.stdout.readline())
        self.page = self._process.stdout.readline().strip()
        self._listen, self._http = f"127.0.0.1:{self.port}", self.page.removeprefix("http://")

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process
        return self._process.pid

    def kill(self) -> None:
        """End it at once; its workers and its store end by themselves."""
        assert self._process
        self._process.kill()
        self._ended()

    def end(self) -> None:
        """Let it drain."""
        assert self._process
        self._process.send_signal(signal.SIGTERM)
        self._ended()

    def _ended(self) -> None:
        assert self._process
        assert self._process.stdout
        self._process.wait(_DRAIN_SECONDS)
        self._process.stdout.close()

    def workers(self) -> list[int]:
        """Its workers."""
        return [pid for pid in workers(self.pid) if pid != self.pid]

    def store(self) -> list[int]:
        """The store's server; none while it is started again."""
        found = []
        for pid in tree(self.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if "valkey" in Path(f"/proc/{pid}/comm").read_text():
                    found.append(pid)
        return found


@dataclass
class Scene:
    """Where faults happen."""

    aggregator: Aggregator
    devices: Devices
    crowd: int = CROWD
    came: int = 0
    """Connections of crowds."""
    slow: int = 0
    """Batches of slow senders that were acknowledged to them, a few bytes at a time."""


Act = Callable[[Scene, float], Awaitable[None]]


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong for so many seconds."""

    name: str
    act: Act
    alerts: frozenset[str] = frozenset()
    """Those that it has to call, if it lasts."""
    may: frozenset[str] = frozenset()
    """Those that it may call as well."""


@contextlib.contextmanager
def disk(room: Path) -> Iterator[bool]:
    """A small disk of its own for the store, where somebody may mount one; whether it is there."""
    place = room / DATA
    place.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"mode=700,size={_DISK}", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, stderr=subprocess.DEVNULL).returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def _tell(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


async def _a_worker(scene: Scene, seconds: float) -> None:
    for _ in range(3):
        _tell(scene.aggregator.workers()[:1], signal.SIGKILL)
        await asyncio.sleep(seconds / 3)


async def _all_workers(scene: Scene, seconds: float) -> None:
    for _ in range(3):
        _tell(scene.aggregator.workers(), signal.SIGKILL)
        await asyncio.sleep(seconds / 3)


async def _store_killed(scene: Scene, seconds: float) -> None:
    for _ in range(3):
        _tell(scene.aggregator.store(), signal.SIGKILL)
        await asyncio.sleep(seconds / 3)


async def _gone(scene: Scene, seconds: float) -> None:
    scene.aggregator.kill()
    await asyncio.sleep(seconds)
    await asyncio.to_thread(scene.aggregator.start)


async def _slow_store(scene: Scene, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        stopped = scene.aggregator.store()
        _tell(stopped, signal.SIGSTOP)
        try:
            await asyncio.sleep(0.8)
        finally:
            _tell(stopped, signal.SIGCONT)
        await asyncio.sleep(0.05)


async def _full_disk(scene: Scene, seconds: float) -> None:
    filler = scene.aggregator.room / DATA / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 12))
    try:
        await asyncio.sleep(seconds)
    finally:
        filler.unlink()


async def _clock(scene: Scene, seconds: float, days: int) -> None:
    move_clock(scene.aggregator.room, days * DAY)
    try:
        await asyncio.sleep(seconds)
    finally:
        move_clock(scene.aggregator.room, 0.0)


async def _clock_behind(scene: Scene, seconds: float) -> None:
    await _clock(scene, seconds, -2)


async def _clock_ahead(scene: Scene, seconds: float) -> None:
    await _clock(scene, seconds, 1)


async def _wrong_devices(scene: Scene, seconds: float) -> None:
    scene.devices.wrong = True
    try:
        await asyncio.sleep(seconds)
    finally:
        scene.devices.wrong = False


async def _beside(module: str, *arguments: object) -> str:
    """What another process says that takes part for a while; it gives way to the others."""
    process = await asyncio.create_subprocess_exec(
        "nice", "-n", "5", sys.executable, "-m", module, *map(str, arguments), stdout=asyncio.subprocess.PIPE
    )
    return (await process.communicate())[0].decode()


async def _crowd(scene: Scene, seconds: float) -> None:
    scene.came += int(await _beside("benchmarks.soak_crowd", scene.aggregator.port, scene.crowd, seconds))


async def _garbage(scene: Scene, seconds: float) -> None:
    own = scene.aggregator
    await _beside("benchmarks.hostile_shapes", own.port, own.pid, max(int(seconds), 1), random.randrange(1 << 16))


async def _slowly(scene: Scene, batch: SubmitReportsRequest, seconds: float) -> bool:
    """Whether a batch was acknowledged that came in pieces, over so long."""
    said = PREFACE + headers(1, SUBMIT) + data(1, framed(batch.SerializeToString()), end=True)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", scene.aggregator.port)
    except OSError:
        return False
    try:
        for at in range(0, len(said), _PIECE):
            if writer.is_closing():
                return False
            writer.write(said[at : at + _PIECE])
            await asyncio.sleep(seconds * _PIECE / len(said))
        heard = b""
        async with asyncio.timeout(10.0):
            while (answer := answers(heard)) is None:
                more = await reader.read(1 << 12)
                if not more:
                    return False
                heard += more
        return answer
    except (OSError, TimeoutError):
        return False
    finally:
        writer.close()


async def _slow_senders(scene: Scene, seconds: float) -> None:
    async def one() -> None:
        batch = scene.devices.fresh()
        acknowledged = await _slowly(scene, batch, seconds * random.uniform(0.3, 0.9))
        scene.slow += acknowledged
        await scene.devices.finish(batch, acknowledged)

    await asyncio.gather(*(one() for _ in range(_SLOW_SENDERS)))


async def _everything(scene: Scene, seconds: float) -> None:
    acts: tuple[Act, ...] = (_a_worker, _store_killed, _slow_store, _wrong_devices, _crowd, _garbage, _slow_senders)
    await asyncio.gather(*(act(scene, seconds) for act in acts))


_REFUSED = frozenset({"DeniableRejections"})
_SLOW = frozenset({"DeniableStoreSlow"})
_AWAY = frozenset({"DeniableStoreDown"})
_FORGETTING = frozenset({"DeniableIdWindowAtRisk"})
"""Who sets a clock back accepts epochs for longer than their ids were told to live. Of an epoch with batches,
and with none that comes meanwhile, that is so, and has to be said (tests/web/test_id_margin.py)."""

FULL_DISK = "a full disk"
FAULTS = (
    Fault("a worker killed, three times", _a_worker),
    Fault("all workers killed, three times", _all_workers),
    Fault("the store killed, three times", _store_killed),
    Fault("a slow store: it stands still 16 of 17 times", _slow_store, _SLOW),
    Fault(FULL_DISK, _full_disk, _AWAY, _REFUSED),
    Fault("the aggregator's clock two days behind", _clock_behind, _REFUSED, _FORGETTING),
    Fault("the aggregator's clock a day ahead", _clock_ahead),
    Fault("an eighth of the devices' clocks days ahead, an eighth behind", _wrong_devices, _REFUSED),
    Fault("2,000 connections that come and go", _crowd),
    Fault("50 slow senders", _slow_senders),
    Fault("floods of garbage", _garbage, may=_REFUSED | _SLOW),
    Fault("the aggregator gone", _gone, frozenset({"DeniableDown"})),
    Fault("workers and store killed, a slow store, wrong clocks, 2,000 connections, slow senders, garbage at once",
          _everything, may=_REFUSED | _SLOW | _AWAY | {"DeniableDown"}),
)  # fmt: skip
"""All of them, the ones that are easy to bear first."""
