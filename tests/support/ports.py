"""Ports of 127.0.0.1 that are a process's own until it ends: nobody else is given them, or has them by chance.

words:
  given   a port that a process has asked for; that of a cluster's bus, 10,000 above it, is given with it
  claim   what says so to all other processes: a name in the system's abstract room, which ends with its process

A port that the system chooses, and that is let go again to be named on a command line, may be any connection's by
the time that it is listened on. Those that are given lie below the ones that the system gives to connections.
"""

from __future__ import annotations

import itertools
import random
import socket
from contextlib import ExitStack, suppress

__all__ = ["free_port"]

_FIRST, _AFTER, _BUS = 10_000, 20_000, 10_000
"""With their buses' they end at 30,000: Linux gives connections ports from 32,768 on."""
_CLAIMS: list[socket.socket] = []


def free_port() -> int:
    """A port that nobody listens on now, and that nobody else takes while this process lives."""
    for port in _in_turns():
        with suppress(OSError), ExitStack() as tried:
            claim = tried.enter_context(socket.socket(socket.AF_UNIX))
            claim.bind(f"\0deniable-port-{port}")
            for each in (port, port + _BUS):
                tried.enter_context(socket.socket()).bind(("127.0.0.1", each))
            _CLAIMS.append(claim.dup())
            return port
    raise AssertionError(f"all ports from {_FIRST} to {_AFTER - 1} are taken")


def _in_turns() -> itertools.chain[int]:
    """All of them, from anywhere on."""
    begin = random.SystemRandom().randrange(_FIRST, _AFTER)
    return itertools.chain(range(begin, _AFTER), range(_FIRST, begin))
