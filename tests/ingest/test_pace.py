"""The pace of flushes: simulated on a clock of its own, for hosts and stores of every speed; then lanes on a loop."""

from __future__ import annotations

import asyncio
import itertools
import selectors
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from deniable_aggregator.ingest import Calendar, FlushSettings, IngestStats
from deniable_aggregator.ingest import batcher as batchers
from deniable_aggregator.ingest.batcher import Batcher
from deniable_aggregator.ingest.flush import Stored
from deniable_aggregator.ingest.pace import MOST_SHARE, Lately, Pace, meant_share
from deniable_aggregator.ingest.rows import Batch, Lookup
from deniable_aggregator.store import EpochKey, Store
from support.aggregator_server import LAYOUT

MOST = FlushSettings().most_batches
MOST_WAITING = FlushSettings().most_waiting
FIXED = (0.0002, 0.0005, 0.002, 0.02)
EACH = (5e-6, 15e-6, 50e-6)
STORE = (0.0001, 0.002, 0.05)
RATES = (1, 200, 2000, 12_000, 100_000)
CALL = 80e-6
PATIENCE = 0.005
"""What nobody waits longer than for the sake of cheap flushes, unless half of the loop would go to them."""
FLUSHES = 100


@dataclass
class Lane:
    """One lane, with arrivals at even distances, on a clock that only counts."""

    fixed: float
    each: float
    store: float
    rate: float
    call: float = 0.0
    """What a call takes of the loop before its batch waits."""
    crowd: bool = False
    """Every turn of the loop brings more, as long as a flush lets them come."""
    two_ways: bool = False
    """Few batches are flushed in another way, with a lower cost of its own and a higher one for each."""
    began: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    spent: list[float] = field(default_factory=list)
    longest: float = 0.0
    """The longest that a batch has waited for its flush to begin while nothing was refused."""
    waiting: float = 0.0
    most_waiting: float = 0.0
    refused: float = 0.0

    def run(self, flushes: int, backlog: int = 0) -> Lane:
        """So many flushes, the first of which finds a backlog."""
        pace, now, free = Pace(), 0.0, 0.0
        lately: Lately | None = None
        moments = pace.after(0.0, 0.0)
        self.waiting = max(backlog, 1)
        for _ in range(flushes):
            due = moments.late if self.crowd else moments.due
            filled = now + max(MOST - self.waiting, 0) / self.rate
            begin = max(min(due, max(moments.room, filled)), free, now)
            if self.waiting < 1:
                begin = max(begin, now + (1 - self.waiting) / self.rate)
            self._come(begin - now)
            size = min(int(self.waiting + 1e-6), MOST)
            self.waiting -= size
            self.longest = max(self.longest, begin - max(now, free))
            spent = self.fixed + self.each * size
            if self.two_ways:
                spent = min(spent, self.fixed / 4 + 6 * self.each * size)
            free = begin + spent + self.store
            self._come(free - begin)
            now = free
            lately = lately.then(spent, self.busy()) if lately else Lately(spent, self.busy())
            moments = pace.after(begin, spent, lately)
            self.began.append(begin)
            self.sizes.append(size)
            self.spent.append(spent)
        return self

    def _come(self, seconds: float) -> None:
        self.waiting += self.rate * seconds
        self.refused += max(self.waiting - MOST_WAITING, 0)
        self.waiting = min(self.waiting, MOST_WAITING)
        self.most_waiting = max(self.most_waiting, self.waiting)

    def busy(self) -> float:
        """What calls take of the loop."""
        return min(self.rate * self.call, 1.0)

    def share(self, first: int, last: int) -> float:
        """What flushing takes of the loop from one flush's beginning to another's."""
        return sum(self.spent[first:last]) / (self.began[last] - self.began[first])

    def steady(self) -> float:
        """Batches a flush, in the end."""
        return sum(self.sizes[-200:]) / 200


@pytest.mark.parametrize("crowd", [False, True])
@pytest.mark.parametrize(("fixed", "each"), list(itertools.product(FIXED, EACH)))
def test_flushing_takes_no_more_than_its_share_and_has_one_state(fixed: float, each: float, crowd: bool) -> None:
    """Between any two flushes flushing takes half of the loop at the most, and much less where a little patience is
    enough for that; it ends in the same state whether it begins with nothing or with a backlog."""
    for store, rate in itertools.product(STORE, RATES):
        lane = Lane(fixed, each, store, rate, CALL, crowd).run(FLUSHES)
        for first in range(FLUSHES - 1):
            assert lane.share(first, first + 1) <= MOST_SHARE + 1e-9
        meant = meant_share(lane.busy())
        if fixed <= PATIENCE * meant and rate * each < meant / 2:
            assert lane.share(FLUSHES // 2, FLUSHES - 1) <= meant + rate * each
        if rate * (each / MOST_SHARE) >= 0.9:
            continue  # there is no room for what comes, and no state to end in
        for two_ways in (False, True):
            lane = Lane(fixed, each, store, rate, CALL, crowd, two_ways).run(5 * FLUSHES)
            if not lane.refused:
                other = Lane(fixed, each, store, rate, CALL, crowd, two_ways).run(5 * FLUSHES, backlog=MOST_WAITING)
                assert other.steady() == pytest.approx(lane.steady(), rel=0.02, abs=0.1)


@pytest.mark.parametrize(("fixed", "each"), list(itertools.product(FIXED, EACH)))
def test_what_waits_is_bounded(fixed: float, each: float) -> None:
    """Nothing is refused that half of the loop and the store can take, and nobody waits for company longer than for
    a few milliseconds, or twice what a flush costs."""
    for store, rate in itertools.product(STORE, RATES):
        lane = Lane(fixed, each, store, rate).run(FLUSHES)
        assert lane.most_waiting <= MOST_WAITING
        full = max((fixed + each * MOST) / MOST_SHARE, fixed + each * MOST + store)
        if rate < 0.95 * MOST / full:
            assert not lane.refused
            assert lane.most_waiting <= 2 * MOST
        assert lane.longest <= max(PATIENCE, 2 * max(lane.spent)) + 1 / rate + 1e-9


def test_batches_wait_for_each_other_where_calls_want_the_loop() -> None:
    """At one rate, with one cost of a flush: where calls leave all of the loop, flushes are as soon as an eighth of
    it allows; where they leave nothing, flushes take a twentieth; and in between something in between."""
    shares = []
    for call in (0.0, 100e-6, 200e-6, 300e-6, 400e-6, 500e-6):
        lane = Lane(0.0001, 5e-6, 0.0001, 2000, call).run(5 * FLUSHES)
        shares.append(lane.share(4 * FLUSHES, 5 * FLUSHES - 1))
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(1 / 8, rel=0.1)
    assert shares[-1] == pytest.approx(1 / 20, rel=0.1)


def test_one_dear_flush_is_not_taken_for_all() -> None:
    """What flushes usually cost sets how far apart they are meant to be; what the last one has cost is paid for."""
    usual = Lately(0.0001, 0.0)
    moments = Pace().after(1.0, 0.0004, usual.then(0.0004, 0.0))
    assert moments.room == pytest.approx(1.0008)
    assert moments.due == pytest.approx(1.0 + 8 * (0.0001 + 0.0003 / 8))


def test_an_idle_loop_keeps_nobody_waiting() -> None:
    """Where batches come one by one, each is a flush of its own, and begins at once."""
    for fixed, each, store in itertools.product(FIXED[:2], EACH, STORE):
        lane = Lane(fixed, each, store, rate=10).run(FLUSHES)
        assert set(lane.sizes) == {1}
        assert lane.longest <= 1 / 10 + 1e-9


def test_the_flushes_of_many_lanes_share_the_loop() -> None:
    """With eight lanes each leaves eight times as much room; an interval is kept besides, unless a flush is full."""
    alone, together = Pace().after(1.0, 0.02), Pace(lanes=8).after(1.0, 0.02)
    assert alone.room - 1.0 == pytest.approx(0.04)
    assert together.room - 1.0 == pytest.approx(8 * 0.04)
    least = Pace(least=0.5).after(1.0, 0.02)
    assert least.room == pytest.approx(1.04)
    assert least.due == pytest.approx(1.5)


class Simulated(asyncio.SelectorEventLoop):
    """A loop on which nothing takes time but what says so, and which sleeps by setting its clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.worked = 0.0
        """What its thread has run."""
        super().__init__(_Sleeper(self))

    def time(self) -> float:
        """Its own clock."""
        return self.now

    def work(self, seconds: float) -> None:
        """Run for so long."""
        self.now += seconds
        self.worked += seconds


class _Sleeper(selectors.SelectSelector):
    def __init__(self, loop: Simulated) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        """Sleep until something is due."""
        assert timeout is not None, "nothing would ever happen again"
        self._loop.now += timeout
        return []


@dataclass
class Work:
    """Stands for flushes: what they cost passes on the loop's clock, what the store takes passes beside it."""

    loop: Simulated
    fixed: float
    each: float
    store_seconds: float
    began: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)

    def __call__(self, batches: Sequence[Batch]) -> Work:
        """A flush."""
        self.began.append(self.loop.now)
        self.sizes.append(len(batches))
        self.loop.work(self.fixed / 2 + self.each * len(batches))
        self.outcomes = [Stored.NOW] * len(batches)
        return self

    async def store(self, *_: object) -> None:
        """Wait as one waits for the store, and then do the rest of the work."""
        await asyncio.sleep(self.store_seconds)
        self.loop.work(self.fixed / 2)
        self.ended.append(self.loop.now)

    def share(self) -> float:
        """What flushing took of the loop; the last flush is that of a drain, and waits for nothing."""
        spent = self.fixed * (len(self.sizes) - 2) + self.each * sum(self.sizes[:-2])
        return spent / (self.began[-2] - self.began[0])


def simulated(
    monkeypatch: pytest.MonkeyPatch,
    costs: tuple[float, float, float],
    gap: float,
    batches: int,
    turns: bool = False,
    call: float = 0.0,
) -> tuple[Work, IngestStats]:
    """A batcher whose flushes cost so much, and to which batches come so far apart, in time or turn by turn; each
    comes with a call that takes its time of the loop."""
    loop = Simulated()
    work, stats = Work(loop, *costs), IngestStats()
    with monkeypatch.context() as patch:
        patch.setattr(batchers, "Flush", work)
        patch.setattr(batchers, "time", SimpleNamespace(thread_time=lambda: loop.worked, perf_counter=loop.time))
        batcher = Batcher(Store("redis://127.0.0.1:1"), Calendar(), FlushSettings(), stats)
        table = Lookup(LAYOUT)

        async def come() -> None:
            for number in range(batches):
                batcher.submit(Batch(number.to_bytes(16, "big"), table, EpochKey(1, 1), 0, bytes(8), ()))
                loop.work(gap if turns else call)  # in turns: and the next one is there already
                await asyncio.sleep(0 if turns else gap - call)
            await batcher.drain()

        loop.run_until_complete(come())
        loop.close()
    return work, stats


@pytest.mark.parametrize("fixed", [0.0002, 0.002, 0.02])
def test_dear_flushes_leave_a_loop_its_half(monkeypatch: pytest.MonkeyPatch, fixed: float) -> None:
    """What a flush costs on the loop is what counts, however long the store takes; everything is stored."""
    for store_seconds in (0.0001, 0.01):
        work, stats = simulated(monkeypatch, (fixed, 20e-6, store_seconds), gap=0.0005, batches=4000)
        assert work.share() <= MOST_SHARE + 1e-9
        assert (stats.accepted, stats.waiting) == (4000, 0)


def test_cheap_flushes_are_no_further_apart_than_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """At two thousand batches a second a flush gathers those of a few milliseconds."""
    work, _ = simulated(monkeypatch, (0.0002, 5e-6, 0.0005), gap=0.0005, batches=2000)
    assert max(work.sizes) <= 1 + PATIENCE / 0.0005
    work, _ = simulated(monkeypatch, (0.0002, 5e-6, 0.0005), gap=0.05, batches=50)
    assert set(work.sizes) == {1}


def test_flushes_take_of_the_loop_what_calls_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """At two thousand calls a second that take a quarter of the loop, flushes are twice as many as where calls take
    all but a tenth of it: a batch that might as well be stored does not wait for others."""
    costs, gap, batches = (0.0002, 5e-6, 0.0002), 0.0005, 4000
    spare, _ = simulated(monkeypatch, costs, gap, batches, call=gap / 4)
    scarce, _ = simulated(monkeypatch, costs, gap, batches, call=gap * 0.9)
    assert 2 * len(scarce.sizes) <= len(spare.sizes)
    assert spare.share() <= 1 / 8
    assert scarce.share() <= 1 / 16


def test_a_crowd_comes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every turn of the loop brings a batch, flushes gather twice as long, and no longer."""
    work, _ = simulated(monkeypatch, (0.0005, 5e-6, 0.0001), gap=0.0001, batches=8000, turns=True)
    distances = [later - earlier for earlier, later in itertools.pairwise(work.began[2:-2])]
    assert min(distances) >= 1.9 * PATIENCE
    assert max(distances) <= 2.1 * PATIENCE
