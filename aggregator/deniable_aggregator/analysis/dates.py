"""Dates: how people say which epochs they mean, and what they are told where that can not be understood.

words:
  moment   a day, an hour of a day, today or yesterday: it names the epoch that it is in. A day of an hourly
           collection begins with its first hour and ends with its last one
  span     how long a window is: 7d, 12h, 2w, or a number of epochs such as 7

Epochs are whole hours, days or weeks in Greenwich, so all of it is UTC. Weeks begin on Thursdays, as 1970 did.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

__all__ = ["NAMES", "Dates", "moment_of", "seconds_of", "span_of", "window"]

_HOUR, _DAY, _WEEK = 3600, 86_400, 7 * 86_400
_UNITS = {"h": _HOUR, "d": _DAY, "w": _WEEK}
_SPAN = re.compile(r"([1-9][0-9]{0,8})([hdw]?)")
_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2})(?::(\d{2}))?(?::00)?Z?)?")
_MOST_QUOTED = 40
_WORDS = {"today": 0, "yesterday": 1}
NAMES = ("from", "to", "last")
"""What the parts of a window are called, unless it is one that is compared with."""


class Dates(NamedTuple):
    """Which window somebody means; what is not said is empty, or 0."""

    start: str = ""
    """The moment of its first epoch."""
    end: str = ""
    """The moment of its last epoch."""
    last: str = ""
    """How long it is."""
    last_epoch: int = 0
    """The number of its last epoch."""
    epochs: int = 0
    """How many epochs it has."""


def window(said: Dates, seconds: int, now: float, newest: int | None, names: tuple[str, str, str] = NAMES) -> Dates:
    """The same in numbers: `last_epoch` (0: not said) and `epochs` (0: one).

    A window that has a beginning and no end, ends with the newest epoch. A ValueError says what is wrong, by the
    names of the three parts, and what would be right.
    """
    start, end, last = names
    if said.end and said.last_epoch:
        raise ValueError(f"{end} and last_epoch both say where the window ends: leave one of them out")
    if said.start and (said.last or said.epochs):
        raise ValueError(f"{start} and {last} both say where the window begins: leave one of them out")
    if said.last and said.epochs:
        raise ValueError(f"{last} and epochs both say how long the window is: leave one of them out")
    epochs = _epochs(last, said.last, seconds) if said.last else said.epochs
    ends = _epoch(end, said.end, seconds, now, at_end=True) if said.end else said.last_epoch
    if not said.start:
        return Dates(last_epoch=ends, epochs=epochs)
    begins = _epoch(start, said.start, seconds, now)
    if begins * seconds > now:
        raise ValueError(f"{start}: {said.start} is still to come: it is {_named(now, seconds)} now")
    if not ends and newest is None:
        raise ValueError(f"{start} says where it begins: say where it ends, too, by {end}")
    # What has begun but is not well under way is meant by who asks for it.
    ends = ends or max(newest or 0, begins)
    if begins > ends:
        raise ValueError(
            f"{start} {moment_of(begins, seconds)} is after {end} {moment_of(ends, seconds)}: "
            "say them the other way round"
        )
    return Dates(last_epoch=ends, epochs=ends - begins + 1)


def moment_of(epoch: int, seconds: int) -> str:
    """How an epoch is named: by its day, or by its hour; a week by its first day."""
    return _named(epoch * seconds, seconds)


def _named(time: float, seconds: int) -> str:
    moment = datetime.fromtimestamp(time, UTC)
    return moment.strftime("%Y-%m-%dT%H:00" if seconds < _DAY else "%Y-%m-%d")


def span_of(text: str) -> tuple[int, str]:
    """A span's number and unit; without a unit they are epochs."""
    found = _SPAN.fullmatch(text)
    if not found:
        near = _meant(_spans(text))
        raise ValueError(
            f"takes a whole number of epochs such as 7, or a span such as 7d (h, d, w), not {_quoted(text)}{near}"
        )
    return int(found[1]), found[2]


def seconds_of(text: str) -> int:
    """How long a span is that is told without knowing an epoch."""
    found = _SPAN.fullmatch(text)
    if not found or not found[2]:
        near = _meant(own if own[-1] in _UNITS else f"{own}d" for own in _spans(text))
        raise ValueError(f"takes a span such as 90d (h, d, w), not {_quoted(text)}{near}")
    return int(found[1]) * _UNITS[found[2]]


def _epochs(name: str, text: str, seconds: int) -> int:
    """How many epochs a span has."""
    try:
        number, unit = span_of(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if not unit:
        return number
    epochs, rest = divmod(number * _UNITS[unit], seconds)
    if rest:
        right = " or ".join(_shown(each, seconds) for each in (epochs, epochs + 1) if each)
        raise ValueError(f"{name}: {text} is no whole number of {_word(seconds)}s: {right}")
    return epochs


def _epoch(name: str, text: str, seconds: int, now: float, *, at_end: bool = False) -> int:
    """The epoch that a moment is in: of a day of hours the first, or at a window's end the last."""
    moment = _moment(text, now)
    if moment is None:
        such = "a day such as 2026-11-19" + (", an hour such as 2026-11-19T14:00" if seconds < _DAY else "")
        near = _meant(_moments(text))
        if not near and len(text) <= _MOST_QUOTED and text.isdecimal():
            near = f": the number of an epoch goes with last_epoch={text}"
        raise ValueError(f"{name}: takes {such}, today or yesterday, not {_quoted(text)}{near}")
    day, hour, minute = moment
    if hour is not None and seconds >= _DAY:
        raise ValueError(f"{name}: epochs are {_word(seconds)}s here, and are named by a day: {day}, not {text}")
    if minute:
        raise ValueError(f"{name}: epochs are whole hours, such as {day}T{hour:02}:00, not {text}")
    time = datetime(day.year, day.month, day.day, hour or 0, tzinfo=UTC).timestamp()
    last_hour = at_end and hour is None and seconds < _DAY
    epoch = int(time + (_DAY - 1 if last_hour else 0)) // seconds
    if epoch < 1:  # 0 says nothing in a message
        raise ValueError(f"{name}: {text} is too long ago: {moment_of(1, seconds)} is the first that can be named")
    return epoch


def _moment(text: str, now: float) -> tuple[date, int | None, int] | None:
    """A moment's day, hour and minute; None where it is none."""
    if text in _WORDS:
        return datetime.fromtimestamp(now, UTC).date() - timedelta(_WORDS[text]), None, 0
    found = _MOMENT.fullmatch(text)
    if not found or not found[0].isascii():
        return None
    hour, minute = (None if part is None else int(part) for part in found.groups()[1:])
    if (hour or 0) > 23 or (minute or 0) > 59:
        return None
    try:
        return date.fromisoformat(found[1]), hour, minute or 0
    except ValueError:  # there is no such day
        return None


def _meant(likely: Iterator[str]) -> str:
    """What was probably meant; nothing where nobody can tell."""
    found = next(likely, None)
    return f"; did you mean {found}?" if found else ""


def _moments(text: str) -> Iterator[str]:
    """What may have been meant by a text that is no moment: days as written elsewhere, misspelt words."""
    for pattern, order in (
        (r"(\d{4})\D?(\d{1,2})\D?(\d{1,2})(?:\D.*)?", (0, 1, 2)),
        (r"(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})", (2, 1, 0)),
    ):
        if found := re.fullmatch(pattern, text, re.ASCII):
            year, month, day = (int(found.groups()[place]) for place in order)
            for last in range(day, day - 4, -1):  # the thirtieth of February is its last day
                try:
                    yield date(year, month, last).isoformat()
                except ValueError:
                    continue
                return
    yield from difflib.get_close_matches(text[:20].casefold(), _WORDS, n=1)


def _spans(text: str) -> Iterator[str]:
    """What may have been meant by a text that is no span: a unit's whole word, a sign before it."""
    found = re.fullmatch(r"[-+]?0*([1-9]\d{0,8})?\s*(?:(h|d|w)(?:(?<=h)ours?|(?<=d)ays?|(?<=w)eeks?)?)?",
                         text[:40].strip().casefold(), re.ASCII)  # fmt: skip
    if found and any(found.groups()):
        yield f"{found[1] or 1}{found[2] or ''}"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}...")


def _shown(epochs: int, seconds: int) -> str:
    """So many epochs as a span."""
    unit = next(unit for unit in "wdh" if seconds >= _UNITS[unit])
    return f"{epochs * seconds // _UNITS[unit]}{unit}"


def _word(seconds: int) -> str:
    return "hour" if seconds < _DAY else "day" if seconds < _WEEK else "week"
