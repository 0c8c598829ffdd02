"""Memory that is free is given back to the system: C's allocator keeps it, and a flood would be seen for ever.

words:
  calm   the least that a process has had in memory since it serves
  grown  a process that has a good deal more than that
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import sys
import time
from pathlib import Path

__all__ = ["Memory"]

_FIRST_PAUSE, _LAST_PAUSE = 1.0, 10.0
"""In seconds: it takes some milliseconds, beside the loop, and is tried more seldom while it does not help."""
_SHARE = 50
"""A fiftieth of the time is spent on it at the most: threads of gRPC wait meanwhile if they want memory."""
_COLLECT_SECONDS = 10.0
"""Python's own collector is asked more seldom: calls leave nothing for it, and the loop stands still meanwhile."""
_GROWN = 1.15
"""So many times the memory of calm is worth a try."""
_PAGES = Path("/proc/self/statm")


class Memory:
    """What this process has in memory, and what becomes of it."""

    def __init__(self) -> None:
        self._calm = self._now()

    @property
    def grown(self) -> bool:
        """Whether there is a good deal more of it than in calm."""
        return self._now() > _GROWN * self._calm

    async def keep_giving_back(self) -> None:
        """Give back what is free whenever there is more of it, for ever."""
        if sys.platform != "linux" or (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is None:
            return  # another allocator, which has its own ways
        pause, collected = _FIRST_PAUSE, 0.0
        while True:
            await asyncio.sleep(pause)
            self._calm = min(self._calm, before := self._now())
            if not self.grown:
                pause = _FIRST_PAUSE
                continue
            began = time.monotonic()
            if began - collected >= _COLLECT_SECONDS:
                gc.collect()
                collected = began
            await asyncio.to_thread(trim, 0)
            helped = before > _GROWN * self._now()
            pause = _FIRST_PAUSE if helped else min(2 * pause, _LAST_PAUSE)
            pause = max(pause, _SHARE * (time.monotonic() - began))

    @staticmethod
    def _now() -> int:
        """The bytes of this process that are in memory; none where nobody tells."""
        if sys.platform != "linux":
            return 0
        return int(_PAGES.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
