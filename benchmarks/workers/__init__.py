"""What runs in a worker, whatever library is there: nothing but the standard library may be imported here."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

__all__ = ["serve"]


def serve(tasks: dict[str, Callable[[int], None]]) -> None:
    """Each line names a task and how many times to do it; the answer is the nanoseconds that one time took."""
    for line in sys.stdin:
        name, times = line.split()
        work, count = tasks[name], int(times)
        start = time.process_time_ns()
        work(count)
        print((time.process_time_ns() - start) / count, flush=True)
