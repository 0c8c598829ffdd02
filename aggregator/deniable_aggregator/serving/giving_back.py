"""Memory that is free is given back to the system: C's allocator keeps it, and a flood would be seen for ever.

words:
  calm  the least that a process has had in memory since it serves
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import sys
from pathlib import Path

__all__ = ["keep_giving_back"]

_FIRST_PAUSE, _LAST_PAUSE = 5.0, 10.0
"""In seconds: it takes some milliseconds, beside the loop, and is tried more seldom while it does not help."""
_GROWN = 1.15
"""So many times the memory of calm is worth a try."""
_PAGES = Path("/proc/self/statm")


async def keep_giving_back() -> None:
    """Give back what is free whenever there is more of it, for ever."""
    if sys.platform != "linux" or (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is None:
        return  # another allocator, which has its own ways
    calm, pause = _memory(), _FIRST_PAUSE
    while True:
        await asyncio.sleep(pause)
        before = _memory()
        if before > _GROWN * calm:
            gc.collect()
            await asyncio.to_thread(trim, 0)
            helped = before > _GROWN * _memory()
            pause = _FIRST_PAUSE if helped else min(2 * pause, _LAST_PAUSE)
        calm = min(calm, _memory())


def _memory() -> int:
    """The bytes of this process that are in memory."""
    return int(_PAGES.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
