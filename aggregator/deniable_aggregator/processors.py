"""Which processor a worker keeps to, and how Linux runs the threads of one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

__all__ = ["processors_of", "take_turns"]


def processors_of(workers: int) -> Sequence[int | None]:
    """The processor of each worker; None for all, unless every processor gets as many workers as any other."""
    if hasattr(os, "sched_getaffinity"):
        with contextlib.suppress(OSError):  # a sandbox may forbid it
            ours = sorted(os.sched_getaffinity(0))
            if workers % len(ours) == 0:
                return ours * (workers // len(ours))
    return [None] * workers


def take_turns(processor: int | None) -> None:
    """Have Linux not interrupt a thread whenever another one has something to do, unless it was told otherwise; and
    keep them all to one processor, where there is one for this worker.

    gRPC's threads wake each other several times a call. Where workers use all processors, the one that wakes another
    would stop for it each time, or make another worker stop: nine switches a call, and few calls done together
    (measured in docs/decisions.md).
    """
    if hasattr(os, "SCHED_BATCH"):
        with contextlib.suppress(OSError):
            if os.sched_getscheduler(0) == os.SCHED_OTHER:
                os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    if processor is not None:
        with contextlib.suppress(OSError):  # or it has been taken away since
            os.sched_setaffinity(0, {processor})
