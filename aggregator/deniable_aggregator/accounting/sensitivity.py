"""Sensitivity: how far one person moves what is computed from a table, found by search, for whatever numpy computes.

words:
  table       a row for each person, each of which is one of the domain
  domain      all rows that a person can have; of a range, its ends and some points between
  neighbours  two tables that are to be confused: in one of which a person is added or removed, or has another row
  distance    between two results: the sizes of all differences added up (norm 1), their root of squares (2), or the
              greatest (inf)
  whole       every pair of neighbours was looked at: no two lie farther apart

Which neighbours are meant decides what noise is enough. Who counts people in buckets needs noise of scale 1/epsilon
to hide that somebody is there, and of 2/epsilon to hide in which bucket they are: they leave one and come into
another. A device's own answer is always replaced, as that it answers is seen.

**Search.** Of few tables all are computed, and along each person's axis the results are compared. Of more, pairs
are climbed, from tables at random, of one row only, and of two rows half and half: to the pair that is farthest
apart among those that differ by a row of either's, until there is none. What is found so is a distance that occurs:
sensitivity is at least that, and noise can not be sized by it. It finds bounds that are too small. (Dwork,
McSherry, Nissim, Smith, 2006, is where sensitivity is from.)
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Move", "Neighbours", "moved"]

_TABLES = 1 << 14
"""So many tables, at most, are all computed."""

_Floats = NDArray[np.float64]
_Places = tuple[int, ...]
_Function = Callable[[NDArray[Any]], ArrayLike]


class Neighbours(enum.Enum):
    """Which tables are to be confused."""

    ADDED = "one is added or removed"
    REPLACED = "one has another row"


class Move(NamedTuple):
    """How far one person moves a result."""

    distance: float
    """Between the results of two neighbours."""
    one: NDArray[Any]
    """A table."""
    other: NDArray[Any]
    """Its neighbour, which lies as far from it."""
    whole: bool
    """Whether no neighbours lie farther apart, among tables of so many people."""


def moved(
    function: _Function,
    domain: Sequence[Any],
    people: int,
    neighbours: Neighbours,
    norm: float = 1,
    generator: np.random.Generator | None = None,
    climbs: int = 30,
) -> Move:
    """How far one of so many people moves a function of their table; of too many tables, found by climbing."""
    if people < 1 or len(domain) < 2:
        raise ValueError(f"{people} people with {len(domain)} possible rows have no neighbours")
    rows = np.asarray(domain)
    search = _Search(function, rows, people, neighbours, norm)
    if len(domain) ** people <= _TABLES:
        return search.whole()
    return search.climbed(generator or np.random.default_rng(0), climbs)


class _Search:
    """Looks for the pair that is farthest apart."""

    def __init__(
        self, function: _Function, rows: NDArray[Any], people: int, neighbours: Neighbours, norm: float
    ) -> None:
        self._function = function
        self._rows = rows
        self._people = people
        self._neighbours = neighbours
        self._norm = norm

    def whole(self) -> Move:
        """Every pair."""
        every = self._results(self._people)
        if self._neighbours is Neighbours.REPLACED:
            pairs = [
                (np.take(every, [first], person), np.take(every, [second], person), person, first, second)
                for person in range(self._people)
                for first, second in itertools.combinations(range(len(self._rows)), 2)
            ]
        else:
            fewer = self._results(self._people - 1)
            pairs = [
                (np.take(every, [first], person), np.expand_dims(fewer, person), person, first, -1)
                for person in range(self._people)
                for first in range(len(self._rows))
            ]
        distance, places, second = max((self._farthest(*pair) for pair in pairs), key=lambda found: found[0])
        person, replaced = second
        return self._move(distance, places, person, replaced, whole=True)

    def climbed(self, generator: np.random.Generator, climbs: int) -> Move:
        """From many pairs upwards."""
        found = (-1.0, (0,) * self._people, 0, 0)
        for climb in range(climbs):
            places = self._start(climb, generator)
            person, second = int(generator.integers(self._people)), int(generator.integers(len(self._rows)))
            found = max(found, self._top(places, person, second), key=lambda each: each[0])
        return self._move(*found, whole=False)

    def _start(self, climb: int, generator: np.random.Generator) -> _Places:
        """A table at random, one of a single row, or one of two rows half and half, in turn."""
        if climb % 3 == 0:
            return tuple(generator.integers(len(self._rows), size=self._people).tolist())
        first, second = generator.permutation(len(self._rows))[:2].tolist()
        own = self._people // (climb % 3)
        return (first,) * own + (second,) * (self._people - own)

    def _top(self, places: _Places, person: int, second: int) -> tuple[float, _Places, int, int]:
        """Up from one pair, as far as another row of anybody's leads up."""
        best = self._distance(places, person, second), places, person, second
        higher = True
        while higher:
            higher = False
            for who, place in itertools.product(range(-1, self._people), range(len(self._rows))):
                _, own, whose, other = best
                step = (own, place) if who < 0 else ((*own[:who], place, *own[who + 1 :]), other)
                distance = self._distance(step[0], whose, step[1])
                if distance > best[0] * (1 + 1e-12) + 1e-12:
                    best, higher = (distance, step[0], whose, step[1]), True
        return best

    def _distance(self, places: _Places, person: int, second: int) -> float:
        one, other = (self._result(each) for each in (places, self._changed(places, person, second)))
        return float(np.linalg.norm(one - other, self._norm))

    def _changed(self, places: _Places, person: int, second: int) -> _Places:
        """The neighbour's places."""
        own = () if self._neighbours is Neighbours.ADDED else (second,)
        return (*places[:person], *own, *places[person + 1 :])

    def _result(self, places: _Places) -> _Floats:
        table = self._rows[list(places)] if places else self._rows[:0]
        return np.asarray(self._function(table), dtype=np.float64).reshape(-1)

    def _results(self, people: int) -> _Floats:
        """Of all tables: an axis for each person, and one for the entries of a result."""
        every = [self._result(places) for places in itertools.product(range(len(self._rows)), repeat=people)]
        return np.array(every).reshape(*(len(self._rows),) * people, -1)

    def _farthest(
        self, one: _Floats, other: _Floats, person: int, first: int, second: int
    ) -> tuple[float, _Places, tuple[int, int]]:
        """The tables in which a person's two rows make most of a difference."""
        distances = np.linalg.norm(one - other, self._norm, axis=-1)
        places = [int(place) for place in np.unravel_index(int(distances.argmax()), distances.shape)]
        places[person] = first
        return float(distances.max()), tuple(places), (person, second)

    def _move(self, distance: float, places: _Places, person: int, second: int, *, whole: bool) -> Move:
        changed = list(self._changed(places, person, second))
        return Move(distance, self._rows[list(places)], self._rows[changed] if changed else self._rows[:0], whole)
