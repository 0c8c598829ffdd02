"""Reads one table of a collection file: takes the keys that it knows, and names what is wrong with the rest.

words:
  beside   what a table can name that is not in it: other metrics, as sources of its own, and other files
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from deniable.epsilon import Epsilon, rational
from deniable.errors import Problem

if TYPE_CHECKING:
    from deniable.kinds import Kind

__all__ = ["Beside", "File", "Section", "hint", "nearest"]

_Value = TypeVar("_Value")
_REQUIRED: Any = object()
_MOST_SPELT = 1000
"""A longer word is no misspelt name, and to compare it takes long."""
_MOST_SOURCES = 256


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, whatever its capitals."""
    if len(word) > _MOST_SPELT:
        return None
    spelt = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(word.casefold(), list(spelt), n=1, cutoff=0.6)
    return spelt[close[0]] if close else None


def hint(word: str, known: Iterable[str]) -> str:
    """What may have been meant by a word that is none of the known ones."""
    known = sorted(known)
    close = nearest(word, known)
    return f"did you mean {close!r}?" if close else f"known: {', '.join(known)}"


class File(NamedTuple):
    """A file that a table names."""

    label: str
    """What errors call it."""
    text: str
    """What it says; its lines end in one sign, on every system."""

    def at(self, line: int) -> str:
        """A line of it, counted from 1, as errors call it."""
        return f"{self.label}:{line}"


class Beside(NamedTuple):
    """Where what a table names beside itself is found."""

    source: Callable[[str], Kind | None]
    """The kind of a metric that feeds others; None where it has problems, a ValueError where it can not feed any."""
    file: Callable[[Any], File | None]
    """The file of a name; None where it has problems of its own, a ValueError where it can not be read."""


_EXAMPLES = {
    key: f", such as {key} = {value}"
    for key, value in {
        "buckets": "64", "clip": "1.0", "description": '"The dark theme is on"', "dimensions": "8", "epoch": '"1d"',
        "epsilon": "1.0", "flags": '["search", "export"]', "kind": '"boolean"', "max_items": "2", "name": '"editor"',
        "norm": '"l2"', "of": '["theme", "platform"]', "owner": '"telemetry@example.org"',
        "paths": '["europe/france", "asia"]', "range": "[0, 480]", "values": '["light", "dark"]',
    }.items()
}  # fmt: skip
"""What could stand where a key is missing."""


class Section:
    """One table of the file, with the problems found so far; taking a key marks it as known."""

    def __init__(self, file: str, where: str, table: dict[str, Any], problems: list[Problem], beside: Beside) -> None:
        self.where = where
        self._beside = beside
        self._file = file
        self._table = table
        self._known: set[str] = set()
        self._problems = problems

    def wrong(self, key: str, what: str, at: str = "") -> None:
        """Note a problem with one key; `at` says where in a file that the key names."""
        where = ".".join(part for part in (self.where, key) if part)
        self._problems.append(Problem(at or self._file, where, what))

    def has(self, key: str) -> bool:
        """Whether the file gives the key."""
        return key in self._table

    def take(self, key: str, read: Callable[[Any], _Value], default: _Value = _REQUIRED) -> _Value | None:
        """The key's value as `read` makes it; a ValueError or TypeError of `read` is a problem, and None."""
        self._known.add(key)
        if key not in self._table:
            if default is _REQUIRED:
                self.wrong(key, f"missing{_EXAMPLES.get(key, '')}")
                return None
            return default
        try:
            return read(self._table[key])
        except (ValueError, TypeError) as error:
            self.wrong(key, str(error))
            return None

    def says(self, key: str, value: Any) -> bool:
        """Whether the file gives the key just this value."""
        return self._table.get(key) is value

    def section(self, key: str) -> Section:
        """A table below this one; empty where it is missing, so that what it lacks is named key by key."""
        self._known.add(key)
        table = self.take(key, a_table) if self.has(key) else None
        where = ".".join(part for part in (self.where, key) if part)
        return Section(self._file, where, table or {}, self._problems, self._beside)

    def sections(self) -> Iterable[tuple[str, Section]]:
        """Every table below this one, by name."""
        for key in self._table:
            yield key, self.section(key)

    def file(self, key: str) -> File | None:
        """The file beside the collection that the key names."""
        return self.take(key, self._beside.file)

    def sources(self, takes: Sequence[str], instead: str = "") -> dict[str, Kind] | None:
        """The kinds of the metrics that the key `of` names, in its order, all of them among those that are taken; of
        others it is said what would do `instead`."""
        names = self.take("of", distinct_texts(1, _MOST_SOURCES))
        found: dict[str, Kind] = {}
        for name in names or ():
            try:
                kind = self._beside.source(name)
            except ValueError as error:
                self.wrong("of", str(error))
                continue
            if kind is not None and kind.name not in takes:
                self.wrong("of", f"{name!r} is of kind {kind.name}; taken: {', '.join(sorted(takes))}{instead}")
            elif kind is not None:
                found[name] = kind
        return found if names is not None and len(found) == len(names) else None

    def keys(self) -> list[str]:
        """Every key that the file gives."""
        return list(self._table)

    def knows(self, key: str) -> bool:
        """Whether the key was taken, whether the file gives it or not."""
        return key in self._known

    def finish(self, elsewhere: Callable[[str], str] = lambda _: "") -> None:
        """Note every key that nobody took, with where it would have been, if that is known."""
        for key in self._table:
            if key not in self._known:
                self.wrong(key, f"unknown key; {elsewhere(key)}{hint(key, self._known)}")


def a_table(value: Any) -> dict[str, Any]:
    """The value, if it is a table."""
    if not isinstance(value, dict):
        raise TypeError(f"must be a table, not {_shown(value)}")
    return value


def a_text(value: Any) -> str:
    """The value, if it is a text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"must be a text that is not empty, not {_shown(value)}")
    return value


def a_flag(value: Any) -> bool:
    """The value, if it is true or false."""
    if not isinstance(value, bool):
        raise TypeError(f"must be true or false, not {_shown(value)}")
    return value


def a_number(value: Any) -> Fraction:
    """The value, if it is a finite number, exactly as written."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise TypeError(f"must be a number, not {_shown(value)}")
    return rational(value)


def a_range(value: Any) -> tuple[Fraction, Fraction]:
    """The value, if it is a list of two numbers."""
    if not isinstance(value, list) or len(value) != 2:
        raise TypeError(f"must be a list of two numbers such as [0, 480], not {value!r}")
    return a_number(value[0]), a_number(value[1])


def a_limit(value: Any) -> Fraction:
    """The value, if it is a number greater than 0."""
    limit = a_number(value)
    if limit <= 0:
        raise ValueError(f"must be greater than 0, not {value}")
    return limit


def a_chance(value: Any) -> Fraction:
    """The value, if it is a number between 0 and 1, neither included."""
    chance = a_number(value)
    if not 0 < chance < 1:
        raise ValueError(f"must lie between 0 and 1, not at {value}")
    return chance


def an_epsilon(value: Any) -> Epsilon:
    """The value, if it is what an answer can cost."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        raise TypeError(f'must be a number, or a logarithm such as "ln 3", not {_shown(value)}')
    epsilon = Epsilon.of(value)
    if (epsilon.value * 10**12).denominator != 1:
        raise ValueError("can have 12 decimals: the ledger counts in units of 10^-12")
    return epsilon


def whole(low: int, high: int) -> Callable[[Any], int]:
    """Reads a whole number within bounds."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"must be a whole number from {low} to {high}, not {_shown(value)}")
        return value

    return read


def one_of(known: Iterable[str]) -> Callable[[Any], str]:
    """Reads one of some words."""
    words = list(known)

    def read(value: Any) -> str:
        if value not in words:
            meant = hint(value, words) if isinstance(value, str) else f"known: {', '.join(sorted(words))}"
            raise ValueError(f"unknown word {_shown(value)}; {meant}")
        return str(value)

    return read


def distinct_texts(low: int, high: int) -> Callable[[Any], tuple[str, ...]]:
    """Reads a list of texts, all different."""

    def read(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not low <= len(value) <= high:
            count = f"{len(value)} of them" if isinstance(value, list) else _shown(value)
            raise ValueError(f"must be a list of {low} to {high} texts, not {count}")
        texts = [a_text(item) for item in value]
        if len(set(texts)) < len(texts):
            twice = Counter(texts).most_common(1)[0][0]
            raise ValueError(f"has {twice!r} twice")
        return tuple(texts)

    return read


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, Decimal) else repr(value)
