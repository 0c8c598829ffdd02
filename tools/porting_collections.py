# ruff: noqa: SLF001 - the text that a digest is made of is nobody's but the reader's
"""Vectors of collections: what a file's text says, as integers; and of kinds: what values become a mechanism's input.

words:
  canonical  the text that a digest is made of: all that reports mean, with the thresholds of every column
  ends       of a metric that draws one of its columns: below which words each is drawn
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from tools.porting_mechanisms import numbers, shape
from tools.porting_words import Stream, hexes

from deniable import Collection, Metric, codebook
from deniable.collection import _reader
from deniable.epsilon import Epsilon
from deniable.kinds import Kind, Quantity
from deniable.kinds._levelled import Levelled
from deniable.kinds._levels import thresholds
from deniable.kinds._spelling import _every
from deniable.randomness import WORD

__all__ = ["Loaded", "book", "collections", "ends", "kinds", "loaded"]

_VALUES: dict[str, list[Any]] = {
    "boolean": [False, True],
    "count": [0, 1, 3, 19, 20, 21, 1 << 53],
    "text": [
        "e",
        "Straße",
        "to be, or not to be",
        "  New\u2003York ",
        "日本語",
        "x" * 24,
        "x" * 25,
        "~" * 24,
        "\U0001f600",
    ],
}
_QUANTITIES = (-1e300, -0.5, 0, 0.1, 1 / 3, 0.5, 0.75, 1, 2.999, 1e300)
"""As parts of the range, beyond it too."""
_PARTS = ((0, 0), (1, 0), (0.25, -0.5), (-3, 4), (1e-9, 0.3))
"""Of a vector's clip, over and over."""


class Loaded(NamedTuple):
    """A collection, and of which texts its digest and its metrics' identities are made."""

    file: str
    collection: Collection
    canonical: str
    identities: dict[str, str]


def loaded(file: str, root: Path) -> Loaded:
    """That of a file; its texts are noted while the reader makes numbers of them."""
    texts: dict[int, str] = {}

    def noted(meaning: dict[str, Any], real: Any = _reader._digest) -> int:
        text = json.dumps(meaning, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        number: int = real(meaning)
        assert hashlib.sha256(text.encode()).digest()[:8] == number.to_bytes(8, "big")
        texts[number] = text
        return number

    real, _reader._digest = _reader._digest, noted
    try:
        collection = Collection.load(root / file)
    finally:
        _reader._digest = real
    identities = {name: texts[identity] for name, identity in collection.identities.items()}
    return Loaded(file, collection, texts[collection.digest], identities)


def collections(every: list[Loaded]) -> list[dict[str, Any]]:
    """All that is made of each file's text."""
    return [_told(each) for each in every]


def _told(each: Loaded) -> dict[str, Any]:
    collection = each.collection
    return {
        "file": each.file,
        "name": collection.name,
        "version": collection.version,
        "epoch_seconds": collection.epoch_seconds,
        "segments": [[name, list(values)] for name, values in collection.segments.items()],
        "budget": {name: _known(getattr(collection.budget, name)) for name in collection.budget.__slots__},
        "canonical": each.canonical,
        "digest": f"{collection.digest:016x}",
        "metrics": [_metric(each, metric) for metric in collection.metrics.values()],
    }


def _metric(each: Loaded, metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "kind": metric.kind.name,
        "canonical": each.identities[metric.name],
        "identity": f"{each.collection.identities[metric.name]:016x}",
        "epsilon": _epsilon(metric.epsilon),
        "delta": str(metric.kind.delta),
        "memoize": metric.memoize,
        "remembered_answers": metric.recalled,
        "instantaneous_epsilon": None if metric.instantaneous is None else _epsilon(metric.instantaneous),
        "expires": _known(metric.expires),
        "sources": [source.name for source in metric.sources],
        "ends": [str(end) for end in ends(metric)],
        "columns": [
            {
                "number": column.number,
                "mechanism": column.mechanism.name,
                "parameters": numbers(column.mechanism.parameters()),
                "shape": shape(column),
            }
            for column in metric.columns
        ],
    }


def _epsilon(epsilon: Epsilon) -> dict[str, str]:
    return {"text": str(epsilon), "value": str(epsilon.value), "exp": str(epsilon.exp)}


def _known(value: object) -> str | None:
    return None if value is None else str(value)


def ends(metric: Metric) -> tuple[int, ...]:
    """Below which words each of its columns is drawn; none where it has no drawn one, or draws them evenly."""
    if not isinstance(metric.kind, Levelled) or len(metric.columns) < 2:
        return ()
    return thresholds(metric.kind.allotment([column.mechanism for column in metric.columns]))


def kinds(every: list[Loaded]) -> dict[str, Any]:
    """What a value becomes, of every metric."""
    cases = [
        [each.collection.name, metric.name, *case]
        for each in every
        for metric in each.collection.metrics.values()
        for case in _cases(metric, Stream(f"kind {each.collection.name} {metric.name}"))
    ]
    return {"case": ["collection", "metric", "value", "words", "column", "input"], "cases": cases}


def _cases(metric: Metric, stream: Stream) -> list[list[Any]]:
    """Each value with some words, of which every other first one is where another column begins."""
    kind, mechanisms = metric.kind, [column.mechanism for column in metric.columns]
    marks = ends(metric) or [-(-WORD * each // len(mechanisms)) for each in range(len(mechanisms) + 1)]
    edges = [edge for mark in marks for edge in (mark - 1, mark) if 0 <= edge < WORD]
    values = _values(kind)
    each = max(48 // len(values), 2)
    found = []
    for place, value in enumerate(values):
        for number in range(each):
            words = _Given(stream, edges[(place * each + number) % len(edges)] if number % 2 else stream.word())
            column, chosen = kind.encode(kind.check(value), mechanisms, words.draw)
            found.append([value, hexes(words.taken), metric.columns[column].number, f"{chosen:x}"])
    return found


class _Given:
    """Words for one value, and which of them were taken."""

    def __init__(self, stream: Stream, first: int) -> None:
        self._stream = stream
        self._first = first
        self.taken: list[int] = []

    def draw(self) -> int:
        """The next one."""
        self.taken.append(self._stream.word() if self.taken else self._first)
        return self.taken[-1]


def _values(kind: Kind) -> list[Any]:
    """Some that it takes."""
    if (isinstance(kind, Quantity) and kind.name == "number") or kind.name == "distribution":
        low, high = kind.ends if isinstance(kind, Quantity) else (float(kind.low), float(kind.high))  # type: ignore[attr-defined]
        return [part if abs(part) > 3 else low + (high - low) * part for part in _QUANTITIES]
    if kind.name == "vector":
        clip, size = float(kind.clip), kind.dimensions  # type: ignore[attr-defined]
        return [[clip * parts[place % 2] for place in range(size)] for parts in _PARTS]
    if kind.of:
        sources = dict(kind.sources)  # type: ignore[attr-defined]
        lists = {name: _values(source) for name, source in sources.items()}
        return [
            {name: own[number % len(own)] for name, own in lists.items()}
            for number in range(math.lcm(*map(len, lists.values())))
        ]
    if kind.name in _VALUES:
        return _VALUES[kind.name]
    names = list(kind.parameters().get("paths") or kind.names(0))
    if kind.name in {"flags", "set"}:
        return [[], names[:1], names[-1:], names[::2], names]
    return names[:8]


def book() -> dict[str, Any]:
    """The table that codewords are made of, its upper half by differences; and one codebook's beginning."""
    upper = [int(entry) for entry in codebook.table()[codebook.PARTS // 2 :]]
    return {
        "upper": [upper[0], *(after - before for before, after in itertools.pairwise(upper))],
        "codewords": [
            [seed, number, entries, codebook.codeword(seed, number, entries).hex()]
            for seed, number, entries in ((0, 0, 1), (1, 63, 4), (2**40 - 1, 64, 4), (7, 255, 10), (9, 5, 300))
        ],
        "spelling": [f"{own.bits:0{own.length}b}" if own.length else "" for own in _every()[:-1]],
    }
