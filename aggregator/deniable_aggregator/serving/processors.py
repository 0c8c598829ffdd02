"""Which processor a worker keeps to, and how Linux runs the threads of one.

words:
  placement  how a worker's threads are run: they take turns, on one processor where there is one for each worker; or
             they are let go, and run as everybody else's
  kept       the time that a worker's loop wanted to run and strangers ran instead, as Linux accounts for it

To take turns is cheaper, and to keep to a processor is, too: but who does not interrupt others waits for them, and
who keeps to a processor can not go elsewhere. Beside a busy neighbour that costs more than it gains. So a worker
looks at what it was kept from, lets go where that is much, and tries again later.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "Accounts",
    "Placement",
    "accounts",
    "leave_none",
    "placing",
    "processors_of",
    "take_turns",
    "waited",
]

_KEPT_SHARE = 1 / 10
"""So much of its time a loop may be kept from running before its threads are let go."""
_KEPT_LOOKS = 5
"""In so many looks on end: to start is a busy time, and so are other short ones."""
_LOOKS_APART = 30
"""After so many looks threads that were let go take turns again, to see; after twice as many each time that fails."""
_MOST_LOOKS_APART = 16 * _LOOKS_APART
_ALLOWED = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
"""The processors that whoever has started this process lets it use."""
_TASKS, _OWN = Path("/proc/self/task"), Path("/proc/self/schedstat")


def processors_of(workers: int) -> Sequence[int | None]:
    """The processor of each worker; None for all, unless every processor gets as many workers as any other."""
    if hasattr(os, "sched_getaffinity"):
        with contextlib.suppress(OSError):  # a sandbox may forbid it
            ours = sorted(os.sched_getaffinity(0))
            if workers % len(ours) == 0:
                return ours * (workers // len(ours))
    return [None] * workers


def leave_none(workers: int) -> bool:
    """Whether so many workers leave no processor to anybody: one that has others to go to need not take turns."""
    if hasattr(os, "sched_getaffinity"):
        with contextlib.suppress(OSError):
            return workers >= len(os.sched_getaffinity(0))
    return True


class Accounts(NamedTuple):
    """What Linux has counted for this process since it began, in seconds."""

    waited: float
    """For which the loop's thread, the first, was ready to run and did not."""
    others: float
    """For which the other threads ran: on one processor the loop waits for them, too, and they are no strangers."""


def accounts() -> Accounts | None:
    """What has been counted until now; None where nothing is."""
    waited = others = 0
    try:
        for task in _TASKS.iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
                ran, behind, _ = map(int, (task / "schedstat").read_text().split())
                if int(task.name) == os.getpid():
                    waited = behind
                else:
                    others += ran
    except (OSError, ValueError):
        return None
    return Accounts(waited / 1e9, others / 1e9)


def waited() -> float:
    """For how many seconds the loop's thread, the first, was ready to run and did not; 0 where nobody counts."""
    try:
        return int(_OWN.read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class Placement:
    """Whether a worker's threads take turns, by what its loop was kept from."""

    def __init__(
        self,
        place: Callable[[bool], None],
        read: Callable[[], Accounts | None] = accounts,
    ) -> None:
        self.turns = True
        """They take turns now."""
        self._place = place
        self._read = read
        self._before = read()
        self._looks = 0
        self._kept = 0
        self._apart = _LOOKS_APART

    def look(self, seconds: float) -> None:
        """Look at what has been counted in the last seconds, and place the threads anew where that asks for it."""
        before, now = self._before, self._read()
        self._before = now
        if before is None or now is None:
            return
        self._looks += 1
        if self.turns:
            kept = now.waited - before.waited - (now.others - before.others)
            self._kept = self._kept + 1 if kept > _KEPT_SHARE * seconds else 0
            if self._kept >= _KEPT_LOOKS:
                if self._looks > _LOOKS_APART:
                    self._apart = _LOOKS_APART  # it went well for a while
                self._change(turns=False)
        elif self._looks >= self._apart:
            self._apart = min(2 * self._apart, _MOST_LOOKS_APART)
            self._change(turns=True)

    def _change(self, *, turns: bool) -> None:
        self.turns, self._looks, self._kept = turns, 0, 0
        self._place(turns)


def placing(processor: int | None) -> Callable[[bool], None] | None:
    """What places all threads of this process, that take turns already; None where it was told otherwise."""
    if not hasattr(os, "SCHED_BATCH") or os.sched_getscheduler(0) != os.SCHED_BATCH:
        return None

    def place(turns: bool) -> None:
        everywhere = _ALLOWED
        for task in _TASKS.iterdir():
            with contextlib.suppress(OSError):
                policy = os.SCHED_BATCH if turns else os.SCHED_OTHER
                os.sched_setscheduler(int(task.name), policy, os.sched_param(0))
                if processor is not None:
                    os.sched_setaffinity(int(task.name), {processor} if turns else everywhere)

    return place


def take_turns(processor: int | None) -> None:
    """Have Linux not interrupt a thread whenever another one has something to do, unless it was told otherwise; and
    keep them all to one processor, where there is one for this worker.

    gRPC's threads wake each other several times a call. Where workers use all processors, the one that wakes another
    would stop for it each time, or make another worker stop: nine switches a call, and few calls done together
    (measured in docs/decisions.md). Where they leave one, who interrupts nobody only waits for others' turns.
    """
    if hasattr(os, "SCHED_BATCH"):
        with contextlib.suppress(OSError):
            if os.sched_getscheduler(0) == os.SCHED_OTHER:
                os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    if processor is not None:
        with contextlib.suppress(OSError):  # or it has been taken away since
            os.sched_setaffinity(0, {processor})
