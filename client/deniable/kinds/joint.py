"""Joint: the values of two or more other metrics together, as one answer.

words:
  cell     a value of each source that a column is about; what a device is in one of
  table    all cells of a column: of all sources, or with `pairs` of two of them
  target   with `pairs`: the source that is in every pair
  feature  with `pairs`: any other source; a column each

One answer about all sources knows how any of them go together, and grows with the product of their values. Pairs are
for many features of one target: a device answers one pair, drawn with the same chance for each, at all of epsilon.
That is what naive Bayes needs, and as many reports a pair as with d answers at epsilon / d are worth far less: at
epsilon 1 and ten features of four values each, one pair at all of epsilon is worth ten times as much.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from deniable._section import Section, a_text, hint
from deniable.epsilon import Epsilon
from deniable.kinds import _levels
from deniable.kinds._fed import Fed
from deniable.kinds._kind import Kind
from deniable.kinds._levelled import Levelled
from deniable.kinds.boolean import Boolean
from deniable.kinds.category import Category
from deniable.kinds.ordinal import Ordinal
from deniable.mechanisms import Mechanism, SubsetSelection, Supporting, choices, choose, fitting

__all__ = ["Joint", "joined", "parted"]

BETWEEN = "/"
"""Stands between the values of a cell, with a space on either side."""

_INSTEAD = "; of a quantity record the range that it is in as an ordinal, of flags each as a boolean"
_ESCAPED = re.compile(r"\\(.)")


def joined(parts: Sequence[str], between: str = BETWEEN) -> str:
    """One name of several, that no other parts have: where one of them has what stands between two, at an end or
    beside a space, that has a backslash before it, and so has every backslash."""
    sign = re.escape(between)
    mistaken = re.compile(rf"\\|(?<![^ ]){sign}|{sign}(?![^ ])")
    return f" {between} ".join(mistaken.sub(r"\\\g<0>", part) for part in parts)


def parted(name: str, between: str = BETWEEN) -> tuple[str, ...]:
    """The parts that are joined to this name."""
    return tuple(_ESCAPED.sub(r"\1", part) for part in name.split(f" {between} "))


@dataclass(frozen=True, slots=True)
class Joint(Fed, Levelled):
    """What all of its sources have together, or with `pairs` its target and one of the others."""

    name: ClassVar[str] = "joint"
    reducers: ClassVar[tuple[str, ...]] = Fed.reducers
    takes: ClassVar[tuple[str, ...]] = (Boolean.name, Category.name, Ordinal.name)
    mechanisms: ClassVar[tuple[str, ...]] = tuple(name for name, sort in fitting(2).items() if sort.even)
    most_cells: ClassVar[int] = SubsetSelection.most_answers
    """The largest table."""

    sources: tuple[tuple[str, Kind], ...]
    pairs: str = ""
    """The target; empty: all sources are answered about together."""

    @classmethod
    def read(cls, section: Section) -> Joint | None:
        """Reads `of` and `pairs`."""
        sources = section.sources(cls.takes, _INSTEAD)
        pairs = section.take("pairs", a_text, "")
        if sources is None or pairs is None:
            return None
        if len(sources) < 2:
            section.wrong("of", "takes two metrics or more: what is recorded for one, that one says")
            return None
        if pairs and pairs not in sources:
            section.wrong("pairs", f"is the target, one of the metrics in `of`; {hint(pairs, sources)}")
            return None
        found = cls(tuple(sources.items()), pairs)
        if why := found.too_large():
            section.wrong("of", why)
            return None
        return found

    def too_large(self) -> str:
        """Why a table has too many cells, and what would fit; empty where none has."""
        most = max(self.sizes)
        if most <= self.most_cells:
            return ""
        about = self.tables[self.sizes.index(most)]
        says = f"{' x '.join(about)} makes {most:,} cells, and a table has at most {self.most_cells:,}: "
        counts = self._counts
        if self.pairs:
            fits = self.most_cells // counts[self.pairs]
            return says + f"with {counts[self.pairs]:,} values of {self.pairs!r} a feature can have {fits:,}"
        fewer = [name for name in about if most // counts[name] <= self.most_cells and len(about) > 2]
        ways = [f"leave out {' or '.join(map(repr, fewer))}"] if fewer else []
        two = math.prod(sorted(counts.values())[-2:])
        if len(about) > 2 and two <= self.most_cells:
            ways.append(f"take pairs = {about[0]!r}, for what it has to do with each of the others")
        return says + (", or ".join(ways) or 'ask for fewer values, such as the most frequent ones and "other"')

    def parameters(self) -> dict[str, Any]:
        """The target, if it has one; its sources are told beside it."""
        return {"pairs": self.pairs} if self.pairs else {}

    @property
    def _counts(self) -> dict[str, int]:
        return {name: len(kind.names(0)) for name, kind in self.sources}

    @property
    def features(self) -> tuple[str, ...]:
        """With `pairs`, the sources beside the target."""
        return tuple(name for name in self.of if name != self.pairs)

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The sources that each column is about."""
        return tuple((self.pairs, feature) for feature in self.features) if self.pairs else (self.of,)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each column has."""
        counts = self._counts
        return tuple(math.prod(counts[name] for name in table) for table in self.tables)

    def values(self, name: str) -> Sequence[str]:
        """What the values of a source are called."""
        return dict(self.sources)[name].names(0)

    def slopes(self, variances: Sequence[float]) -> _levels.Slopes:
        """All alike: no pair is more welcome than another."""
        return lambda found: [1.0 for _ in zip(found, variances, strict=True)]

    def columns(self, epsilon: Epsilon, mechanism: str) -> tuple[Supporting, ...]:
        """One for each table, by the best of those whose sums of cells are known to vary by a certain amount."""
        return tuple(self._best(epsilon, size, mechanism) for size in self.sizes)

    def _best(self, epsilon: Epsilon, cells: int, mechanism: str) -> Supporting:
        if mechanism != "auto":
            return choose(epsilon, cells, mechanism)
        return next(each.mechanism for each in choices(epsilon, cells) if each.name in self.mechanisms)

    def memoized(self, epsilon: Epsilon, fresh: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """Where all sources are one answer, as a category of its cells; else not, as for whatever draws a column."""
        if self.pairs:
            return Levelled.memoized(self, epsilon, fresh, mechanism)
        return Category(tuple(map(str, range(self.sizes[0])))).memoized(epsilon, fresh, mechanism)

    def apart(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Of every source two values that are."""
        ends = {name: kind.apart() for name, kind in self.sources}
        return {name: end[0] for name, end in ends.items()}, {name: end[1] for name, end in ends.items()}

    def names(self, place: int) -> tuple[str, ...]:
        """Payloads are called by their cells; with `pairs` also by the feature."""
        return _cells(self.tables[place][1] if self.pairs else "", *map(self.values, self.tables[place]))

    def place(self, value: Any, level: int) -> int:
        """The cell of a column that a value is in."""
        kinds, place = dict(self.sources), 0
        for name in self.tables[level]:
            kind = kinds[name]
            place = place * len(kind.names(0)) + kind.encode(value[name], (), int)[1]
        return place

    def encode(self, value: Any, columns: Sequence[Mechanism], draw: Callable[[], int]) -> tuple[int, int]:
        """Into the one column, or into that of a pair which is drawn whatever the value: the cell."""
        return Levelled.encode(self, value, columns, draw) if self.pairs else (0, self.place(value, 0))


@lru_cache(maxsize=32)
def _cells(feature: str, *values: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{feature}: {joined(cell)}" if feature else joined(cell) for cell in itertools.product(*values))
