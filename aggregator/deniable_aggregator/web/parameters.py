"""What questions over HTTP take: each parameter once, with what it says, what it takes and what becomes of it.

words:
  parameter  a name of the query and its value; a name with capitals stands for many, such as segment.NAME
  asked      what the parameters of a request say together, as messages

Whatever a question does not know is refused, and so is what is said twice: an answer to something else would be taken
for the one that was meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from deniable._section import hint
from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.analysis.question import MOST_EPOCHS
from deniable_aggregator.answers import CANDIDATES, LEAST_CONFIDENCE, MOST_CONFIDENCE, QUANTILES, SHARES

__all__ = ["COMPARING", "INTERVALS", "ROWS", "TREND", "WEIGHTS", "WINDOW", "Asked", "Parameter", "Parameters"]

_TREND = 30
_MOST = (1 << 32) - 1


@dataclass(slots=True)
class Asked:
    """What a request's parameters say."""

    comparison: pb.ListComparisonsRequest = field(default_factory=pb.ListComparisonsRequest)
    """A query, and what it is compared with."""
    trend: int = _TREND
    """Over how many epochs an overview has trends."""

    @property
    def query(self) -> pb.Query:
        """Window, segment, intervals and rows."""
        return self.comparison.query


_Put = Callable[[Asked, str, str], None]
"""Puts what stands for the capitals of a name, and the value, where they belong."""


@dataclass(frozen=True)
class Parameter:
    """One parameter, or those of a pattern."""

    name: str
    what: str
    """What it says, for people."""
    example: str
    """As it stands in an address."""
    schema: Mapping[str, Any]
    """What its value is, as JSON Schema says it."""
    put: _Put
    again: bool = False
    """Whether it may be said more than once."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Which names are this one's: a segment's name, and whatever a value or a key is called."""
        parts = re.split(r"(NAME|VALUE|KEY)", self.name)
        found = (
            re.escape(part) if part not in {"NAME", "VALUE", "KEY"} else "[^.]+" if part == "NAME" else ".+"
            for part in parts
        )
        return re.compile("".join(found), re.DOTALL)

    @property
    def end(self) -> str:
        """What a name begins with, up to its capitals."""
        return re.split("NAME|VALUE|KEY", self.name)[0]


class Parameters:
    """Those that a question takes."""

    def __init__(self, *groups: Iterable[Parameter]) -> None:
        self.all = tuple(each for group in groups for each in group)

    def asked(self, given: Iterable[tuple[str, str]]) -> Asked:
        """What parameters say; a ValueError for one that is not taken, or said twice."""
        found, seen = Asked(), set()
        for name, value in given:
            own = next((each for each in self.all if each.pattern.fullmatch(name)), None)
            if own is None:
                raise ValueError(f"no parameter {name[:80]!r}; {hint(name, [each.name for each in self.all])}")
            if name in seen and not own.again:
                raise ValueError(f"{name} is said twice: leave one of them out")
            seen.add(name)
            own.put(found, name.removeprefix(own.end), _said(name, value))
        return found


def _said(name: str, value: str) -> str:
    """A value, which is not empty: who leaves something out does not name it."""
    if not value:
        raise ValueError(f"{name} is empty: leave it out, or say which")
    return value


def _count(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > 10 or int(value) > _MOST:
        raise ValueError(f"{name} is a whole number below 2^32, not {value[:40]!r}")
    return int(value)


def _number(name: str, value: str, what: str = "a number") -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{name} is {what}, not {value[:40]!r}") from None


def _fraction(name: str, value: str) -> float:
    """A part of a whole; whoever takes it knows whether it can be."""
    return _number(name, value, "a number between 0 and 1")


def _positive(name: str, value: str) -> float:
    """A part that is more than nothing: in a message, nought is what nobody has said."""
    if (found := _fraction(name, value)) == 0:
        raise ValueError(f"{name} is above 0; leave it out for what is usual")
    return found


def _epoch(name: str, value: str) -> int:
    """The number of an epoch, of which the first, of 1970, is what nobody has said."""
    if (found := _count(name, value)) == 0:
        raise ValueError(f"{name} is 1 or more; leave it out for the newest")
    return found


def _flag(name: str, value: str) -> bool:
    if value not in {"true", "false"}:
        raise ValueError(f"{name} is true or false, not {value[:40]!r}")
    return value == "true"


def _word(name: str, value: str, words: Mapping[str, int]) -> int:
    if value not in words:
        raise ValueError(f"{name} is {' or '.join(words)}, not {value[:40]!r}")
    return words[value]


def _query(name: str, take: Callable[[str, str], Any] = lambda _, value: value, of: str = "") -> _Put:
    """Puts a value into a field of the query."""
    return lambda asked, _, value: setattr(asked.query, of or name, take(name, value))


def _before(name: str, of: str, take: Callable[[str, str], Any] = lambda _, value: value) -> _Put:
    return lambda asked, _, value: setattr(asked.comparison.before, of, take(name, value))


def _compared(name: str, take: Callable[[str, str], Any], of: str = "") -> _Put:
    return lambda asked, _, value: setattr(asked.comparison, of or name, take(name, value))


def _put_segment(asked: Asked, name: str, value: str) -> None:
    asked.query.segment[name] = value


def _put_before_segment(asked: Asked, name: str, value: str) -> None:
    asked.comparison.before.segment[name] = value


def _put_weight(asked: Asked, rest: str, value: str) -> None:
    segment, _, own = rest.partition(".")
    if asked.query.weight_by not in {"", segment}:
        raise ValueError(f"weights are of one segment: {asked.query.weight_by}, or {segment}")
    asked.query.weight_by = segment
    asked.query.weights[own] = _fraction(f"weight.{rest}", value)


def _put_baseline(asked: Asked, key: str, value: str) -> None:
    asked.comparison.baseline.add(key=key, value=_number(f"baseline.{key}", value))


def _put_trend(asked: Asked, _: str, value: str) -> None:
    asked.trend = min(_count("trend", value), MOST_EPOCHS)


def _row(series: str) -> _Put:
    """Puts a row that is asked for into the query."""

    def put(asked: Asked, _: str, value: str) -> None:
        asked.query.asked.add(series=series, key=value)

    return put


_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1}
_WHOLE: Mapping[str, Any] = {"type": "integer", "minimum": 0, "maximum": _MOST}
_PART: Mapping[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
_SOME: Mapping[str, Any] = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_FEW: Mapping[str, Any] = {"type": "number", "minimum": 0, "exclusiveMaximum": 1}
_LEVEL: Mapping[str, Any] = {"type": "number", "minimum": LEAST_CONFIDENCE, "maximum": MOST_CONFIDENCE}
_EPOCH: Mapping[str, Any] = {"type": "integer", "minimum": 1, "maximum": _MOST}
_TARGETS = {"population": pb.TARGET_POPULATION, "reporting": pb.TARGET_REPORTING}
_LOOKS = {"growing": pb.LOOKS_GROWING, "any": pb.LOOKS_ANY}


def _one_of(words: Mapping[str, int]) -> Mapping[str, Any]:
    return {"type": "string", "enum": list(words)}


def _day(name: str, what: str, example: str, put: _Put) -> Parameter:
    return Parameter(name, what, f"{name}={example}", _TEXT, put)


WINDOW = (
    _day("from", "The day with which the window begins; of a collection of hours, an hour, too: 2026-11-13T14:00 "
         "(docs/reading.md).", "2026-11-13", _query("from")),
    _day("to", "The day with which it ends. Unless said: the newest that is well under way.", "2026-11-19",
         _query("to")),
    _day("last", "In place of from, how long the window is: 7d, 12h, 2w, or a number of epochs. Unless said: 1.",
         "7d", _query("last")),
    Parameter("last_epoch", "In place of to, the number of the epoch with which the window ends.", "last_epoch=20776",
              _EPOCH, _query("last_epoch", _epoch)),
    Parameter("segment.NAME", "Only the devices with this value of a segment.", "segment.platform=linux", _TEXT,
              _put_segment),
    Parameter("doubtful", "Epochs that are doubtful count, too.", "doubtful=true", {"type": "boolean"},
              _query("doubtful", _flag)),
)  # fmt: skip
"""Of every question."""
INTERVALS = (
    Parameter("confidence", "Of the intervals; unless said: 0.95.", "confidence=0.99", _LEVEL,
              _query("confidence", _positive)),
    Parameter("target", "Whom the intervals are about: the population that the devices are a sample of (unless "
              "said), or just the devices that reported.", "target=reporting", _one_of(_TARGETS),
              _query("target", lambda name, value: _word(name, value, _TARGETS))),
    Parameter("anytime", "Intervals hold at all looks together: at growing windows, or at a year of looks at any.",
              "anytime=any", _one_of(_LOOKS),
              _query("anytime", lambda name, value: _word(name, value, _LOOKS), of="looks")),
    Parameter("rows", "Of each series that is not ordered only so many rows, the largest first (of comparisons the "
              "most certain).", "rows=20", _WHOLE, _query("rows", _count)),
)  # fmt: skip
"""Of every question but that for counters."""
ROWS = (
    Parameter("fakes", "A share of the reports: how far fakes that have sent so many can have moved each row is "
              "told, too.", "fakes=0.01", _FEW, _query("fakes", _fraction)),
    Parameter("series", "Only this series, such as shares or mean; it may be said several times.", "series=shares",
              _TEXT, lambda asked, _, value: asked.query.series.append(value), again=True),
    Parameter(QUANTILES, "Of a distribution, a quantile as its row's key; it may be said several times.",
              f"{QUANTILES}=p37.5", _TEXT, _row(QUANTILES), again=True),
    Parameter(SHARES, "Of a distribution, a range as its row's key: above 2000, below 200, 200 to 2000; it may be "
              "said several times.", f"{SHARES}=above%202000", _TEXT, _row(SHARES), again=True),
    Parameter(CANDIDATES, "Of a text, a word that is asked for; it may be said several times.", f"{CANDIDATES}=rust",
              _TEXT, _row(CANDIDATES), again=True),
)  # fmt: skip
"""Rows besides those that an answer always has, or only some of them."""
WEIGHTS = (
    Parameter("weight.NAME.VALUE", "What share of the population has this value of a segment: estimates are weighted "
              "by it. All values of one segment.", "weight.platform.linux=0.6", _PART, _put_weight),
)  # fmt: skip
"""Of the estimates of a window."""
TREND = (
    Parameter("trend", f"Over how many epochs there are trends; unless said: {_TREND}.", "trend=90", _WHOLE,
              _put_trend),
)  # fmt: skip
"""Of an overview."""
COMPARING = (
    _day("with_from", "The day with which the window begins that is compared with.", "2026-11-06",
         _before("with_from", "from")),
    _day("with_to", "The day with which it ends. Unless said: that before the window.", "2026-11-12",
         _before("with_to", "to")),
    _day("with", "How long it is: 7d, or a number of epochs. Unless said: as long as the window.", "7d",
         _before("with", "last")),
    Parameter("with_last_epoch", "In place of with_to, the number of the epoch with which it ends.",
              "with_last_epoch=20769", _EPOCH, _before("with_last_epoch", "last_epoch", _epoch)),
    Parameter("with.NAME", "Compared with the devices that have this value of a segment.", "with.platform=windows",
              _TEXT,
              _put_before_segment),
    Parameter("baseline.KEY", "Compared with a number that is known, of the row with this key.", "baseline.yes=0.3",
              {"type": "number"}, _put_baseline),
    Parameter("apart", "No device stands on both sides.", "apart=true", {"type": "boolean"},
              _compared("apart", _flag)),
    Parameter("changed", "The same devices stand on both sides, and at most this part of them has another answer.",
              "changed=0.1", _PART, _compared("changed", _fraction)),
    Parameter("rate", "The false discovery rate of what is called found; unless said: 0.05.", "rate=0.01", _SOME,
              _compared("rate", _positive, of="false_discovery_rate")),
)  # fmt: skip
"""Of comparisons."""
