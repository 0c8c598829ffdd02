"""Waiting for what is to happen. Nothing else in the tests waits, and no bound is one that a slow machine reaches.

Machines that run tests are shared, busy, or allowed half a processor: what takes a millisecond here takes a second
there. A test therefore waits for an event, never for a time; its bound is there for a hang alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

__all__ = ["NEVER", "PATIENCE", "soon", "until"]

PATIENCE = 300.0
"""Seconds after which something is taken not to happen at all. pytest's own limit for a test is twice this."""
NEVER = 10 * PATIENCE
"""An interval that no test waits for."""
_FIRST, _GROWTH, _MOST = 0.002, 1.2, 0.1
"""Looks come quickly at first, and less often for what takes long: looking costs what is looked at."""


def _pauses(what: str) -> Iterator[float]:
    end, pause = time.monotonic() + PATIENCE, _FIRST
    while time.monotonic() < end:
        yield pause
        pause = min(pause * _GROWTH, _MOST)
    raise AssertionError(f"{what} has not come in {PATIENCE:g} s")


def soon(holds: Callable[[], object], what: str = "what a test waits for") -> None:
    """Return as soon as something holds."""
    for pause in _pauses(what):
        if holds():
            return
        time.sleep(pause)


async def until(holds: Callable[[], object], what: str = "what a test waits for") -> None:
    """The same, while a loop goes on."""
    for pause in _pauses(what):
        if holds():
            return
        await asyncio.sleep(pause)
