"""Reads a collection's text, key by key, and notes all that is wrong with it."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from deniable import linkage
from deniable._section import (
    Beside,
    File,
    Section,
    a_chance,
    a_flag,
    a_limit,
    a_number,
    a_text,
    an_epsilon,
    distinct_texts,
    hint,
    one_of,
    whole,
)
from deniable.collection._files import Files, a_content, a_path
from deniable.collection._metric import EPOCH_DELTA, LIFETIME_DELTA, Budget, Column, Metric, meaning
from deniable.collection.reduce import REDUCERS
from deniable.epsilon import Epsilon
from deniable.errors import Problem
from deniable.kinds import KINDS, Kind
from deniable.mechanisms import Mechanism
from deniable.randomness import WORD

__all__ = ["EPOCHS", "Content", "read"]

FORMAT = 1
"""Part of the digest: raised when the meaning of a file changes with the software."""

EPOCHS = {"1h": 3600, "1d": 86400, "7d": 7 * 86400}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_MOST_SEGMENTS = 256
_MOST_COLUMNS = 1 << 16
_RECALLED = 8
_MOST_RECALLED = 1024
_MOST_VERSIONS = (1 << 31) - 1
_LEAST_PART = Fraction(1, 10**6)
_NEVER = "never"
"""Said of a metric that is not to end, where somebody has thought about it."""


class Content(NamedTuple):
    """What a collection is made of, in its order."""

    name: str
    owner: str
    epoch_seconds: int
    budget: Budget
    segments: Mapping[str, tuple[str, ...]]
    metrics: Mapping[str, Metric]
    digest: int
    version: int
    identities: Mapping[str, int]
    sample: Fraction
    retired: date | None


def read(file: str, table: dict[str, Any], files: Files, problems: list[Problem]) -> Content | None:
    """What a file's table says, and the files that it names; None where it has problems, which are noted."""
    return _Reader(file, table, files, problems).content()


class _Reader:
    """Reads a whole file, noting problems as it goes."""

    def __init__(self, file: str, table: dict[str, Any], files: Files, problems: list[Problem]) -> None:
        self._root = Section(file, "", table, problems, Beside(self._source, self._file))
        self._problems = problems
        self._label = file
        self._files = files
        self._bundled: dict[str, str | None] | None = None
        self._named: set[str] = set()
        self._fed: dict[str, bool] = {}
        self._kinds: dict[str, Kind] = {}
        self._owner = ""
        self._retired: date | None = None

    def content(self) -> Content | None:
        header = self._root.section("collection")
        name = header.take("name", _a_name)
        owner = header.take("owner", a_text)
        epoch = header.take("epoch", one_of(EPOCHS))
        version = header.take("version", whole(0, _MOST_VERSIONS), 0)
        sample = header.take("sample", _a_part, Fraction(1))
        self._retired = header.take("retired", _an_end, None)
        header.finish()
        segments = self._segments(self._root.section("segments"))
        files = self._root.section("files")
        if self._root.has("files"):
            given = files.keys()
            self._bundled = {each: files.take(each, a_content) for each in given}
        self._owner = owner or ""
        metrics = [replace(own, sample=sample or Fraction(1)) for own in self._metrics(self._root.section("metrics"))]
        for each in sorted(set(files.keys()) - self._named):
            files.wrong(each, "no metric names it")
        budget = self._budget(metrics)
        self._root.finish()
        if self._problems or name is None or owner is None or epoch is None:
            return None
        if version is None or sample is None or budget is None:
            return None
        alike = {
            "format": FORMAT,
            "epoch": EPOCHS[epoch],
            "segments": {segment: list(values) for segment, values in segments.items()},
            **({"sample": int(sample * WORD)} if sample < 1 else {}),  # all are asked: as it has always been
        }
        everything = alike | {"name": name, "metrics": {metric.name: meaning(metric) for metric in metrics}}
        return Content(
            name,
            owner,
            EPOCHS[epoch],
            budget,
            MappingProxyType(segments),
            MappingProxyType({metric.name: metric for metric in metrics}),
            _digest(everything),
            version,
            MappingProxyType({own.name: _identity(own, alike) for own in metrics}),
            sample,
            self._retired,
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
        every = dict(sorted(section.sections()))
        if not every:
            section.wrong("", "a collection asks at least one question: add [metrics.NAME]")
        allowed = linkage.share(sum(own.says("memoize", True) for own in every.values()))
        self._fed = {name: own.has("of") for name, own in every.items()}
        sources_first = sorted(every, key=self._fed.__getitem__)
        metrics = {name: self._metric(name, every[name], allowed) for name in sources_first}
        return self._numbered([metric for name in every if (metric := metrics[name])], every)

    def _numbered(self, metrics: list[Metric], sections: Mapping[str, Section]) -> list[Metric]:
        """The metrics, with the numbers of their columns in the order of names, and with their sources."""
        numbered: dict[str, Metric] = {}
        after = 0
        for metric in metrics:
            columns = tuple(replace(column, number=after + column.number) for column in metric.columns)
            numbered[metric.name] = replace(metric, columns=columns)
            after += len(columns)
            if after > _MOST_COLUMNS:
                sections[metric.name].wrong("", f"is beyond the {_MOST_COLUMNS} columns that a collection can have")
        for metric in metrics:
            if metric.kind.of:
                sources = tuple(numbered[source] for source in metric.kind.of if source in numbered)
                numbered[metric.name] = replace(numbered[metric.name], sources=sources)
        return list(numbered.values())

    def _source(self, name: str) -> Kind | None:
        """The kind of a metric that feeds another one; None where it has problems of its own."""
        if name not in self._fed:
            raise ValueError(f"there is no metric {name!r}; {hint(name, self._fed)}")
        if self._fed[name]:
            raise ValueError(f"{name!r} is fed itself: name what is recorded, such as its own sources")
        return self._kinds.get(name)

    def _file(self, value: Any) -> File | None:
        """The file that a metric names: of a bundle one that it has, whatever there is beside it."""
        name = a_path(value)
        self._named.add(name)
        if self._bundled is None:
            return self._files.read(name)
        if name not in self._bundled:
            raise ValueError(f"{name!r} is not in [files], which has every file that a bundle names")
        text = self._bundled[name]
        return None if text is None else File(f"{self._label}: {name}", text)

    def _metric(self, name: str, section: Section, allowed: Fraction) -> Metric | None:
        _check_name(section, "", name)
        description = section.take("description", a_text)
        kind_name = section.take("kind", one_of(KINDS))
        instead = KINDS[kind_name].instead if kind_name else None
        epsilon = None if instead and section.has(instead) else section.take("epsilon", an_epsilon)
        expires = _earlier(section.take("expires", _an_end, None), self._retired)
        revision = section.take("revision", whole(1, _MOST_VERSIONS), 1)
        reason = section.take("reason", a_text, "") or ""
        owner = section.take("owner", a_text, self._owner) or ""
        if kind_name is None:
            return None
        kind_class = KINDS[kind_name]
        reduce = section.take("reduce", _a_reducer(kind_class), kind_class.reducers[0])
        mechanism = section.take("mechanism", one_of(("auto", *kind_class.mechanisms)), "auto")
        memoize = section.take("memoize", a_flag, False)
        recalled = section.take("remembered_answers", whole(1, _MOST_RECALLED), None)
        if recalled and not memoize:
            section.wrong("remembered_answers", "goes with memoize = true")
        second = section.take("instantaneous_epsilon", _a_second, None)
        if second and not memoize:
            section.wrong("instantaneous_epsilon", "goes with memoize = true: it is a second randomisation")
        kind = kind_class.read(section)
        if kind:
            self._kinds[name] = kind
        section.finish(lambda key: _of_others(key, kind_class))
        if kind and reduce and (why := kind.unfit(reduce)):
            section.wrong("reduce", why)
        epsilon = kind.cost if kind and not epsilon else epsilon
        if not (description and epsilon and kind and reduce and mechanism and revision):
            return None
        try:
            if memoize:
                mechanisms, instantaneous = _remembered(kind, epsilon, mechanism, second, allowed)
            else:
                mechanisms, instantaneous = kind.columns(epsilon, mechanism), None
        except ValueError as error:
            section.wrong("", str(error))
            return None
        columns = tuple(Column(place, name, each) for place, each in enumerate(mechanisms))
        most = min(recalled or _RECALLED, max(column.mechanism.inputs for column in columns)) if memoize else 0
        return Metric(
            name, description, kind, epsilon, columns, REDUCERS[reduce], bool(memoize), most, instantaneous, expires,
            revision=revision, reason=reason, owner=owner,
        )  # fmt: skip

    def _budget(self, metrics: list[Metric]) -> Budget | None:
        spent = sum((metric.epsilon.value for metric in metrics), Fraction(0))
        deltas = sum((metric.kind.delta for metric in metrics), Fraction(0))
        section = self._root.section("budget")
        if not section.has("epoch"):
            section.wrong("epoch", f"missing; what the metrics spend in an epoch adds up to {float(spent):.15g}")
        epoch = section.take("epoch", a_limit, None)
        lifetime = section.take("lifetime", a_limit, None)
        epoch_delta = section.take("epoch_delta", a_chance, max(EPOCH_DELTA, deltas))
        lifetime_delta = section.take("lifetime_delta", a_chance, LIFETIME_DELTA)
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


def _of_others(key: str, own: type[Kind]) -> str:
    """That a key is one of other kinds; empty where it is of none."""
    found = []
    for kind in KINDS.values():
        nothing = Section("", "", {}, [], Beside(lambda _: None, lambda _: None))
        kind.read(nothing)
        if nothing.knows(key):
            found.append(kind.name)
    return f"it is a key of {', '.join(found)}, and this is a {own.name}; " if found else ""


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


def _identity(metric: Metric, alike: dict[str, Any]) -> int:
    return _digest(alike | {"name": metric.name, "metric": meaning(metric, worded=False)})


def _earlier(expires: date | None, retired: date | None) -> date | None:
    """When a metric of a collection ends: with it, unless it ends before."""
    return min((each for each in (expires, retired) if each), default=None)


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


def _a_part(value: Any) -> Fraction:
    """The chance with which a device takes part, as a coin of 64 bits has it."""
    part = a_number(value)
    if not _LEAST_PART <= part <= 1:
        raise ValueError(f"must lie between {float(_LEAST_PART):.6f} and 1, not at {value}")
    return Fraction(round(part * WORD), WORD)


def _a_reducer(kind: type[Kind]) -> Callable[[Any], str]:
    """A way to reduce an epoch's values that makes sense for a kind."""

    def none(_: Any) -> str:
        raise ValueError("goes with what is recorded: how its sources' values are reduced, they say themselves")

    return none if kind.takes else one_of(kind.reducers)


def _a_second(value: Any) -> Epsilon | str:
    """What one report tells of what is remembered: an epsilon, or all of it."""
    if value == linkage.LINKABLE:
        return linkage.LINKABLE
    try:
        return an_epsilon(value)
    except ValueError as error:
        raise ValueError(f'{error}; or "{linkage.LINKABLE}", to repeat what is remembered as it is') from error


def _an_end(value: Any) -> date | None:
    if value == _NEVER:
        return None
    if type(value) is not date:
        raise TypeError(f'must be a date such as 2027-12-31, without quotes, or "{_NEVER}", not {value!r}')
    return value
