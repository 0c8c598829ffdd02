"""Batches that arrive together are stored together.

words:
  flush   batches that are checked, added up, stored and answered at once
  lane    the flushes of one shard, one after another: a shard that is slow delays no other
  ticket  where the outcome of a batch will be: its flush's future, and its place in it
  opened  bytes of the counters that a flush adds codewords to: for each epoch and segment of a collection those of
          all of its codewords, whose thousands of entries lie in memory until the flush is stored

A flush begins at once when its lane is idle, else when it is due, which depends on what the last one has cost
(`pace.py`). Its answers go out together, which costs fewer system calls than one by one (measured: a quarter of a
call's time). While every turn of the loop brings more batches, a flush that is due lets them come along for a
while: what it costs by itself is then shared by more. A flush that has begun is finished, whoever has stopped
waiting for it.

When the store does not answer a flush, all that waits in its lane is refused along with it: nobody waits for a
store that is away any longer than for one answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from deniable_aggregator.ingest.admission import Calendar
from deniable_aggregator.ingest.flush import Flush, Outcome, Stored
from deniable_aggregator.ingest.pace import Lately, Moments, Pace
from deniable_aggregator.ingest.refusal import BUSY, DRAINING, STORE_UNAVAILABLE, Refusal
from deniable_aggregator.ingest.rows import ROW_BYTES, Batch
from deniable_aggregator.ingest.stats import IngestStats
from deniable_aggregator.store import Store, StoreError, StoreUnavailable

__all__ = ["Batcher", "FlushSettings", "Ticket"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FlushSettings:
    """When a flush begins, and how much may wait."""

    interval: float = 0.0
    """Seconds from the beginning of one flush to the next, at the least, whatever flushes cost."""
    most_batches: int = 1000
    """A flush of so many batches is full."""
    most_bytes: int = 4 << 20
    """A flush of so many bytes of rows, and of what is opened for them, is full."""
    most_waiting: int = 20_000
    """So many batches may wait; further ones are refused."""
    most_waiting_bytes: int = 64 << 20
    """So many bytes of rows may wait; further batches are refused."""

    def __post_init__(self) -> None:
        if self.interval < 0 or min(self.most_batches, self.most_bytes) < 1:
            raise ValueError("a flush has an interval that is not negative, and room for at least one batch")
        if min(self.most_waiting, self.most_waiting_bytes) < 1:
            raise ValueError("at least one batch may wait")


class _Outcomes(asyncio.Future[list[Outcome]]):
    """The outcomes of a flush. Many wait for it: one that is cancelled takes nothing from the others."""

    def cancel(self, msg: Any | None = None) -> bool:  # noqa: ARG002
        return False


class Ticket(NamedTuple):
    """Where the outcome of a batch will be."""

    outcomes: asyncio.Future[list[Outcome]]
    place: int


class _Waiting:
    """The batches of one flush, before it begins; then what it has cost."""

    __slots__ = ("_groups", "batches", "opened", "outcomes", "size", "spent")

    def __init__(self) -> None:
        self._groups: set[tuple[int, int, int]] = set()
        self.batches: list[Batch] = []
        self.size = self.opened = 0
        self.outcomes = _Outcomes()
        self.spent = 0.0

    def take(self, batch: Batch, size: int) -> None:
        """One more."""
        self.batches.append(batch)
        self.size += size
        if batch.table.opened:
            group = batch.key.digest, batch.key.epoch, batch.segment
            self.opened += 0 if group in self._groups else batch.table.opened
            self._groups.add(group)


class _Metered(Coroutine[Any, Any, bool]):
    """A flush's work; every step of it adds what it has cost, and others' steps do not count."""

    def __init__(self, work: Coroutine[Any, Any, bool], waiting: _Waiting) -> None:
        self._work = work
        self._waiting = waiting

    def send(self, value: Any) -> Any:
        """Its next step."""
        before = time.thread_time()
        try:
            return self._work.send(value)
        finally:
            self._waiting.spent += time.thread_time() - before

    def throw(self, *error: Any) -> Any:
        """Its next step, which is told of an error."""
        before = time.thread_time()
        try:
            return self._work.throw(*error)
        finally:
            self._waiting.spent += time.thread_time() - before

    def close(self) -> None:
        """No more steps."""
        self._work.close()

    def __await__(self) -> Generator[Any, Any, bool]:
        raise TypeError("a task takes the steps of a flush")


class _Lane:
    """The flushes of one shard, one after another."""

    def __init__(
        self,
        settings: FlushSettings,
        pace: Pace,
        finish: Callable[[_Waiting], Coroutine[Any, Any, bool]],
        give_up: Callable[[_Waiting], None],
    ) -> None:
        self._settings = settings
        self._pace = pace
        self._finish = finish
        self._give_up = give_up
        self._queue: deque[_Waiting] = deque()
        self._next = Moments(0.0, 0.0, 0.0)
        self._lately: Lately | None = None
        self._looked, self._ran = time.perf_counter(), time.thread_time()
        self._seen = 0
        self._timer: asyncio.Handle | None = None
        self._task: asyncio.Task[bool] | None = None

    def put(self, batch: Batch, size: int) -> Ticket:
        """Let a batch wait for its flush."""
        queue = self._queue
        if not queue or self._full(queue[-1]):
            queue.append(_Waiting())
        waiting = queue[-1]
        place = len(waiting.batches)
        waiting.take(batch, size)
        if self._task is None and (self._timer is None or (len(queue) == 1 and self._full(waiting))):
            self._schedule()
        return Ticket(waiting.outcomes, place)

    async def drain(self) -> None:
        """Flush what waits, without waiting for more."""
        while self._queue or self._task:
            if self._task:
                await asyncio.wait({self._task})
            else:
                self._begin()

    def _full(self, waiting: _Waiting) -> bool:
        held = waiting.size + waiting.opened
        return len(waiting.batches) >= self._settings.most_batches or held >= self._settings.most_bytes

    def _schedule(self) -> None:
        self._forget_timer()
        loop = asyncio.get_running_loop()
        first = self._queue[0]
        self._seen = len(first.batches)
        delay = (self._next.room if self._full(first) else self._next.due) - time.perf_counter()
        if delay <= 0:
            self._timer = loop.call_soon(self._let_come)  # calls that have arrived in this turn still come along
        else:
            self._timer = loop.call_later(delay, self._let_come)

    def _let_come(self) -> None:
        """Begin, unless the last turn of the loop has brought more: then the next one may, too."""
        first = self._queue[0]
        if len(first.batches) == self._seen or self._full(first) or time.perf_counter() >= self._next.late:
            self._begin()
        else:
            self._seen = len(first.batches)
            self._timer = asyncio.get_running_loop().call_soon(self._let_come)

    def _forget_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _begin(self) -> None:
        self._forget_timer()
        waiting = self._queue.popleft()
        began = time.perf_counter()
        self._task = asyncio.create_task(_Metered(self._finish(waiting), waiting))
        self._task.add_done_callback(partial(self._ended, waiting, began))

    def _ended(self, waiting: _Waiting, began: float, task: asyncio.Task[bool]) -> None:
        self._task = None
        self._next = self._pace.after(began, waiting.spent, self._look(waiting.spent))
        if task.cancelled():
            return
        if error := task.exception():
            _LOG.error("a flush failed", exc_info=error)
        elif not task.result():
            while self._queue:
                self._give_up(self._queue.popleft())
        if self._queue:
            self._schedule()

    def _look(self, spent: float) -> Lately:
        """See how busy the loop has been since the flush before this one ended."""
        now, ran = time.perf_counter(), time.thread_time()
        elapsed, others = now - self._looked, ran - self._ran - spent
        busy = others / elapsed if elapsed else 1.0
        self._looked, self._ran = now, ran
        self._lately = self._lately.then(spent, busy) if self._lately else Lately(spent, busy)
        return self._lately


class Batcher:
    """Gathers batches, stores them and says what became of each."""

    def __init__(self, store: Store, calendar: Calendar, settings: FlushSettings, stats: IngestStats) -> None:
        self._store = store
        self._calendar = calendar
        self._settings = settings
        self._stats = stats
        self._waiting_bytes = 0
        self._draining = False
        self._failing: set[int] = set()
        pace = Pace(store.shards, settings.interval)
        self._lanes = [
            _Lane(settings, pace, partial(self._finish, shard), self._give_up) for shard in range(store.shards)
        ]

    def submit(self, batch: Batch) -> Ticket | Refusal:
        """A ticket for the outcome; or a refusal, when too much is waiting."""
        if self._draining:
            return DRAINING
        size = len(batch.rows) + batch.table.made
        if batch.wide_rows:
            size += sum(len(payload) for _, payload in batch.wide_rows)
        stats, settings = self._stats, self._settings
        if stats.waiting >= settings.most_waiting or self._waiting_bytes + size > settings.most_waiting_bytes:
            return BUSY
        stats.waiting += 1
        self._waiting_bytes += size
        return self._lanes[self._store.shard_of(batch.id)].put(batch, size)

    async def drain(self) -> None:
        """Take no more batches, and store those that wait."""
        self._draining = True
        for lane in self._lanes:
            await lane.drain()

    async def _finish(self, shard: int, waiting: _Waiting) -> bool:
        """Store a flush and say what became of it; whether the store has answered."""
        outcomes: list[Outcome] = [STORE_UNAVAILABLE] * len(waiting.batches)
        began = time.perf_counter()
        try:
            flush = Flush(waiting.batches)
            outcomes = flush.outcomes
            await flush.store(self._store, shard, self._calendar)
            self._note_store(shard, None)
        except StoreError as error:
            self._note_store(shard, error)
            return not isinstance(error, StoreUnavailable)
        finally:
            stats = self._stats
            stats.flushes += 1
            stats.flush_seconds.observe(time.perf_counter() - began)
            stats.flush_batches.observe(len(waiting.batches))
            self._tell(waiting, outcomes)
        return True

    def _give_up(self, waiting: _Waiting) -> None:
        self._tell(waiting, [STORE_UNAVAILABLE] * len(waiting.batches))

    def _tell(self, waiting: _Waiting, outcomes: list[Outcome]) -> None:
        self._waiting_bytes -= waiting.size
        self._count(waiting.batches, outcomes)
        waiting.outcomes.set_result(outcomes)

    def _note_store(self, shard: int, error: StoreError | None) -> None:
        if error:
            self._stats.store_errors[type(error).__name__] += 1
            if shard not in self._failing:
                _LOG.warning("the store takes no batches (shard %d): %s", shard, error)
            self._failing.add(shard)
        elif shard in self._failing:
            _LOG.warning("the store takes batches again (shard %d)", shard)
            self._failing.remove(shard)

    def _count(self, batches: list[Batch], outcomes: list[Outcome]) -> None:
        stats = self._stats
        stats.waiting -= len(batches)
        if outcomes.count(Stored.NOW) == len(batches):  # nearly always
            stats.accepted += len(batches)
            stats.reports += sum([len(batch.rows) // ROW_BYTES + len(batch.wide_rows) for batch in batches])
            stats.publish()
            return
        for batch, outcome in zip(batches, outcomes, strict=True):
            if outcome is Stored.NOW:
                stats.accepted += 1
                stats.reports += len(batch.rows) // ROW_BYTES + len(batch.wide_rows)
            elif outcome is Stored.BEFORE:
                stats.duplicate += 1
            else:
                stats.refused[outcome.reason] += 1
        stats.publish()
