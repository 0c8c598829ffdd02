"""How far one person moves a result: as it is known for many functions, under both definitions of neighbours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.accounting import Neighbours, moved

ADDED, REPLACED = Neighbours.ADDED, Neighbours.REPLACED


def buckets(table: np.ndarray) -> np.ndarray:
    """How many have each of three values."""
    return np.bincount(table, minlength=3)


def with_class(table: np.ndarray) -> np.ndarray:
    """Joint counts of a class with each of two features."""
    counts = np.zeros((2, 2, 2))
    for own, *features in table:
        for feature, value in enumerate(features):
            counts[feature, own, value] += 1
    return counts


def tail_weighted(table: np.ndarray) -> float:
    """A function that knows its rows' order."""
    return float(table @ np.arange(1, len(table) + 1))


BITS, THREE, FEET = (0, 1), (0, 1, 2), (0.0, 3.5, 7.0)
DEVICES = tuple(itertools.product((0, 1), repeat=3))
KNOWN: list[tuple[Callable[[np.ndarray], Any], Sequence[Any], int, float, float, float]] = [
    (np.sum, BITS, 5, 1, 1, 1),
    (np.sum, (3.0, 4.0, 5.0), 4, 1, 5, 2),
    (np.mean, BITS, 5, 1, 1 / 5, 1 / 5),
    (np.mean, FEET, 4, 1, 7 / 4, 7 / 4),
    (buckets, THREE, 4, 1, 1, 2),
    (buckets, THREE, 4, 2, 1, math.sqrt(2)),
    (with_class, DEVICES, 2, 1, 2, 4),
    (np.max, FEET, 3, 1, 7, 7),
    (np.median, FEET, 3, 1, 3.5, 7),
    (tail_weighted, BITS, 3, 1, 3, 3),
]
"""A function, the rows there can be, how many people, the norm, and how far one added and one replaced moves it."""


@pytest.mark.parametrize(("function", "domain", "people", "norm", "added", "replaced"), KNOWN)
def test_what_is_known_of_functions_is_found(
    function: Callable[[np.ndarray], Any],
    domain: Sequence[Any],
    people: int,
    norm: float,
    added: float,
    replaced: float,
) -> None:
    """Exactly, with two tables that lie so far apart, and are neighbours."""
    for neighbours, known in ((ADDED, added), (REPLACED, replaced)):
        found = moved(function, domain, people, neighbours, norm)
        assert found.whole
        assert found.distance == pytest.approx(known)
        one, other = (np.asarray(function(table), dtype=float).ravel() for table in (found.one, found.other))
        assert np.linalg.norm(one - other, norm) == pytest.approx(known)
        rows = [table.tolist() for table in (found.one, found.other)]
        assert len(rows[0]) == people == len(rows[1]) + (neighbours is ADDED)
        if neighbours is REPLACED:
            assert sum(a != b for a, b in zip(*rows, strict=True)) == 1
        else:
            assert rows[1] in [rows[0][:gone] + rows[0][gone + 1 :] for gone in range(people)]


@pytest.mark.parametrize(
    ("function", "domain", "neighbours", "known"),
    [
        (buckets, THREE, REPLACED, 2),
        (np.sum, (3.0, 4.0, 5.0), ADDED, 5),
        (np.median, FEET, REPLACED, 3.5),
        (np.max, FEET, REPLACED, 7),
        (np.var, FEET, REPLACED, 49 * 39 / 40**2),
    ],
)
def test_many_people_are_climbed(
    function: Callable[[np.ndarray], Any], domain: Sequence[Any], neighbours: Neighbours, known: float
) -> None:
    """Of 3^40 tables: what is known is found, and is said to be a distance that occurs, and no more. The median of an
    even number moves by half of the range."""
    found = moved(function, domain, 40, neighbours)
    assert not found.whole
    assert found.distance == pytest.approx(known)


def test_noise_for_who_is_added_does_not_hide_who_is_replaced() -> None:
    """Two buckets at epsilon 1 with noise of scale 1: the worst ratio of neighbours is e^2, as the distance is 2."""
    found = moved(buckets, THREE, 1, REPLACED)
    one, other = (buckets(table).astype(float) for table in (found.one, found.other))
    points = np.array(list(itertools.product(np.linspace(-3, 3, 7), repeat=3)))
    ratios = np.abs(points - other).sum(axis=1) - np.abs(points - one).sum(axis=1)
    assert ratios.max() == pytest.approx(found.distance) == 2


@pytest.mark.parametrize(("domain", "people"), [(BITS, 0), ((0,), 3)])
def test_without_neighbours_nothing_is_moved(domain: Sequence[int], people: int) -> None:
    """Nobody, or nobody who can have anything else."""
    with pytest.raises(ValueError, match="no neighbours"):
        moved(np.sum, domain, people, REPLACED)
