"""Starts `deniable` where its modules are loaded already: reading them takes two thirds of what a start takes.

words:
  template   a process with one thread, which has loaded what `deniable serve` loads, and begun nothing
  program    a process that is forked from it and runs the command, with arguments, files and environment of its own;
             the template waits for its end, and says how that was

A program differs from one that a shell starts in nothing but what it need not read, nor take apart in the end: it
shares its memory with the template, and each page of it would be copied first. What starts from nothing is seen in
tests of the command (tests/system/test_commands.py). Each process of a run has one template, if it needs any.
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
import threading
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path

__all__ = ["Program", "started"]

_NUMBER = struct.Struct("=i")
_LONGEST = 1 << 17
_PR_SET_NAME = 15
_UNHEARD = 120
"""How Python ends that could not write all that was said."""
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
    import deniable_aggregator.web

    deniable_aggregator.commands._parser()
    gc.collect()
    gc.freeze()  # no program looks through it again
    wakes, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    told: dict[int, int] = {}
    asked = True
    while asked or told:
        ready, _, _ = select.select([wakes, channel.fileno()] if asked else [wakes], [], [])
        if wakes in ready:
            os.read(wakes, _LONGEST)
            _tell_ends(told)
        if channel.fileno() in ready:
            message, files, _, _ = socket.recv_fds(channel, _LONGEST, 4)
            asked = bool(message)
            if asked:
                *standard, status = files
                program = _forked(message, standard, (channel.fileno(), wakes, waking, status, *told.values()))
                told[program] = status
                os.write(status, _NUMBER.pack(program))


def _forked(message: bytes, standard: Sequence[int], files: Sequence[int]) -> int:
    """A program that is what a message asks for, and has none of the template's files."""
    program = os.fork()
    if program == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for file in files:
            os.close(file)
        _be_program(message, standard)
    for file in standard:
        os.close(file)
    return program


def _tell_ends(told: dict[int, int]) -> None:
    """Say of every program that has ended how that was."""
    while told:
        program, how = os.waitpid(-1, os.WNOHANG)
        if program == 0:
            return
        status = told.pop(program)
        with contextlib.suppress(BrokenPipeError):  # nobody waits for it
            os.write(status, _NUMBER.pack(how))
        os.close(status)


def _be_program(message: bytes, standard: Sequence[int]) -> None:
    """Run what is asked for, and end as Python does, but for taking apart what is loaded."""
    for number, file in enumerate(standard):
        os.dup2(file, number)
        os.close(file)
    code = 1
    try:
        code = _run(*json.loads(message))
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001 - nobody else could tell of it
        traceback.print_exc()
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = _UNHEARD
    os._exit(code)


def _run(
    arguments: list[str],
    room: str,
    environment: dict[str, str],
    scheduled: tuple[int, list[int]] | None,
    most: tuple[int, int] | None,
    anew: bool,
) -> int:
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
    return main()


if __name__ == "__main__":
    _be_template(socket.socket(fileno=int(sys.argv[1])))
