"""Relief: when a fresh process is to take a worker's place, since it has memory that it can not give back.

words:
  relief  a fresh worker takes calls before the other one takes no more; that one stores and acknowledges what it has
          taken, and ends
  calm    the least memory that a worker has had since it takes calls
  stuck   a worker that has a good deal more than in calm, and next to nothing to do
  beyond  a worker that has more than it may (`--worker-memory`)

A flood leaves memory that is free and can not be given back: what gRPC and Python keep for the time after it lies
scattered over what came between (`giving_back.py`). A process that has just begun has none of that. Whoever wants to
have workers relieved all the time is kept from it: a worker is relieved once in five minutes at the most.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

__all__ = ["APART_SECONDS", "LOOK_SECONDS", "Burden", "Taken", "taken_by"]

LOOK_SECONDS = 1.0
APART_SECONDS = 300.0
_LOOKS = 15
"""So many looks on end: a worker has time to give back what it can, and a flood's pause is not its end."""
_MORE = 1.15
"""So many times the memory of calm is a good deal more. Where a worker asks for memory back, too."""
_IDLE = 0.25
"""With less of a processor, had and waited for, there is next to nothing to do."""
_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Taken(NamedTuple):
    """What a process has taken."""

    memory: int
    """Bytes, now."""
    seconds: float
    """Of a processor, since it began: those that it had, and those for which its loop was ready and others ran."""


def taken_by(pid: int) -> Taken | None:
    """What a process has taken; None where nobody tells, or there is no such process."""
    process = Path("/proc", str(pid))
    try:
        memory = int((process / "statm").read_text().split()[1]) * _PAGE_BYTES
        ticks = (process / "stat").read_text().rsplit(")", 1)[1].split()[11:13]
        waited = int((process / "schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return None
    return Taken(memory, sum(map(int, ticks)) * _TICK_SECONDS + waited)


class Burden:
    """What one worker has to bear, as it is looked at, and whether it is to be relieved of it."""

    def __init__(self, most: int) -> None:
        self._most = most
        """Bytes that it may have."""
        self._calm: int | None = None
        self._before: Taken | None = None
        self._looks = 0

    def look(self, now: Taken, seconds: float) -> bool:
        """Whether it is to be relieved, by what it has taken now; it was last looked at so many seconds ago."""
        before, self._before = self._before, now
        self._calm = now.memory if self._calm is None else min(self._calm, now.memory)
        idle = before is not None and now.seconds - before.seconds < _IDLE * seconds
        stuck = idle and now.memory > _MORE * self._calm
        self._looks = self._looks + 1 if stuck or now.memory > self._most else 0
        return self._looks >= _LOOKS
