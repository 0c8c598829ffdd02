"""What a Reader asks: options in Python, as messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Literal, TypedDict

from deniable.v1 import estimate_service_pb2 as pb

__all__ = [
    "Anytime", "Before", "CompareOptions", "Day", "EstimateOptions", "IntervalOptions", "RowOptions", "Target",
    "WindowOptions", "before_of", "query_of",
]  # fmt: skip

Day = str | date
"""A day, or an hour: as text ("2026-11-13", "2026-11-13T14:00", "yesterday"), or as a date or datetime."""
Target = Literal["population", "reporting"]
"""Whom intervals are about: all that the devices are a sample of, or just those that reported."""
Anytime = Literal["", "growing", "any"]
"""At which looks intervals hold: at one, at all looks at growing windows, or at a year of looks at any."""

_LOOKS = {"": pb.LOOKS_ONE, "growing": pb.LOOKS_GROWING, "any": pb.LOOKS_ANY}
_TARGETS = {"population": pb.TARGET_POPULATION, "reporting": pb.TARGET_REPORTING}


class Before(TypedDict, total=False):
    """What answers are compared with; a window says its end where it says its beginning."""

    from_: Day
    to: Day
    last: int | str
    last_epoch: int
    segment: Mapping[str, str]


class WindowOptions(TypedDict, total=False):
    """Of which devices and epochs an answer is."""

    from_: Day
    """The first day; `to` is the last one."""
    to: Day
    """The last day; the newest one that is well under way, and has an answer, unless it is said."""
    last: int | str
    """So many epochs (7), or so long ("7d", "12h", "2w"), up to the last day; one epoch unless it is said."""
    last_epoch: int
    """The last epoch by its number, instead of a day."""
    segment: Mapping[str, str]
    """The devices of a segment, such as {"platform": "linux"}; all, unless it is said."""
    doubtful: bool
    """Whether epochs count that somebody has said not to trust."""


class IntervalOptions(WindowOptions, total=False):
    """And what its intervals claim."""

    confidence: float
    """How often they hold: 0.95 unless it is said."""
    target: Target
    """Whom they are about."""
    anytime: Anytime
    """At which looks they hold."""


class CompareOptions(IntervalOptions, total=False):
    """And how much of it is told."""

    rows: int
    """Of each series that has no order of its own, so many rows at the most: the largest."""


class RowOptions(CompareOptions, total=False):
    """And which rows are asked for."""

    series: Sequence[str]
    """These series alone."""
    quantiles: Sequence[float]
    """Of a distribution any quantiles, such as [0.5, 0.999]."""
    shares: Sequence[tuple[float | None, float | None]]
    """Of a distribution the shares of ranges: [(2000, None), (None, 200), (200, 2000)] are what lies above 2000, what
    lies below 200, and what between both."""
    words: Sequence[str]
    """Of a text the shares of any words."""

    fakes: float
    """A share of the reports: how far fakes that have sent so many can have moved each row is told, too."""


class EstimateOptions(RowOptions, total=False):
    """And to which population it is weighted."""

    weights: Mapping[str, Mapping[str, float]]
    """How the population is made up, by one segment, as in {"platform": {"linux": 0.6, "windows": 0.4}}."""


def before_of(given: Mapping[str, Any]) -> pb.Before:
    """What is compared with; a TypeError for a word that is not one of its own."""
    _known(given, Before, "before takes")
    own = pb.Before(segment=given.get("segment"))
    _put(own, given)
    return own


def query_of(given: Mapping[str, Any], taken: type) -> pb.Query:
    """A query of some options; a TypeError for one that is not among those that are taken, and a ValueError says what
    an option takes."""
    _known(given, taken, "options are")
    query = _window_of(given)
    if taken is WindowOptions:
        return query
    weights: Mapping[str, Mapping[str, float]] | None = given.get("weights")
    if weights is not None and len(weights) != 1:
        raise ValueError("weights are of one segment, as in {'platform': {'linux': 0.6, 'windows': 0.4}}")
    by, parts = next(iter(weights.items())) if weights else ("", {})
    if (anytime := given.get("anytime", "")) not in _LOOKS:
        raise ValueError(f"intervals hold at {' or '.join(_LOOKS)[4:]} looks, not {anytime!r}")
    if (target := given.get("target", "population")) not in _TARGETS:
        raise ValueError(f"a target is one of {', '.join(_TARGETS)}, not {target!r}")
    query.MergeFrom(
        pb.Query(
            confidence=given.get("confidence", 0.95),
            target=_TARGETS[target],
            asked=_asked(*(given.get(name, ()) for name in ("quantiles", "shares", "words"))),
            series=given.get("series", ()),
            rows=given.get("rows", 0),
            looks=_LOOKS[anytime],
            fakes=given.get("fakes", 0.0),
            weight_by=by,
            weights=parts,
        )
    )
    return query


def _window_of(given: Mapping[str, Any]) -> pb.Query:
    """A query of what options say of a window and a segment, and of nothing else."""
    query = pb.Query(segment=given.get("segment"), doubtful=given.get("doubtful", False))
    _put(query, given)
    return query


def _known(given: Mapping[str, Any], taken: type, takes: str) -> None:
    names = taken.__annotations__.keys()
    if unknown := given.keys() - names:
        raise TypeError(f"{takes} {', '.join(names)}, not {', '.join(sorted(unknown))}")


def _put(window: pb.Query | pb.Before, given: Mapping[str, Any]) -> None:
    """Put what was said of a window into a message."""
    for name, field in (("from_", "from"), ("to", "to")):
        if given.get(name) is not None:
            setattr(window, field, _text(given[name]))
    if given.get("last") is not None:
        window.last = str(given["last"])
    if given.get("last_epoch") is not None:
        window.last_epoch = given["last_epoch"]


def _text(day: Day) -> str:
    """A day or an hour as text; a ValueError for a time whose zone nobody knows."""
    if isinstance(day, datetime):
        if day.tzinfo is None:
            raise ValueError(f"a time has a zone: {day!r} has none; datetime(..., tzinfo=UTC)")
        return day.astimezone(UTC).strftime("%Y-%m-%dT%H:%M")
    return day.isoformat() if isinstance(day, date) else day


def _asked(
    quantiles: Sequence[float], shares: Sequence[tuple[float | None, float | None]], words: Sequence[str]
) -> Iterator[pb.RowAsked]:
    """The rows of these."""
    if not quantiles and not shares and not words:
        return
    from deniable_aggregator.answers import (  # loads what answers need
        CANDIDATES,
        QUANTILES,
        SHARES,
        quantile_key,
        share_key,
        word_key,
    )

    for share in quantiles:
        yield pb.RowAsked(series=QUANTILES, key=quantile_key(share))
    for above, below in shares:
        yield pb.RowAsked(series=SHARES, key=share_key(above, below))
    for word in dict.fromkeys(words):
        yield pb.RowAsked(series=CANDIDATES, key=word_key(word))
