"""When a worker is relieved: it keeps memory and has nothing to do, or has more of it than it may, for a while."""

from __future__ import annotations

import os

from deniable_aggregator.serving.relief import _IDLE, _LOOKS, _MORE, Burden, Taken, taken_by

CALM = 1_000_000
MOST = 10 * CALM
STUCK = int(_MORE * CALM) + 1


def looked(burden: Burden, looks: int, memory: int, busy: float, begin: float = 0.0) -> list[bool]:
    """What it says, second after second, of a worker with so much memory that takes so much of a processor."""
    return [burden.look(Taken(memory, begin + (number + 1) * busy), 1.0) for number in range(looks)]


def begun() -> Burden:
    """Of a worker that has been calm."""
    burden = Burden(MOST)
    burden.look(Taken(CALM, 0.0), 1.0)
    return burden


def test_memory_that_an_idle_worker_keeps_is_stuck() -> None:
    """Not at once, and not for little."""
    assert looked(begun(), _LOOKS, STUCK, 0.0) == [False] * (_LOOKS - 1) + [True]
    assert not any(looked(begun(), 10 * _LOOKS, STUCK - 1, 0.0))


def test_a_busy_worker_needs_its_memory() -> None:
    """Whether it has a processor or waits for one."""
    assert not any(looked(begun(), 10 * _LOOKS, MOST, _IDLE))


def test_more_than_it_may_have_is_too_much_however_busy_it_is() -> None:
    """The setting is a bound in a flood, too."""
    assert looked(begun(), _LOOKS, MOST + 1, 1.0)[-1]


def test_a_pause_begins_anew() -> None:
    """One look at which it had given back what it had, or was busy."""
    burden = begun()
    assert not any(looked(burden, _LOOKS - 1, STUCK, 0.0))
    assert not any(looked(burden, 1, CALM, 0.0))
    assert not any(looked(burden, _LOOKS - 1, STUCK, 0.0))


def test_what_a_process_has_taken_is_what_linux_says() -> None:
    """Of this one, which has some memory and has used a processor; of none, nothing."""
    taken = taken_by(os.getpid())
    assert taken
    assert taken.memory > 1 << 20
    assert taken.seconds > 0
    assert taken_by(1 << 30) is None
