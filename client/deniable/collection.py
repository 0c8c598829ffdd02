"""The collection: what is asked of a fleet, at what privacy cost, read from metrics.toml.

words:
  collection   one file of metrics, loaded by device and aggregator alike; immutable once shipped
  metric       one question: a kind, its parameters, its epsilon
  column       one mechanism collecting one thing; its number is what a report names
  digest       64 bits of SHA-256 over everything that gives a report its meaning, down to the thresholds: two
               ends that would randomise and debias differently do not know each other's digest
  segment      public attributes sent in the clear, as one mixed-radix index
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from deniable import linkage
from deniable._section import (
    Section,
    a_chance,
    a_flag,
    a_limit,
    a_text,
    an_epsilon,
    distinct_texts,
    nearest,
    one_of,
    whole,
)
from deniable.epsilon import Epsilon
from deniable.errors import CollectionError, Problem, UnknownMetricError
from deniable.kinds import KINDS, Kind
from deniable.mechanisms import Mechanism
from deniable.payload import Shape
from deniable.randomness import word
from deniable.reduce import REDUCERS, Reducer

__all__ = ["Budget", "Collection", "Column", "Metric", "Report", "meaning", "text_of"]

FORMAT = 1
"""Part of the digest: raised when the meaning of a file changes with the software."""

EPOCHS = {"1h": 3600, "1d": 86400, "7d": 7 * 86400}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_MOST_SEGMENTS = 256
_MOST_COLUMNS = 1 << 16
_RECALLED = 8
_MOST_RECALLED = 1024
_EPOCH_DELTA = Fraction(1, 10**5)
_LIFETIME_DELTA = Fraction(1, 10**3)


class Report(NamedTuple):
    """One randomised answer."""

    column: int
    """The number of the column."""
    payload: int
    """What was answered: nothing that any device could not have answered."""


@dataclass(frozen=True, slots=True)
class Column:
    """One mechanism collecting one thing."""

    number: int
    """Its number in the collection; what a report names."""
    metric: str
    """The metric that it belongs to."""
    mechanism: Mechanism
    """How its answers are randomised."""

    @property
    def shape(self) -> Shape:
        """The payloads of its reports, and the counters that they add up to."""
        return self.mechanism.shape

    def channel(self) -> tuple[dict[int, Fraction], ...]:
        """For every input, the exact probability of every payload."""
        return self.mechanism.channel()


@dataclass(frozen=True, slots=True)
class Metric:
    """One question of a collection."""

    name: str
    """Its name in the file."""
    description: str
    """The question, in words that the person counted would understand."""
    kind: Kind
    """What sort of question it is, with its parameters."""
    epsilon: Epsilon
    """The most that one epoch's answer costs a device."""
    columns: tuple[Column, ...]
    """The columns that it fills; a device answers one of them an epoch."""
    reducer: Reducer
    """How several values of one epoch become one."""
    memoize: bool = False
    """Whether a device remembers its randomised answer and gives the same one every time."""
    recalled: int = 0
    """With `memoize`: how many distinct answers a device remembers, and pays for, at most."""
    instantaneous: Epsilon | None = None
    """With `memoize`: the most that one report tells of what is remembered; None: all, it is repeated as it is."""
    expires: date | None = None
    """The first day on which devices no longer answer."""

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanisms of its columns, each once."""
        return tuple(dict.fromkeys(column.mechanism for column in self.columns))

    @property
    def mechanism(self) -> str:
        """How it is asked, in the words of the collection file: the names of its mechanisms."""
        return ", ".join(dict.fromkeys(mechanism.name for mechanism in self.mechanisms))

    def encode(self, value: Any, draw: Callable[[], int]) -> tuple[Column, int]:
        """The column and the mechanism's input for a checked value; `draw` gives words for what is left to chance."""
        place, chosen = self.kind.encode(value, [column.mechanism for column in self.columns], draw)
        return self.columns[place], chosen

    def randomize(self, value: Any) -> Report:
        """One randomised answer to a value, without state or ledger; InvalidValueError for what is not taken."""
        column, chosen = self.encode(self.kind.check(value), word)
        return Report(column.number, column.mechanism.randomize(chosen))


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that one device spends."""

    epoch: Fraction
    """In one epoch, over all metrics."""
    lifetime: Fraction | None
    """Ever; None: no such limit."""
    epoch_delta: Fraction = _EPOCH_DELTA
    """Of delta, in one epoch."""
    lifetime_delta: Fraction = _LIFETIME_DELTA
    """Of delta, ever."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Everything that is asked of a fleet, and what it costs a device."""

    name: str
    """Its name."""
    owner: str
    """Whom to write to about it."""
    epoch_seconds: int
    """The length of its epochs."""
    budget: Budget
    """The most that one device spends."""
    segments: Mapping[str, tuple[str, ...]]
    """Public attributes sent in the clear, by name."""
    metrics: Mapping[str, Metric]
    """Its metrics, by name."""
    digest: int
    """What tells it from every other collection."""

    @classmethod
    def load(cls, path: str | Path) -> Collection:
        """The collection of a file; CollectionError with everything that is wrong with it."""
        return cls.loads(text_of(path), str(path))

    @classmethod
    def loads(cls, text: str, file: str = "<text>") -> Collection:
        """The collection of a text; `file` is what errors call it."""
        try:
            table = tomllib.loads(text, parse_float=Decimal)
        except tomllib.TOMLDecodeError as error:
            raise CollectionError([Problem(file, "", f"not TOML: {_placed(error, text)}")]) from error
        except (ValueError, RecursionError) as error:  # an integer of thousands of digits, thousands of brackets
            raise CollectionError([Problem(file, "", f"can not be read: {error}")]) from error
        problems: list[Problem] = []
        collection = _Reader(file, table, problems).collection()
        if problems or collection is None:
            raise CollectionError(problems)
        return collection

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, by number."""
        return tuple(column for metric in self.metrics.values() for column in metric.columns)

    @property
    def segment_count(self) -> int:
        """How many combinations of segment values there are."""
        return math.prod(len(values) for values in self.segments.values())

    def metric(self, name: str) -> Metric:
        """The metric of that name; UnknownMetricError with the nearest name where there is none."""
        try:
            return self.metrics[name]
        except KeyError:
            raise UnknownMetricError(name, nearest(str(name), self.metrics)) from None

    def epoch_at(self, time: float) -> int:
        """The epoch of a time in seconds since 1970-01-01T00:00:00Z."""
        return int(time // self.epoch_seconds)

    def segment_index(self, segment: Mapping[str, str]) -> int:
        """The index of a combination of segment values, the first segment by name the most significant."""
        if segment.keys() != self.segments.keys():
            raise ValueError(
                f"a device is in one segment of each of: {', '.join(self.segments) or 'none'}; "
                f"given: {', '.join(segment) or 'none'}"
            )
        index = 0
        for name, values in self.segments.items():
            if segment[name] not in values:
                raise ValueError(f"segment {name!r} is one of {', '.join(values)}, not {segment[name]!r}")
            index = index * len(values) + values.index(segment[name])
        return index


def text_of(path: str | Path) -> str:
    """What a collection's file says; CollectionError where it can not be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CollectionError([Problem(str(path), "", f"can not be read: {error}")]) from error


class _Reader:
    """Reads a whole file, noting problems as it goes."""

    def __init__(self, file: str, table: dict[str, Any], problems: list[Problem]) -> None:
        self._root = Section(file, "", table, problems)
        self._problems = problems
        self._next_column = 0

    def collection(self) -> Collection | None:
        header = self._root.section("collection")
        name = header.take("name", _a_name)
        owner = header.take("owner", a_text)
        epoch = header.take("epoch", one_of(EPOCHS))
        header.finish()
        segments = self._segments(self._root.section("segments"))
        metrics = self._metrics(self._root.section("metrics"))
        budget = self._budget(metrics)
        self._root.finish()
        if self._problems or name is None or owner is None or epoch is None or budget is None:
            return None
        everything = {
            "format": FORMAT,
            "name": name,
            "epoch": EPOCHS[epoch],
            "segments": {segment: list(values) for segment, values in segments.items()},
            "metrics": {metric.name: meaning(metric) for metric in metrics},
        }
        return Collection(
            name,
            owner,
            EPOCHS[epoch],
            budget,
            MappingProxyType(segments),
            MappingProxyType({metric.name: metric for metric in metrics}),
            _digest(everything),
        )

    def _segments(self, section: Section) -> dict[str, tuple[str, ...]]:
        segments = {}
        for name in sorted(section.keys()):
            _check_name(section, name, name)
            values = section.take(name, distinct_texts(2, _MOST_SEGMENTS))
            if values is not None:
                segments[name] = values
        combinations = math.prod(len(values) for values in segments.values())
        if combinations > _MOST_SEGMENTS:
            section.wrong(
                "", f"makes {combinations} combinations; at most {_MOST_SEGMENTS} keep devices many in each"
            )
        return segments

    def _metrics(self, section: Section) -> list[Metric]:
        every = sorted(section.sections())
        allowed = linkage.share(sum(own.says("memoize", True) for _, own in every))
        metrics = [self._metric(name, own, allowed) for name, own in every]
        if not metrics:
            section.wrong("", "a collection asks at least one question: add [metrics.NAME]")
        return [metric for metric in metrics if metric is not None]

    def _metric(self, name: str, section: Section, allowed: Fraction) -> Metric | None:
        _check_name(section, "", name)
        description = section.take("description", a_text)
        kind_name = section.take("kind", one_of(KINDS))
        instead = KINDS[kind_name].instead if kind_name else None
        epsilon = None if instead and section.has(instead) else section.take("epsilon", an_epsilon)
        expires = section.take("expires", _a_date, None)
        if kind_name is None:
            return None
        kind_class = KINDS[kind_name]
        reduce = section.take("reduce", one_of(kind_class.reducers), kind_class.reducers[0])
        mechanism = section.take("mechanism", one_of(("auto", *kind_class.mechanisms)), "auto")
        memoize = section.take("memoize", a_flag, False)
        recalled = section.take("remembered_answers", whole(1, _MOST_RECALLED), None)
        if recalled and not memoize:
            section.wrong("remembered_answers", "goes with memoize = true")
        second = section.take("instantaneous_epsilon", _a_second, None)
        if second and not memoize:
            section.wrong("instantaneous_epsilon", "goes with memoize = true: it is a second randomisation")
        kind = kind_class.read(section)
        section.finish()
        if kind and reduce and (why := kind.unfit(reduce)):
            section.wrong("reduce", why)
        epsilon = kind.cost if kind and not epsilon else epsilon
        if not (description and epsilon and kind and reduce and mechanism):
            return None
        try:
            if memoize:
                mechanisms, instantaneous = _remembered(kind, epsilon, mechanism, second, allowed)
            else:
                mechanisms, instantaneous = kind.columns(epsilon, mechanism), None
        except ValueError as error:
            section.wrong("", str(error))
            return None
        first = self._next_column
        self._next_column += len(mechanisms)
        if self._next_column > _MOST_COLUMNS:
            section.wrong("", f"is beyond the {_MOST_COLUMNS} columns that a collection can have")
        columns = tuple(Column(first + place, name, each) for place, each in enumerate(mechanisms))
        most = min(recalled or _RECALLED, *(column.mechanism.inputs for column in columns)) if memoize else 0
        return Metric(
            name, description, kind, epsilon, columns, REDUCERS[reduce], bool(memoize), most, instantaneous, expires
        )

    def _budget(self, metrics: list[Metric]) -> Budget | None:
        spent = sum((metric.epsilon.value for metric in metrics), Fraction(0))
        deltas = sum((metric.kind.delta for metric in metrics), Fraction(0))
        section = self._root.section("budget")
        if not section.has("epoch"):
            section.wrong("epoch", f"missing; what the metrics spend in an epoch adds up to {float(spent):.15g}")
        epoch = section.take("epoch", a_limit, None)
        lifetime = section.take("lifetime", a_limit, None)
        epoch_delta = section.take("epoch_delta", a_chance, max(_EPOCH_DELTA, deltas))
        lifetime_delta = section.take("lifetime_delta", a_chance, _LIFETIME_DELTA)
        section.finish()
        if epoch is None or epoch_delta is None or lifetime_delta is None:
            return None
        if deltas > epoch_delta:
            section.wrong(
                "epoch_delta",
                f"the deltas of the metrics add up to {float(deltas):g} an epoch, more than the budget of "
                f"{float(epoch_delta):g}: raise it, or lower a delta",
            )
        if spent > epoch:
            section.wrong(
                "epoch",
                f"the metrics spend {float(spent):.15g} an epoch, more than the budget of {float(epoch):.15g}: "
                "raise it, lower an epsilon or ask less",
            )
        return Budget(epoch, lifetime, epoch_delta, lifetime_delta)


def _remembered(
    kind: Kind, epsilon: Epsilon, mechanism: str, second: Epsilon | str | None, allowed: Fraction
) -> tuple[tuple[Mechanism, ...], Epsilon | None]:
    """How remembered answers are told, and with which second epsilon: the greatest that keeps to the bits allowed."""
    if isinstance(second, str):
        return kind.remembered(epsilon, mechanism), None

    def ask(fresh: Epsilon) -> tuple[Mechanism, ...]:
        return kind.memoized(epsilon, fresh, mechanism)

    fresh = second or linkage.most(ask, allowed)
    return ask(fresh), fresh


def _placed(error: tomllib.TOMLDecodeError, text: str) -> str:
    """The parser's words; where it only says that the document ended, with the line and column of its end."""
    lines = text.split("\n")
    end = f"(at line {len(lines)}, column {len(lines[-1]) + 1})"
    return str(error).replace("(at end of document)", end)


def meaning(metric: Metric) -> dict[str, Any]:
    """What gives the metric's reports their meaning, in plain JSON."""
    return {
        "description": metric.description,
        "kind": metric.kind.name,
        "parameters": metric.kind.parameters(),
        "epsilon": str(metric.epsilon),
        "reduce": metric.reducer.name,
        "memoize": metric.memoize,
        "remembered_answers": metric.recalled,
        "columns": [{"mechanism": c.mechanism.name, **c.mechanism.parameters()} for c in metric.columns],
    }


def _digest(meaning: dict[str, Any]) -> int:
    text = json.dumps(meaning, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _a_name(value: Any) -> str:
    if not isinstance(value, str) or _NAME.fullmatch(value) is None:
        raise ValueError(f"a name is a-z, then a-z, 0-9 or _, at most 63 characters, not {value!r}")
    return value


def _check_name(section: Section, key: str, name: str) -> None:
    try:
        _a_name(name)
    except ValueError as error:
        section.wrong(key, str(error))


def _a_second(value: Any) -> Epsilon | str:
    """What one report tells of what is remembered: an epsilon, or all of it."""
    if value == linkage.LINKABLE:
        return linkage.LINKABLE
    try:
        return an_epsilon(value)
    except ValueError as error:
        raise ValueError(f'{error}; or "{linkage.LINKABLE}", to repeat what is remembered as it is') from error


def _a_date(value: Any) -> date:
    if type(value) is not date:
        raise TypeError(f"must be a date such as 2027-12-31, without quotes, not {value!r}")
    return value
