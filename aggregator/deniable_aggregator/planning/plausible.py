"""A truth that a fleet could have, made of nothing but a collection: for who wants answers before devices exist.

Of a few values the first are the most frequent, as names and words are in the world; quantities are low more often
than high. Nobody's devices are like that: it is there to be seen, to be edited, and to be given as a truth file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from deniable import Collection
from deniable.kinds import Boolean, Count, Distribution, Flags, Kind, Number, Set, Text, Tree, Vector

__all__ = ["PLAUSIBLE", "plausible"]

_MOST = 12
"""So many values a metric has at most."""
_WORDS = ("search", "export", "sync", "theme", "print", "share", "help", "undo", "merge", "zoom", "paste", "find")
_MOST_COUNTED = 20
"""Of a count without a greatest one."""

_Values = Sequence[Any]


def _named(names: Sequence[str]) -> list[str]:
    return list(names[:_MOST])


def _spread(low: float, high: float) -> list[float]:
    """Values of a range, nearer to each other at its low end."""
    return [round(low + (high - low) * (place / _MOST) ** 2, 3) for place in range(_MOST)]


def _together(names: Sequence[str], most: int) -> list[list[str]]:
    """Nothing, the first one, the first two, and so on."""
    return [[], *(list(own) for own in accumulate([name] for name in names[: min(most, _MOST - 1)]))]


def _boolean(_: Boolean) -> _Values:
    return [True, False]


def _number(kind: Number) -> _Values:
    return _spread(*kind.ends)


def _count(kind: Count) -> _Values:
    return sorted({round(own) for own in _spread(0, _MOST_COUNTED if kind.most is None else kind.most)})


def _distribution(kind: Distribution) -> _Values:
    return _spread(float(kind.low), float(kind.high))


def _flags(kind: Flags) -> _Values:
    return _together(kind.flags, len(kind.flags))


def _set(kind: Set) -> _Values:
    return _together(kind.values, kind.most)


def _text(kind: Text) -> _Values:
    return [word for word in _WORDS if kind.is_word(kind.word(word))] or [""]


def _tree(kind: Tree) -> _Values:
    return _named(kind.paths)


def _vector(kind: Vector) -> _Values:
    """The first entries one by one, half as long as may be."""
    half = float(kind.clip) / 2
    return [
        [half if own == place else 0.0 for own in range(kind.dimensions)]
        for place in range(min(kind.dimensions, _MOST))
    ]


def _one_of(kind: Any) -> _Values:
    return _named(kind.values)


PLAUSIBLE: dict[str, Callable[[Any], _Values]] = {
    "boolean": _boolean,
    "category": _one_of,
    "ordinal": _one_of,
    "number": _number,
    "count": _count,
    "distribution": _distribution,
    "flags": _flags,
    "set": _set,
    "text": _text,
    "tree": _tree,
    "vector": _vector,
}
"""By kind: some values, the most frequent first. What is fed has what its sources have."""


def plausible(collection: Collection) -> str:
    """A truth file for a collection."""
    tables = [_table(name, metric.kind) for name, metric in collection.metrics.items() if not metric.sources]
    return "\n".join(tables)


def _table(name: str, kind: Kind) -> str:
    values = PLAUSIBLE[kind.name](kind)
    weights = [round(60 / (place + 1)) for place in range(len(values))]
    return f"[{name}]\nvalues = {_toml(values)}\nweights = {_toml(weights)}\n"


def _toml(values: Sequence[Any]) -> str:
    """As TOML and JSON write them alike: lists, texts, numbers, true and false."""
    return json.dumps(values, ensure_ascii=False)
