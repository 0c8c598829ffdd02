"""Starts `deniable` where its modules are loaded already: reading them takes two thirds of what a start takes.

words:
  template   a process with one thread, which has loaded what `deniable serve` loads, and begun nothing
  program    a process that is forked from it and runs the command, with arguments, files and environment of its own
  keeper     the program's parent: it waits for the end of its program, and says how that was

A program differs from one that a shell starts in nothing but what it need not read; what starts from nothing is seen
in tests of the command (tests/system/test_commands.py). Each process of a run has one template, if it needs any.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import json
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

__all__ = ["Program", "started"]

_NUMBER = struct.Struct("=i")
_LONGEST = 1 << 17
_PR_SET_NAME = 15
_ENVIRONMENT = dict(os.environ)
"""That of the run, whatever the test has set that is the first to start a program."""


class Program:
    """A program that has been started."""

    def __init__(self, status: int, stdout: int) -> None:
        self._status = status
        self.pid = self._said()
        self.stdout = open(stdout, encoding="utf-8")  # noqa: SIM115 - its reader closes it
        self.returncode: int | None = None

    def _said(self) -> int:
        number: int
        (number,) = _NUMBER.unpack(os.read(self._status, _NUMBER.size))
        return number

    def poll(self) -> int | None:
        """How it has ended, or None."""
        return self.wait(0) if self.returncode is None else self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        """How it has ended, or None where that takes longer."""
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            self.returncode = os.waitstatus_to_exitcode(self._said())
            os.close(self._status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it may end between the one and the other
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def started(
    *arguments: str | Path, stderr: int | None = None, most: tuple[int, int] | None = None, anew: bool = False
) -> Program:
    """`deniable` with these arguments. What it writes can be read; its errors go to a file of the caller's.

    `most`: how many files it may have open, and up to how many it may raise that. `anew`: it is a program that has to
    load everything itself, for what it loads, or from where, is not what this process would.
    """
    reading, stdout = os.pipe()
    status, told = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    scheduled = [os.sched_getscheduler(0), sorted(os.sched_getaffinity(0))] if hasattr(os, "SCHED_BATCH") else None
    asked = [[str(each) for each in arguments], str(Path.cwd()), dict(os.environ), scheduled, most, anew]
    files = [nothing, stdout, 2 if stderr is None else stderr, told]
    socket.send_fds(_template(), [json.dumps(asked).encode()], files)
    for file in (nothing, stdout, told):
        os.close(file)
    return Program(status, reading)


@cache
def _template() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "support.template", str(theirs.fileno())]
        room = Path(__file__).resolve().parents[1]
        process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], cwd=room, env=_ENVIRONMENT, stdin=subprocess.DEVNULL
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _be_template(channel: socket.socket) -> None:
    """Fork programs until nobody asks for one."""
    import uvloop  # noqa: F401 - as are the others: what programs need is there then

    import deniable_aggregator.commands
    import deniable_aggregator.serving.answering
    import deniable_aggregator.serving.supervisor
    import deniable_aggregator.web  # noqa: F401

    gc.collect()
    gc.freeze()  # no program looks through it again
    keepers: set[int] = set()
    while True:
        message, files, _, _ = socket.recv_fds(channel, _LONGEST, 4)
        if not message:
            break
        keeper = os.fork()
        if keeper == 0:
            channel.close()
            _be_keeper(message, files)
        for file in files:
            os.close(file)
        keepers.add(keeper)
        keepers = {each for each in keepers if os.waitpid(each, os.WNOHANG) == (0, 0)}
    for each in keepers:
        os.waitpid(each, 0)


def _be_keeper(message: bytes, files: Sequence[int]) -> None:
    *standard, status = files
    program = os.fork()
    if program == 0:
        os.close(status)
        for number, file in enumerate(standard):
            os.dup2(file, number)
            os.close(file)
        _be_program(*json.loads(message))
    for file in standard:
        os.close(file)
    os.write(status, _NUMBER.pack(program))
    os.write(status, _NUMBER.pack(os.waitpid(program, 0)[1]))
    os._exit(0)


def _be_program(
    arguments: list[str],
    room: str,
    environment: dict[str, str],
    scheduled: tuple[int, list[int]] | None,
    most: tuple[int, int] | None,
    anew: bool,
) -> None:
    from deniable_aggregator.commands import main

    if scheduled:
        ctypes.CDLL(None).prctl(_PR_SET_NAME, b"deniable", 0, 0, 0)
        os.sched_setscheduler(0, scheduled[0], os.sched_param(0))
        os.sched_setaffinity(0, scheduled[1])
    if most:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)
    os.chdir(room)
    if anew:
        command = str(Path(sys.executable).parent / "deniable")
        os.execve(command, [command, *arguments], environment)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["deniable", *arguments]
    sys.exit(main())


if __name__ == "__main__":
    _be_template(socket.socket(fileno=int(sys.argv[1])))
