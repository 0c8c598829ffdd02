"""The calendar: which epochs come in, and that an id is remembered for longer than its epoch does."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.payload import Symbol
from deniable_aggregator.ingest import Calendar, Layout

HOUR, DAY, WEEK = 3600, 86400, 7 * 86400


def layout(epoch_seconds: int) -> Layout:
    """A layout with epochs of some length."""
    return Layout("x", 1, epoch_seconds, 1, (("m", Symbol(2)),))


@pytest.mark.parametrize(
    ("now", "first", "last"),
    [
        (100 * DAY, 93, 100),
        (101 * DAY - 3601, 93, 100),
        (101 * DAY - 3600, 93, 101),
        (101 * DAY - 1, 93, 101),
        (101 * DAY, 94, 101),
        (0, 0, 0),
    ],
)
def test_what_is_accepted(now: float, first: int, last: int) -> None:
    """The current epoch, seven that have ended, and the next one an hour before it begins."""
    accepted = Calendar(clock=lambda: now).accepted(layout(DAY))
    assert (accepted[0], accepted[-1]) == (first, last)


@given(
    seconds=st.sampled_from([HOUR, DAY, WEEK]),
    late=st.integers(0, 30),
    ahead=st.floats(0, 10 * HOUR),
    now=st.floats(0, 4e9),
)
def test_an_id_outlives_the_acceptance_of_its_epoch(seconds: int, late: int, ahead: float, now: float) -> None:
    """At every moment at which an epoch is accepted, its ids are remembered until a whole epoch after that."""
    calendar = Calendar(accept_late=late, accept_ahead=ahead, clock=lambda: now)
    for epoch in calendar.accepted(layout(seconds)):
        remember, keep = calendar.lifetimes(layout(seconds), epoch)
        forgotten = Calendar(accept_late=late, accept_ahead=ahead, clock=partial(float, now + remember))
        assert epoch not in forgotten.accepted(layout(seconds))
        refused_since = (epoch + 1 + late) * seconds
        assert now + remember >= refused_since + seconds
        assert keep >= remember


def test_counters_are_kept_for_as_long_as_is_said() -> None:
    """Counters live until `keep` seconds after their epoch's end."""
    calendar = Calendar(keep=90 * DAY, clock=lambda: 100 * DAY + 100.0)
    assert calendar.lifetimes(layout(DAY), 98)[1] == 89 * DAY - 100


def test_a_collection_can_be_kept_for_another_time() -> None:
    """By its name, whatever its version; but never for less than its ids are remembered."""
    calendar = Calendar(keep=90 * DAY, keeps={layout(DAY).name: 30 * DAY}, clock=lambda: 100 * DAY + 100.0)
    assert calendar.lifetimes(layout(DAY), 98)[1] == 29 * DAY - 100
    assert calendar.lifetimes(replace(layout(DAY), name="other"), 98)[1] == 89 * DAY - 100
    short = replace(calendar, keeps={layout(DAY).name: 0})
    assert short.lifetimes(layout(DAY), 98)[1] == short.lifetimes(layout(DAY), 98)[0]


def test_spans_are_not_negative() -> None:
    """A calendar with a negative span is refused."""
    for wrong in ({"accept_late": -1}, {"accept_ahead": -1.0}, {"keep": -1.0}, {"keeps": {"editor": -1.0}}):
        with pytest.raises(ValueError, match="negative"):
            Calendar(**wrong)
