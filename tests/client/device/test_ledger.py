"""The ledger: what is over budget, out of time or said before is refused, whatever clocks and versions do."""

from __future__ import annotations

import random
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from deniable import BudgetExceededError, Collection
from deniable.device.ledger import Ledger, charges, read, settle
from deniable.device.state import State, put
from support.device import Device

DAY = 86400
TEXT = """
[collection]
name = "ledger"
epoch = "1d"
owner = "o"
[budget]
epoch = 2.2
lifetime = 10.0
[metrics.one]
kind = "boolean"
description = "d"
epsilon = "ln 3"
[metrics.two]
kind = "boolean"
description = "d"
epsilon = "ln 3"
"""
DAILY = Collection.loads(TEXT)
HOURLY = Collection.loads(TEXT.replace('"1d"', '"1h"'))
WEEKLY = Collection.loads(TEXT.replace('"1d"', '"7d"'))
OTHER = Collection.loads(TEXT.replace('name = "ledger"', 'name = "other"'))
RICH = Collection.loads(TEXT.replace("lifetime = 10.0", ""))


def charged(state: State, collection: Collection, metric: str, epoch: int, *, remembered: bool = False) -> bool:
    """Whether the ledger lets a metric be answered for an epoch."""

    def work(connection: sqlite3.Connection) -> bool:
        try:
            Ledger(connection, collection).charge(collection.metrics[metric], epoch, remembered=remembered)
        except BudgetExceededError:
            return False
        return True

    return state.run(work)


def test_a_metric_is_answered_once_an_epoch() -> None:
    """The second time is refused and charged nothing, whatever was charged in between."""
    state = State(None)
    assert charged(state, DAILY, "one", 5)
    assert charged(state, DAILY, "two", 5)
    assert not charged(state, DAILY, "one", 5)
    assert charged(state, DAILY, "one", 6)
    assert not charged(state, DAILY, "one", 5), "the clock went back"
    assert charged(state, DAILY, "one", 4), "a time that nothing was said about"
    assert len(state.run(charges)) == 4


@pytest.mark.parametrize(
    ("first", "epoch", "then", "overlapping"),
    [
        (DAILY, 10, HOURLY, range(240, 264)),
        (HOURLY, 250, DAILY, [10]),
        (WEEKLY, 2, DAILY, range(14, 21)),
        (DAILY, 20, WEEKLY, [2]),
        (WEEKLY, 2, HOURLY, range(14 * 24, 21 * 24)),
    ],
    ids=["hours of a day", "the day of an hour", "days of a week", "the week of a day", "hours of a week"],
)
def test_a_moment_is_answered_for_once_even_where_epochs_change(
    first: Collection, epoch: int, then: Collection, overlapping: range | list[int]
) -> None:
    """An application that comes back with other epochs says nothing about a time that it has spoken of."""
    state = State(None)
    assert charged(state, first, "one", epoch)
    for other in overlapping:
        assert not charged(state, then, "one", other)
    assert charged(state, then, "one", min(overlapping) - 1)
    assert charged(state, then, "one", max(overlapping) + 1)


def test_the_budget_of_an_epoch_holds() -> None:
    """Metrics that overlap an epoch are added up: a version with other epochs does not get a budget of its own."""
    state = State(None)
    assert charged(state, DAILY, "one", 1)
    assert charged(state, DAILY, "two", 1)
    assert not charged(state, WEEKLY, "one", 0)
    tight = Collection.loads(TEXT.replace("epoch = 2.2", "epoch = 2.2\n#").replace('"1d"', '"7d"'))
    other = State(None)
    assert charged(other, DAILY, "one", 1)
    assert charged(other, DAILY, "one", 2)
    assert not charged(other, tight, "two", 0), "two answers of days in the week have spent it"


def test_the_budget_of_a_lifetime_holds() -> None:
    """At ln 3 an answer, ten epsilon are nine answers, ever, to whatever collection."""
    state = State(None)
    given = [charged(state, DAILY, metric, epoch) for epoch in range(20) for metric in ("one", "two")]
    assert given == [True] * 9 + [False] * 31
    assert not charged(state, OTHER, "one", 30)
    assert charged(state, RICH, "one", 30), "who promises no such limit has none"


def test_what_is_remembered_costs_nothing_and_has_its_line() -> None:
    """It is no reason to answer twice, but leaves the budgets alone."""
    state = State(None)
    assert all(charged(state, DAILY, "one", epoch, remembered=True) for epoch in range(50))
    assert not charged(state, DAILY, "one", 20, remembered=True)
    lines = state.run(charges)
    assert len(lines) == 50
    assert {line.epsilon for line in lines} == {0.0}


def test_costs_add_up_exactly_and_are_never_rounded_down() -> None:
    """A thousand answers at ln 3 cost what a thousand times its upper bound costs, to the last digit."""
    state = State(None)
    for epoch in range(1000):
        assert charged(state, RICH, "one", epoch)
    (cost,) = state.run(lambda connection: connection.execute("SELECT sum(cost) FROM charge").fetchone())
    one = DAILY.metrics["one"].epsilon.value
    assert Fraction(cost, 10**12) >= 1000 * one
    assert Fraction(cost, 10**12) - 1000 * one < Fraction(1000, 10**12)


def test_a_state_that_was_begun_anew_refuses_what_was_before() -> None:
    """The epoch in which it was begun counts as spent, and so does any that the clock goes back to."""
    state = State(None)
    state.run(lambda connection: put(connection, "not_before", 10.5 * DAY))
    assert not charged(state, DAILY, "one", 9)
    assert not charged(state, DAILY, "one", 10)
    assert charged(state, DAILY, "one", 11)


def test_old_lines_are_added_up_and_still_count() -> None:
    """After 400 days a metric's lines become one: what was spent and when stays what it was."""
    state = State(None)
    assert all(charged(state, DAILY, "one", epoch) for epoch in range(8))
    before = sum(line.epsilon for line in state.run(charges))
    state.run(lambda connection: settle(connection, (400 + 5) * DAY))
    lines = state.run(charges)
    assert [(line.start // DAY, line.seconds // DAY) for line in lines] == [(0, 5), (5, 1), (6, 1), (7, 1)]
    assert sum(line.epsilon for line in lines) == pytest.approx(before)
    assert not charged(state, DAILY, "one", 3)
    assert not charged(state, DAILY, "two", 3), "what was spent then is known in total only"
    assert not charged(state, DAILY, "one", 6)
    assert charged(state, DAILY, "two", 6)
    assert not charged(state, DAILY, "two", 100), "nine answers were given"
    state.run(lambda connection: settle(connection, (400 + 500) * DAY))
    assert [(line.metric, line.start, line.seconds // DAY) for line in state.run(charges)] == [
        ("one", 0, 8),
        ("two", 0, 7),
    ]


def test_whatever_the_clock_does_no_epoch_is_overspent() -> None:
    """After 1,000 jumps of clock, epoch length and name no moment is over budget, and none was spoken of twice."""
    chance = random.Random(7)
    state = State(None)
    text = TEXT.replace("lifetime = 10.0", "lifetime = 60.0")
    collections = [Collection.loads(text.replace('"1d"', f'"{epoch}"').replace('"ledger"', f'"{name}"'))
                   for epoch in ("1h", "1d", "7d") for name in ("ledger", "renamed")]  # fmt: skip
    for _ in range(1000):
        collection = chance.choice(collections)
        moment = chance.randrange(60 * DAY)
        charged(state, collection, chance.choice(["one", "two"]), moment // collection.epoch_seconds)
    lines = state.run(charges)
    assert len(lines) > 20
    assert sum(line.epsilon for line in lines) <= 60.0
    for hour in range(60 * 24):
        about = [line for line in lines if line.start <= hour * 3600 < line.start + line.seconds]
        assert len({line.metric for line in about}) == len(about)
        assert sum(line.epsilon for line in about) <= 2.2


def test_a_ledger_is_read_from_its_file(tmp_path: Path) -> None:
    """What `deniable ledger` shows is what the device has."""
    device = Device(DAILY, tmp_path / "device.db")
    device.answers({"one": True, "two": False}, range(3))
    assert read(tmp_path / "device.db") == device.ledger
    assert [line.metric for line in device.ledger] == ["one", "two"] * 3
