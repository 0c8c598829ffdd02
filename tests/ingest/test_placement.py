"""Placement: a worker that strangers keep from running lets its threads go, and tries again later."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from deniable_aggregator.serving.processors import Accounts, Placement, placing, take_turns


class Linux:
    """Counts what it is told, in looks of a second."""

    def __init__(self) -> None:
        self.accounts: Accounts | None = Accounts(0.0, 0.0)
        self.placed: list[bool] = []
        self.placement = Placement(self.placed.append, lambda: self.accounts)

    def second(self, waited: float, others: float = 0.0) -> bool:
        """A second in which the loop waited and other threads ran for so long; whether threads take turns then."""
        if self.accounts:
            self.accounts = Accounts(self.accounts.waited + waited, self.accounts.others + others)
        self.placement.look(1.0)
        return self.placement.turns


def test_a_worker_that_is_kept_from_running_lets_go() -> None:
    """A tenth of the time is much, for five looks on end; to wait for one's own threads is not to be kept."""
    linux = Linux()
    assert linux.second(waited=0.09)
    assert linux.second(waited=0.6, others=0.55)
    assert linux.placed == []
    assert all(linux.second(waited=0.6, others=0.45) for _ in range(4))
    assert linux.second(waited=0.0)
    assert [linux.second(waited=0.6, others=0.45) for _ in range(5)] == [True] * 4 + [False]
    assert linux.placed == [False]


def test_it_tries_again_and_more_and_more_seldom_where_that_fails() -> None:
    """Beside a neighbour that stays, ever fewer seconds are lost; where it is gone, threads take turns for good."""
    linux = Linux()
    taken = [linux.second(waited=0.5) for _ in range(5000)]
    tries = [number for number, (before, turns) in enumerate(itertools.pairwise(taken)) if turns and not before]
    gaps = [later - earlier for earlier, later in itertools.pairwise(tries)]
    assert gaps[0] < gaps[1] < gaps[2]
    assert len(tries) <= 15
    for _ in range(1000):
        linux.second(waited=0.0)
    assert linux.placement.turns
    assert linux.placed[-1]


def test_where_nothing_is_counted_everything_stays() -> None:
    """Some sandboxes have no such accounts."""
    linux = Linux()
    linux.accounts = None
    assert all(linux.second(waited=1.0) for _ in range(100))


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="Linux alone has these policies")
def test_all_threads_are_placed() -> None:
    """Threads that run already are let go along with the first, and taken back."""
    began, end = threading.Event(), threading.Event()

    def policies() -> set[int]:
        take_turns(None)
        place = placing(None)

        def run() -> None:
            began.set()
            end.wait()

        other = threading.Thread(target=run)
        other.start()
        began.wait()
        assert place
        assert other.native_id
        found = [os.sched_getscheduler(other.native_id)]
        for turns in (False, True):
            place(turns)
            found.append(os.sched_getscheduler(other.native_id))
        place(False)
        end.set()
        other.join()
        assert found == [os.SCHED_BATCH, os.SCHED_OTHER, os.SCHED_BATCH]
        return {os.sched_getscheduler(0)}

    with ThreadPoolExecutor(1) as thread:  # policies are a thread's
        assert thread.submit(policies).result() == {os.SCHED_OTHER}


def test_what_linux_counts_only_grows() -> None:
    """What is counted for a process of which no thread ends is there, and no later look has less."""
    program = (
        "import json; from deniable_aggregator.serving.processors import accounts; "
        "print(json.dumps([accounts(), accounts()]))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    first, second = json.loads(shown)
    assert (first is None) == (second is None)
    if first and second:
        assert 0 <= first[0] <= second[0]
        assert 0 <= first[1] <= second[1]
