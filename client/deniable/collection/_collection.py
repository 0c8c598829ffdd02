"""The collection itself: loaded from a file or a text, and asked for its metrics, epochs and segments."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

from deniable._paths import why
from deniable._section import nearest
from deniable.collection._files import Files
from deniable.collection._metric import Budget, Column, Metric
from deniable.collection._reader import read
from deniable.errors import CollectionError, Problem, UnknownMetricError

__all__ = ["Collection", "bundle", "text_of"]


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
    version: int
    """Which of the collections of its name is newer: the one with the greater number. No part of the digest."""
    identities: Mapping[str, int]
    """By a metric's name: 64 bits that are the same in all versions in which its reports mean the same."""
    sample: Fraction = Fraction(1)
    """The chance with which a device takes part in an epoch, by a coin of its own: a whole number of 2^-64."""
    retired: date | None = None
    """The first day on which nothing of it is asked or taken any more. No part of the digest."""

    @classmethod
    def load(cls, path: str | Path) -> Collection:
        """The collection of a file; CollectionError with everything that is wrong with it."""
        return cls.loads(text_of(path), str(path), Files(Path(path).parent))

    @classmethod
    def loads(cls, text: str, file: str = "<text>", files: Files | None = None) -> Collection:
        """The collection of a text, which errors call `file`; what it names is in it, or among the files."""
        try:
            table = tomllib.loads(text, parse_float=_decimal)
        except tomllib.TOMLDecodeError as error:
            raise CollectionError([Problem(file, "", f"not TOML: {_placed(error, text)}")]) from error
        except (ValueError, RecursionError) as error:  # an integer of thousands of digits, thousands of brackets
            raise CollectionError([Problem(file, "", f"can not be read: {error}")]) from error
        problems: list[Problem] = []
        content = read(file, table, files or Files(None), problems)
        if problems or content is None:
            raise CollectionError(problems)
        return cls(*content)

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, by number."""
        return tuple(column for metric in self.metrics.values() for column in metric.columns)

    @property
    def segment_count(self) -> int:
        """How many combinations of segment values there are."""
        return math.prod(len(values) for values in self.segments.values())

    @property
    def unsampled(self) -> Collection:
        """The same, digest and all, for a device that takes part in every epoch: in tests, and to debug."""
        metrics = {name: replace(metric, sample=Fraction(1)) for name, metric in self.metrics.items()}
        return replace(self, sample=Fraction(1), metrics=MappingProxyType(metrics))

    @property
    def ends(self) -> int | None:
        """The first epoch that is not answered, where it is retired: the first that begins on its day, or later."""
        if self.retired is None:
            return None
        day = datetime(self.retired.year, self.retired.month, self.retired.day, tzinfo=UTC)
        return int(-(-day.timestamp() // self.epoch_seconds))

    def metric(self, name: str) -> Metric:
        """The metric of that name; UnknownMetricError with the nearest name where there is none."""
        try:
            return self.metrics[name]
        except KeyError:
            raise UnknownMetricError(name, nearest(str(name), self.metrics)) from None

    def about(self, metric: Metric) -> list[Metric]:
        """The other metrics whose answers are about the same values: sources of one that is fed, and what they feed.

        Whoever sees them all knows what their epsilons, added up, allow.
        """
        own = _recorded(metric)
        return [
            other
            for other in self.metrics.values()
            if (metric.sources or other.sources) and other.name != metric.name and _recorded(other) & own
        ]

    def epoch_at(self, time: float) -> int:
        """The epoch of a time in seconds since 1970-01-01T00:00:00Z."""
        return int(time // self.epoch_seconds)

    def segment_index(self, segment: Mapping[str, str]) -> int:
        """The index of a combination of segment values, the first segment by name the most significant."""
        if not isinstance(segment, Mapping) or segment.keys() != self.segments.keys():
            right = ", ".join(f"{name!r}: {values[0]!r}" for name, values in self.segments.items())
            raise ValueError(f"segment: a device is in one of each, such as {{{right}}}, not {segment!r}")
        index = 0
        for name, values in self.segments.items():
            if segment[name] not in values:
                close = nearest(str(segment[name]), values)
                hint = f"; did you mean {close!r}?" if close else ""
                raise ValueError(f"segment: {name} is one of {', '.join(values)}, not {segment[name]!r}{hint}")
            index = index * len(values) + values.index(segment[name])
        return index


def _recorded(metric: Metric) -> set[str]:
    """The names of the metrics that values are recorded for where it is answered."""
    return set(metric.kind.of) or {metric.name}


def bundle(path: str | Path, files: Files | None = None) -> str:
    """The collection of a file as one text, with all files that it names in it; CollectionError as for `load`.

    `files` finds them, and knows afterwards which they are.
    """
    text, found = text_of(path), files or Files(Path(path).parent)
    Collection.loads(text, str(path), found)
    return found.bundled(text)


def text_of(path: str | Path) -> str:
    """What a collection's file says; CollectionError where it can not be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CollectionError([Problem(str(path), "", f"can not be read: {why(error)}")]) from error


def _decimal(text: str) -> Decimal:
    """A number as it is written; a ValueError for an exponent of twenty digits."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"no number can be as large, or as near to 0, as {text[:40]}") from None


def _placed(error: tomllib.TOMLDecodeError, text: str) -> str:
    """The parser's words; where it only says that the document ended, with the line and column of its end."""
    lines = text.split("\n")
    end = f"(at line {len(lines)}, column {len(lines[-1]) + 1})"
    return str(error).replace("(at end of document)", end)
