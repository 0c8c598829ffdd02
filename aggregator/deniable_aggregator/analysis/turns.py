"""Turns: whose question is answered next, and how long it has the loop for itself.

words:
  asker  where questions come from: an address, without the port, since connections cost nothing
  slice  what is done between two turns of the loop, counted in counters as prices are

A few questions are answered at a time, of one asker at most two; a few more wait, and what is more is refused. Of
those that wait the next is the one that comes first when each asker is charged the prices of what it has asked: who
asks for much waits for who asks for little, but not for ever. Nothing is kept of an asker who neither asks nor waits.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

__all__ = ["SLICE", "BusyError", "Turn", "Turns"]

SLICE = 100_000
"""About two milliseconds."""
_AT_ONCE = 4
_AT_ONCE_EACH = 2
_WAITING = 64
_WAITING_EACH = 8


class BusyError(Exception):
    """Too many questions wait already."""


@dataclass(slots=True, eq=False)
class _Waiting:
    asker: str
    comes: int
    """When its turn comes, in counters: the least is next."""
    go: asyncio.Future[None]


class Turn:
    """A question that is being answered."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._slice = 0

    async def did(self, counters: int) -> None:
        """So much has been done: at the end of a slice, others have their turn."""
        self._turns.done += counters
        self._slice += counters
        if self._slice >= SLICE:
            self._slice = 0
            await asyncio.sleep(0)


@dataclass(slots=True, eq=False)
class Turns:
    """The questions of one process."""

    done: int = 0
    """What has been done for all of them so far."""
    _now: int = 0
    _charged: dict[str, int] = field(default_factory=dict)
    _running: Counter[str] = field(default_factory=Counter)
    _waiting: list[_Waiting] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def question(self, asker: str, price: int) -> AsyncIterator[Turn]:
        """A turn for a question, once it has one; a BusyError where too many wait."""
        await self._begin(asker, price)
        try:
            yield Turn(self)
        finally:
            self._running[asker] -= 1
            self._running += Counter()  # without those that have none
            self._next()
            self._forget(asker)

    def own(self) -> Turn:
        """A turn for what the aggregator asks itself, which nobody else chooses."""
        return Turn(self)

    async def _begin(self, asker: str, price: int) -> None:
        own = [each for each in self._waiting if each.asker == asker]
        if len(self._waiting) >= _WAITING or len(own) >= _WAITING_EACH:
            raise BusyError(f"{len(self._waiting)} questions wait already; ask again when some have been answered")
        comes = max(self._now, self._charged.get(asker, 0)) + price
        self._charged[asker] = comes
        waiting = _Waiting(asker, comes, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._next()
        try:
            await waiting.go
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            else:  # its turn had just come
                self._running[asker] -= 1
                self._next()
            self._forget(asker)
            raise

    def _next(self) -> None:
        """Give turns to those that come first."""
        for each in sorted(self._waiting, key=lambda waiting: waiting.comes):
            if self._running.total() >= _AT_ONCE:
                return
            if self._running[each.asker] < _AT_ONCE_EACH and not each.go.done():
                self._running[each.asker] += 1
                self._waiting.remove(each)
                self._now = max(self._now, each.comes)
                each.go.set_result(None)

    def _forget(self, asker: str) -> None:
        if not self._running[asker] and all(each.asker != asker for each in self._waiting):
            self._charged.pop(asker, None)
