"""Dates: which epochs they mean, by the length of the epoch, and what is said where they mean none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from deniable_aggregator.analysis.dates import Dates, moment_of, window

HOUR, DAY, WEEK = 3600, 86_400, 7 * 86_400
NOW = datetime(2026, 11, 19, 15, 30, tzinfo=UTC).timestamp()
TODAY = 20_776
"""The 19th of November 2026, a Thursday: with it a week begins."""


def asked(said: Dates, seconds: int = DAY, newest: int | None = None) -> tuple[int, int]:
    """The last epoch and the number of epochs."""
    found = window(said, seconds, NOW, int(NOW // seconds) if newest is None else newest)
    assert (found.start, found.end, found.last) == ("", "", "")
    return found.last_epoch, found.epochs


@pytest.mark.parametrize(
    ("said", "last_epoch", "epochs"),
    [
        (Dates(last="7"), 0, 7),
        (Dates(last="7d"), 0, 7),
        (Dates(last="2w"), 0, 14),
        (Dates(last="48h"), 0, 2),
        (Dates(start="2026-11-13"), TODAY, 7),
        (Dates(start="yesterday"), TODAY, 2),
        (Dates(start="2026-11-13", end="2026-11-14"), TODAY - 5, 2),
        (Dates(start="2026-11-13", end="today"), TODAY, 7),
        (Dates(start="2026-11-13", last_epoch=TODAY - 3), TODAY - 3, 4),
        (Dates(end="2026-11-14"), TODAY - 5, 0),
        (Dates(end="2026-11-14", last="3d"), TODAY - 5, 3),
        (Dates(end="2026-11-30", start="2026-11-01"), TODAY + 11, 30),
        (Dates(end="1970-01-02"), 1, 0),
        (Dates(epochs=3, last_epoch=TODAY), TODAY, 3),
    ],
)
def test_days(said: Dates, last_epoch: int, epochs: int) -> None:
    """A day is its epoch; a span is counted in days; what ends in the future is asked for as it is."""
    assert asked(said) == (last_epoch, epochs)


@pytest.mark.parametrize(
    ("said", "hours"),
    [
        (Dates(start="2026-11-19T13:00", end="2026-11-19T14:00"), 2),
        (Dates(start="2026-11-19 13", end="2026-11-19T14:00:00Z"), 2),
        (Dates(start="2026-11-18", end="2026-11-18"), 24),
        (Dates(start="2026-11-18", end="2026-11-19T00:00"), 25),
        (Dates(start="today"), 16),
        (Dates(last="1d"), 24),
        (Dates(last="12h"), 12),
        (Dates(last="1w"), 168),
    ],
)
def test_hours(said: Dates, hours: int) -> None:
    """An hour is its epoch; a day is all of its hours, up to the newest."""
    assert asked(said, HOUR)[1] == hours


def test_the_ends_of_a_day_of_hours() -> None:
    """It begins with its first hour and ends with its last."""
    assert asked(Dates(start="2026-11-18", end="2026-11-18"), HOUR) == (TODAY * 24 - 1, 24)
    assert asked(Dates(end="2026-11-18"), HOUR)[0] == TODAY * 24 - 1


def test_weeks() -> None:
    """Weeks begin on Thursdays, and any of its days means a week."""
    week = TODAY // 7
    assert moment_of(week, WEEK) == "2026-11-19"
    assert asked(Dates(end="2026-11-18"), WEEK) == (week - 1, 0)
    assert asked(Dates(start="2026-11-01"), WEEK) == (week, 4)
    assert asked(Dates(last="2w"), WEEK) == asked(Dates(last="14d"), WEEK) == (0, 2)


def test_a_window_ends_with_the_newest_epoch_unless_it_begins_after_it() -> None:
    """The newest that is well under way can be yesterday; who asks from today on means today."""
    assert asked(Dates(start="2026-11-17"), newest=TODAY - 1) == (TODAY - 1, 2)
    assert asked(Dates(start="today"), newest=TODAY - 1) == (TODAY, 1)


@pytest.mark.parametrize(
    ("said", "seconds", "words"),
    [
        (Dates(start="19.11.2026"), DAY, "not '19.11.2026'; did you mean 2026-11-19?"),
        (Dates(start="2026/11/9"), DAY, "did you mean 2026-11-09?"),
        (Dates(start="20261119"), DAY, "did you mean 2026-11-19?"),
        (Dates(start="2026-02-30"), DAY, "did you mean 2026-02-28?"),
        (Dates(start="2026-13-01"), DAY, "not '2026-13-01'"),
        (Dates(start="Yesteday"), DAY, "did you mean yesterday?"),
        (Dates(end="20769"), DAY, "not '20769': the number of an epoch goes with last_epoch=20769"),
        (Dates(start="2026-11-19T14:00"), DAY, "from: epochs are days here, and are named by a day: 2026-11-19, not"),
        (Dates(start="2026-11-19T14:00"), WEEK, "epochs are weeks here"),
        (Dates(start="2026-11-19T14:30"), HOUR, "epochs are whole hours, such as 2026-11-19T14:00, not"),
        (Dates(start="2026-11-19T24:00"), HOUR, "an hour such as 2026-11-19T14:00"),
        (Dates(start="٢٠٢٦-11-19"), DAY, "takes a day"),
        (Dates(start="1969-12-31"), DAY, "is too long ago: 1970-01-02 is the first that can be named"),
        (Dates(end="1970-01-01"), DAY, "to: 1970-01-01 is too long ago"),
        (Dates(start="2027-11-01"), DAY, "from: 2027-11-01 is still to come: it is 2026-11-19 now"),
        (Dates(start="2026-11-19", end="2026-11-13"), DAY, "from 2026-11-19 is after to 2026-11-13: say them"),
        (Dates(start="2026-11-13", last="7d"), DAY, "from and last both say where the window begins"),
        (Dates(start="2026-11-13", epochs=7), DAY, "from and last both say where the window begins"),
        (Dates(end="2026-11-13", last_epoch=7), DAY, "to and last_epoch both say where the window ends"),
        (Dates(last="7d", epochs=7), DAY, "last and epochs both say how long the window is"),
        (Dates(last="36h"), DAY, "last: 36h is no whole number of days: 1d or 2d"),
        (Dates(last="12h"), DAY, "last: 12h is no whole number of days: 1d"),
        (Dates(last="3d"), WEEK, "last: 3d is no whole number of weeks: 1w"),
        (Dates(last="7 days"), DAY, "a span such as 7d (h, d, w), not '7 days'; did you mean 7d?"),
        (Dates(last="week"), DAY, "did you mean 1w?"),
        (Dates(last="-7"), DAY, "did you mean 7?"),
        (Dates(last="0"), DAY, "whole number of epochs"),
        (Dates(last="0x7"), DAY, "whole number of epochs"),
        (Dates(last="9" * 5000), DAY, "whole number of epochs"),
        (Dates(start="9" * 5000), DAY, "takes a day"),
    ],
)  # fmt: skip
def test_what_means_no_epoch(said: Dates, seconds: int, words: str) -> None:
    """One reason: what is taken, what was found, and the nearest right thing."""
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        asked(said, seconds)
    assert words in str(raised.value)


def test_a_window_to_compare_with_has_names_of_its_own() -> None:
    """And has to say where it ends, as nobody has answered it yet."""
    names = ("with_from", "with_to", "with")
    with pytest.raises(ValueError, match="with_from says where it begins: say where it ends, too, by with_to"):
        window(Dates(start="2026-11-13"), DAY, NOW, None, names)
    with pytest.raises(ValueError, match="with: 36h is no whole number of days"):
        window(Dates(last="36h"), DAY, NOW, None, names)
