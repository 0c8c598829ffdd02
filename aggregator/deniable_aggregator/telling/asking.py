"""What a Reader asks: options in Python, as messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Literal, TypedDict

from deniable.v1 import estimate_service_pb2 as pb

__all__ = ["Anytime", "Before", "Day", "Target", "before_of", "query_of", "window_of"]

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


def before_of(given: Mapping[str, Any]) -> pb.Before:
    """What is compared with; a TypeError for a word that is not one of its own."""
    taken = Before.__annotations__.keys()
    if unknown := given.keys() - taken:
        raise TypeError(f"before takes {', '.join(taken)}, not {', '.join(sorted(unknown))}")
    own = pb.Before(segment=given.get("segment"))
    _put(own, *(given.get(name) for name in ("from_", "to", "last", "last_epoch")))
    return own


def query_of(
    *,
    from_: Day | None = None,
    to: Day | None = None,
    last: int | str | None = None,
    last_epoch: int | None = None,
    segment: Mapping[str, str] | None = None,
    doubtful: bool = False,
    confidence: float = 0.95,
    target: Target = "population",
    anytime: Anytime = "",
    quantiles: Sequence[float] = (),
    shares: Sequence[tuple[float | None, float | None]] = (),
    words: Sequence[str] = (),
    series: Sequence[str] = (),
    rows: int = 0,
    weights: Mapping[str, Mapping[str, float]] | None = None,
) -> pb.Query:
    """A query; a ValueError says what an option takes."""
    if weights is not None and len(weights) != 1:
        raise ValueError("weights are of one segment, as in {'platform': {'linux': 0.6, 'windows': 0.4}}")
    by, parts = next(iter(weights.items())) if weights else ("", {})
    if anytime not in _LOOKS:
        raise ValueError(f"intervals hold at {' or '.join(_LOOKS)[4:]} looks, not {anytime!r}")
    if target not in _TARGETS:
        raise ValueError(f"a target is one of {', '.join(_TARGETS)}, not {target!r}")
    query = window_of(from_=from_, to=to, last=last, last_epoch=last_epoch, segment=segment, doubtful=doubtful)
    query.MergeFrom(
        pb.Query(
            confidence=confidence,
            target=_TARGETS[target],
            asked=_asked(quantiles, shares, words),
            series=series,
            rows=rows,
            looks=_LOOKS[anytime],
            weight_by=by,
            weights=parts,
        )
    )
    return query


def window_of(
    *,
    from_: Day | None = None,
    to: Day | None = None,
    last: int | str | None = None,
    last_epoch: int | None = None,
    segment: Mapping[str, str] | None = None,
    doubtful: bool = False,
) -> pb.Query:
    """A query that says a window and a segment, and nothing else."""
    query = pb.Query(segment=segment, doubtful=doubtful)
    _put(query, from_, to, last, last_epoch)
    return query


def _put(
    window: pb.Query | pb.Before,
    start: Day | None,
    end: Day | None,
    last: int | str | None,
    last_epoch: int | None,
) -> None:
    """Put what was said of a window into a message."""
    if start is not None:
        setattr(window, "from", _text(start))
    if end is not None:
        window.to = _text(end)
    if last is not None:
        window.last = str(last)
    if last_epoch is not None:
        window.last_epoch = last_epoch


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
