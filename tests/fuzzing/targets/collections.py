"""Collection files: refused with what is wrong, or a collection that is the same however it is written."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tools.porting import ROOT

from deniable import Collection, CollectionError
from deniable.mechanisms import MECHANISMS
from deniable_aggregator.serving.server import layout_of
from fuzzing.target import Target
from mechanisms.registered import ASKED
from planning.everything import COLLECTION, KINDS, METRIC
from support.collection_files import LARGE, SMALL

__all__ = ["TARGET", "loaded", "same"]

_SHORT = 900
_WORDS = (
    "kind", "values", "range", "step", "epsilon", "memoize", "true", "instantaneous_epsilon", "mechanism", "expires",
    "buckets", "max", "paths", "of", "pairs", "norm", "bound", "entries", "delta", "at_most", "segments", "budget",
    "lifetime", "epoch", "sample", "version", "revision", "reduce", "files", "unit", "known", "remembered_answers",
    '"ln 3"', "inf", "nan", "1e999999", "1e-999999", "0.1", "-1", "2030-12-31", "[metrics.a]", "linkable", "never",
)  # fmt: skip


def loaded(data: bytes) -> Collection | str:
    """The collection of a file that says this, or why it is none."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "not UTF-8"
    try:
        return Collection.loads(text)
    except CollectionError as error:
        assert error.problems
        for problem in error.problems:
            assert problem.file == "<text>"
            assert problem.what
            assert len(str(problem)) < 2000 + 8 * len(text), "told in far more than was said"
        return "not TOML" if str(error.problems[0]).startswith("<text>: not TOML") else "refused"


def judge(data: bytes) -> str:
    """A collection that is taken can be kept, served and written anew, and is the same then."""
    own = loaded(data)
    if isinstance(own, str):
        return own
    same(own, tomllib.loads(data.decode(), parse_float=Decimal))
    return "loaded"


def same(own: Collection, table: Mapping[str, Any]) -> None:
    """It is what its table says, in whichever order and form that is written."""
    again = Collection.loads(_written(table))
    assert (again.digest, again.identities, again.version) == (own.digest, own.identities, own.version)
    assert again.columns == own.columns
    assert [column.number for column in own.columns] == list(range(len(own.columns)))
    spent = sum((metric.epsilon.value for metric in own.metrics.values()), Fraction(0))
    assert spent <= own.budget.epoch
    assert all(column.mechanism.name in MECHANISMS for column in own.columns)
    assert all(column.mechanism.inputs >= 1 for column in own.columns)
    layout = layout_of(own)
    assert layout.digest == own.digest


def _written(table: Mapping[str, Any]) -> str:
    """A table as TOML, in the order of its keys backwards, everything in one line each."""
    return "\n".join(f"{_key(key)} = {_value(table[key])}" for key in sorted(table, reverse=True))


def _key(key: str) -> str:
    return _value(key)


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value).replace("\x7f", "\\u007f")
        case Mapping():
            return "{" + ", ".join(f"{_key(key)} = {_value(own)}" for key, own in reversed([*value.items()])) + "}"
        case list():
            return "[" + ",\n".join(map(_value, value)) + "]"
        case date():
            return value.isoformat()
        case Decimal() if value.is_finite():
            return str(value) if "." in str(value) or "E" in str(value) else f"{value}.0"
        case _:
            return str(value).lower()


def seeds() -> list[bytes]:
    """Each way to ask alone, and short files: what takes long to read is not tried as often."""
    ways = {each.name: each for each in (*ASKED.values(), *KINDS)}
    alone = [
        COLLECTION + METRIC.format(name=own.name, epsilon=2, rest=own.table)
        for own in ways.values()
        if "of = " not in own.table
    ]
    files = [(ROOT / "collections" / name).read_text("utf-8") for name in ("part.toml", "survey.toml")]
    return [text.encode() for text in (SMALL, LARGE, *alone, *files) if len(text) <= _SHORT]


TARGET = Target(
    judge,
    seeds,
    frozenset({"loaded", "refused", "not TOML", "not UTF-8"}),
    words=tuple(word.encode() for word in _WORDS),
    text=True,
    longest=1500,
)
