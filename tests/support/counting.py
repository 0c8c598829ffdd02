"""What work costs, counted: the same on every machine, busy or not."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType

__all__ = ["Calls", "calls"]


class Calls:
    """Counts the functions that a thread calls, Python's and C's, from `begin` to `end`, which that thread calls.

    Work on arrays calls as many for a million entries as for ten; work on entries, some for each. Nothing is
    collected meanwhile: the collector comes when it likes, and calls what others (as hypothesis does) have hooked in.
    """

    def __init__(self) -> None:
        self.number = 0
        self._collects = True

    def begin(self) -> None:
        """Count from here on."""
        self._collects = gc.isenabled()
        gc.disable()
        sys.setprofile(self._count)

    def end(self) -> None:
        """Count no more."""
        sys.setprofile(None)
        if self._collects:
            gc.enable()

    def _count(self, _frame: FrameType, event: str, _argument: object) -> None:
        self.number += event in {"call", "c_call"}


def calls(work: Callable[[], object]) -> int:
    """How many functions a piece of work calls."""
    counter = Calls()
    counter.begin()
    try:
        work()
    finally:
        counter.end()
    return counter.number
