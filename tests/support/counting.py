"""What work costs, counted: the same on every machine, busy or not."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from deniable_aggregator.estimators import _words
from deniable_aggregator.estimators._decoding import searched

__all__ = ["Calls", "calls", "looked_at"]


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


def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many paths each search for words looks at, from here on in a test."""
    every: list[int] = []

    def counted(*arguments: Any) -> tuple[list[int], int]:
        found = searched(*arguments)
        every.append(found[1])
        return found

    monkeypatch.setattr(_words, "searched", counted)
    return every
