"""Where workers come from: a process that has loaded what they need, and forks them.

words:
  nursery  a process with one thread, which has begun nothing: no loop, no connection, nothing of gRPC's, which does
           not survive a fork. It is forked itself before its supervisor begins anything. What it forks has nothing
           to load, and shares the memory of what is loaded
  child    a process that it has forked, and whose end it tells

When the supervisor is gone, the nursery ends. When the nursery is gone, nobody is told of a child's end any more: so
the supervisor ends its children as a crash would, and whoever starts one again begins with a new nursery, which is a
program of its own and loads everything.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import os
import select
import signal
import socket
import struct
import sys
import traceback
from collections import deque
from collections.abc import Callable

__all__ = ["Child", "Nursery", "call_this", "nurse"]

_SAID = struct.Struct("=ii")
"""A child's process, and how it has ended, or that it has begun. A process of 0: it could not be forked."""
_BEGUN = 1 << 30
_ASK = b"."
_PR_SET_NAME = 15
_MALLOC = {"MALLOC_TOP_PAD_": (-2, 4 << 20), "MALLOC_ARENA_MAX": (-8, 2)}
"""Has glibc keep some free memory for the arrays of the next flush: to give it back and ask for it again takes as
long as adding up (for 140 batches of 50 reports 570 microseconds against 250). Not for every thread of gRPC's,
though: after a flood each of them kept what it had. (mallopt's numbers, of what users may set by these names.)"""

Be = Callable[[int], None]
"""What a child does, with the file of its end of a link."""


class Child:
    """A child as its supervisor sees it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status = asyncio.get_running_loop().create_future()

    @property
    def returncode(self) -> int | None:
        """How it has ended; None while it runs."""
        return self._status.result() if self._status.done() else None

    async def wait(self) -> int:
        """Wait for its end."""
        status: int = await asyncio.shield(self._status)
        return status

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def ended(self, status: int) -> None:
        """It has ended."""
        if not self._status.done():
            self._status.set_result(status)


class Nursery:
    """A nursery as its supervisor sees it."""

    def __init__(self, be: Be) -> None:
        self._be = be
        self._pid = 0
        self._ours: socket.socket | None = None
        self._hears = False
        self._asked: deque[asyncio.Future[Child]] = deque()
        """Children that are asked for, in the order in which they are told of."""
        self._children: dict[int, Child] = {}

    def fork(self) -> None:
        """Fork it, before this process has begun anything."""
        self._ours, theirs = socket.socketpair()
        with theirs:
            self._pid = os.fork()
            if self._pid == 0:
                self._ours.close()
                _do(lambda: nurse(theirs, self._be))

    async def start(self, end: socket.socket) -> Child:
        """A child that has a copy of this end of a link; an OSError where there can be none."""
        if self._ours is None:
            self._spawn()
        assert self._ours
        loop = asyncio.get_running_loop()
        if not self._hears:
            loop.add_reader(self._ours, self._hear)
            self._hears = True
        socket.send_fds(self._ours, [_ASK], [end.fileno()])
        self._asked.append(loop.create_future())
        return await self._asked[-1]

    def close(self) -> None:
        """End it, when its children have ended."""
        if self._ours:
            self._gone()

    def _spawn(self) -> None:
        self._ours, theirs = socket.socketpair()
        with theirs:
            theirs.set_inheritable(True)
            self._pid = os.posix_spawn(
                sys.executable,
                (sys.executable, "-m", __name__, str(theirs.fileno())),
                os.environ,
            )

    def _hear(self) -> None:
        assert self._ours
        try:
            said = self._ours.recv(_SAID.size, socket.MSG_WAITALL)
        except OSError:
            said = b""
        if len(said) < _SAID.size:
            self._gone()
            return
        pid, status = _SAID.unpack(said)
        if status != _BEGUN:
            self._children.pop(pid).ended(status)
            return
        asked = self._asked.popleft()
        if pid:
            self._children[pid] = Child(pid)
        if asked.done():
            return  # who has asked waits no more; the other end of the child's link is closed
        if pid:
            asked.set_result(self._children[pid])
        else:
            asked.set_exception(OSError("a process could not be forked"))

    def _gone(self) -> None:
        """Have everything of it end."""
        assert self._ours
        if self._hears:
            asyncio.get_running_loop().remove_reader(self._ours)
        self._ours.close()
        self._ours, self._hears = None, False
        for pid in (self._pid, *self._children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        for child in self._children.values():
            child.ended(-signal.SIGKILL)
        self._children.clear()
        for asked in self._asked:
            if not asked.done():
                asked.set_exception(OSError("the process that starts others has ended"))
        self._asked.clear()


def nurse(ours: socket.socket, be: Be) -> None:
    """Be a nursery until the supervisor is gone."""
    os.setsid()  # a Ctrl-C is for the supervisor
    _without_input()
    call_this("deniable-nurse")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends with the supervisor
    wakes, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    gc.collect()
    gc.freeze()  # what is loaded stays, and its pages are shared while nobody writes to them
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while True:
            ready, _, _ = select.select([ours.fileno(), wakes], [], [])
            if wakes in ready:
                os.read(wakes, 4096)
                _tell_ends(ours)
            if ours.fileno() in ready:
                asked, ends, _, _ = socket.recv_fds(ours, 1, 1)
                if not asked:
                    return
                ours.send(_SAID.pack(_forked(be, ends[0], (ours.fileno(), wakes, waking)), _BEGUN))
                os.close(ends[0])


def _forked(be: Be, end: int, files: tuple[int, ...]) -> int:
    """A child that does something with its end of a link, and has none of the nursery's files; 0 where it fails.

    The nursery ignores signals that end a child. One that comes at once waits until the child does not any more.
    """
    ending = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    try:
        pid = os.fork()
    except OSError:
        traceback.print_exc()
        pid = -1
    if pid == 0:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, *ending):  # a SIGHUP stays for the supervisor
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)
        for file in files:
            os.close(file)
        os.setsid()
        _with_memory()
        _do(lambda: be(end))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)
    return max(pid, 0)


def _do(what: Callable[[], None]) -> None:
    """Do something in a process that has been forked, and end it."""
    code = 1
    try:
        what()
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001 - nobody else could tell of it
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _tell_ends(ours: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        ours.send(_SAID.pack(pid, os.waitstatus_to_exitcode(status)))


def _without_input() -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _with_memory() -> None:
    """Set what _MALLOC says, unless whoever has started the aggregator has said otherwise."""
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        for name, (number, value) in _MALLOC.items():
            if name not in os.environ:
                mallopt(number, value)


def call_this(name: str) -> None:
    """Call this process something, in 15 letters, where Linux lists processes: all have one command line."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


if __name__ == "__main__":
    from deniable_aggregator.serving.worker import be

    nurse(socket.socket(fileno=int(sys.argv[1])), be)
