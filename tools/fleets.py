"""Fleets: metrics of every kind, and populations whose truth is known, for whatever simulates them.

words:
  fleet      a population: the values that occur, and how many of the devices have each
  case       a metric, and a fleet that answers it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from deniable import Collection, Metric

__all__ = ["Case", "Fleet", "cases"]

_HEAD = """
[collection]
name = "coverage"
epoch = "1d"
owner = "a"
[budget]
epoch = 1000
"""
_LETTERS = "abcdefghijklmnop"
_MANY = [f"value {number}" for number in range(60)]


def _texts(texts: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{text}"' for text in texts) + "]"


_SOURCES = "".join(
    f'[metrics.{name}{{number}}]\nkind = "category"\nvalues = {_texts(values)}\ndescription = "d"\nepsilon = 1\n'
    for name, values in (("few", _LETTERS[:2]), ("more", _LETTERS[:3]))
)
_METRICS = {
    "boolean": 'kind = "boolean"',
    "boolean, remembered": 'kind = "boolean"\nmemoize = true\ninstantaneous_epsilon = {epsilon}',
    "category of 5": f'kind = "category"\nvalues = {_texts(_LETTERS[:5])}',
    "category of 16": f'kind = "category"\nvalues = {_texts(_LETTERS)}',
    "category of 60": f'kind = "category"\nvalues = {_texts(_MANY)}\nmechanism = "projective_geometry"',
    "ordinal of 7": f'kind = "ordinal"\nvalues = {_texts(_LETTERS[:7])}\nmechanism = "exponential"',
    "number": 'kind = "number"\nrange = [0, 60]',
    "number, one bit": 'kind = "number"\nrange = [0, 60]\nmechanism = "one_bit"',
    "number, Laplace": 'kind = "number"\nrange = [0, 60]\nmechanism = "laplace"',
    "count": 'kind = "count"\nmax = 20',
    "count of events": 'kind = "count"\nmax = 100\nprivacy_unit = "event"',
    "distribution of 4": 'kind = "distribution"\nrange = [0, 4]\nbuckets = 4',
    "text, any word": 'kind = "text"\nmax_bytes = 8',
    "tree of 5": 'kind = "tree"\npaths = ["a/x", "a/y", "b", "c/x", "c/y"]',
    "4 flags": 'kind = "flags"\nflags = ["a", "b", "c", "d"]\nmechanism = "bitwise_response"',
    "4 flags, one drawn": 'kind = "flags"\nflags = ["a", "b", "c", "d"]\nmechanism = "randomized_response"',
    "set of 2 out of 8": f'kind = "set"\nvalues = {_texts(_LETTERS[:8])}\nmax_items = 2',
    "joint of 2 by 3": f'kind = "joint"\nof = ["few{{number}}", "more{{number}}"]\n{_SOURCES}',
    "vector, l2": 'kind = "vector"\ndimensions = 2\nclip = 1\nnorm = "l2"\ndelta = 1e-9\nfleet = 1000000',
    "vector, l1": 'kind = "vector"\ndimensions = 2\nclip = 1\nnorm = "l1"\nmechanism = "vector_laplace"',
    "vector, codewords": 'kind = "vector"\ndimensions = 2\nclip = 1\nnorm = "l2"',
}


@dataclass(frozen=True)
class Fleet:
    """A population."""

    name: str
    values: Sequence[Any]
    devices: Sequence[int]
    """How many of the devices have each value."""


def _equal(values: Sequence[Any]) -> Fleet:
    return Fleet("uniform", values, [1] * len(values))


def _skewed(values: Sequence[Any], *devices: int) -> Fleet:
    """The first values occur, the others do not."""
    return Fleet("skewed", values[: len(devices)], devices)


def _falling(count: int) -> tuple[int, ...]:
    """As frequent as one over their rank."""
    return tuple(5040 // rank for rank in range(1, count + 1))


_PAIRS = [[_LETTERS[place], _LETTERS[(place + 3) % 8]] for place in range(8)]
_TOGETHER = [{"few{number}": few, "more{number}": more} for few in _LETTERS[:2] for more in _LETTERS[:3]]
_LEAVES = ["a/x", "a/y", "b", "c/x", "c/y"]
_FLEETS: dict[str, tuple[Fleet, Fleet]] = {
    "boolean": (_equal([True, False]), _skewed([True, False], 1, 49)),
    "category of 5": (_equal(_LETTERS[:5]), _skewed(_LETTERS, *_falling(3))),
    "category of 16": (_equal(_LETTERS), _skewed(_LETTERS, *_falling(8))),
    "category of 60": (_equal(_MANY), _skewed(_MANY, *_falling(30))),
    "ordinal": (_equal(_LETTERS[:7]), _skewed(_LETTERS, *_falling(4))),
    "number": (_equal(range(61)), _skewed([0, 5, 60], 14, 5, 1)),
    "count": (_equal(range(21)), _skewed([0, 3, 20], 14, 5, 1)),
    "distribution": (_equal([0.5, 1.5, 2.5, 3.5]), _skewed([0.5, 1.5, 3.5], 14, 5, 1)),
    "text": (_equal(["a", "b", _LETTERS, "d"]), _skewed([_LETTERS, "a"], 19, 1)),
    "tree": (_equal(_LEAVES), _skewed(_LEAVES, 6, 3, 1)),
    "4 flags": (_equal([[flag for place, flag in enumerate("abcd") if bits >> place & 1] for bits in range(16)]),
                _skewed([[], ["a"], ["a", "b"]], 6, 3, 1)),
    "joint": (_equal(_TOGETHER), _skewed(_TOGETHER[::2], 9, 4, 2)),
    "set": (_equal(_PAIRS), _skewed([[], ["a"], ["a", "b"]], 5, 3, 2)),
    "vector": (_equal([[0.5, 0.5], [0.5, -0.5], [-0.5, 0.5], [-0.5, -0.5]]),
               _skewed([[0, 0], [1, 0], [0, -1]], 16, 3, 1)),
}  # fmt: skip
"""By the beginning of a metric's name."""


@dataclass(frozen=True)
class Case:
    """A metric, and a fleet that answers it."""

    name: str
    metric: Metric
    fleet: Fleet

    def __str__(self) -> str:
        return f"{self.name}, {self.fleet.name}"


def cases(epsilon: str) -> list[Case]:
    """Every kind, with every mechanism whose intervals are made in another way, at one epsilon; two fleets each."""
    text = [_HEAD]
    for number, rest in enumerate(_METRICS.values()):
        own = rest.format(epsilon=epsilon, number=number)
        text.append(f'[metrics.m{number}]\ndescription = "d"\nepsilon = {epsilon}\n{own}\n')
    collection = Collection.loads("".join(text))
    found = []
    for number, name in enumerate(_METRICS):
        fleets = next(both for start, both in _FLEETS.items() if name.startswith(start))
        found += [Case(name, collection.metrics[f"m{number}"], _sourced(fleet, number)) for fleet in fleets]
    return found


def _sourced(fleet: Fleet, number: int) -> Fleet:
    """The fleet, whose values are by the names that the sources of a metric have in the collection of all."""
    if not isinstance(fleet.values[0], dict):
        return fleet
    values = [{key.format(number=number): own for key, own in value.items()} for value in fleet.values]
    return replace(fleet, values=values)
