"""Runs a program that does not outlive the process that started it; run as a script, by `embedded.py` alone.

    python parented.py become|watch PARENT_PID PROGRAM ARGUMENT...

become  (Linux) tells the kernel to kill the program with its parent, and becomes the program. The kernel
        means the parent's *thread*: the one that started the program has to live as long as the program may.
watch   (elsewhere) stays between the two, and kills the program when the other end of its standard input
        closes, which the parent's death does. Killing this very process and then the parent, both with
        SIGKILL, leaves the program behind.
"""

from __future__ import annotations

import os
import sys

__all__: list[str] = []

_PR_SET_PDEATHSIG = 1
_SIGKILL = 9
"""On every system. `signal`, which has a name for it, takes half as long to load as all of Python."""
_POLL_SECONDS = 0.2


def _become(parent: int, command: list[str]) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    # A parent that died before the kernel was told would not be noticed any more.
    if os.getppid() == parent:
        os.execv(command[0], command)  # noqa: S606  (a shell would only stand in between)


def _watch(parent: int, command: list[str]) -> int:
    import select
    import signal

    if os.getppid() != parent:
        return 1
    child = os.spawnv(os.P_NOWAIT, command[0], command)  # noqa: S606
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _frame: os.kill(child, number))
    inputs = [0]
    while True:
        readable, _, _ = select.select(inputs, [], [], _POLL_SECONDS)
        if readable and not os.read(0, 1):
            os.kill(child, _SIGKILL)
            inputs = []
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return abs(os.waitstatus_to_exitcode(status))


def main() -> int:
    """Become the program, or watch over it."""
    mode, parent, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    os.umask(0o077)
    if mode == "watch":
        return _watch(parent, command)
    _become(parent, command)
    return 1


if __name__ == "__main__":
    sys.exit(main())
