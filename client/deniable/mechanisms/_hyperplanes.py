"""How many of some points lie in one hyperplane: what one report of a projective geometry says of its answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

__all__ = ["most_in_a_hyperplane"]


def most_in_a_hyperplane(points: Sequence[Sequence[int]], order: int) -> int:
    """Of some vectors over the integers modulo a prime, how many lie in one hyperplane through the origin.

    What lies in it with one of them does so when that one is divided out: of what is left there is a dimension less.
    """
    return _most([list(point) for point in points], 0, order)


def _most(points: list[list[int]], first: int, order: int) -> int:
    """The same, of hyperplanes through those that have been divided out and one at the first place or later."""
    nothing = sum(not any(point) for point in points)
    dimensions = len(points[0])
    if len(points) - nothing < dimensions:
        return len(points)
    if dimensions == 2:
        return nothing + max(Counter(_direction(point, order) for point in points if any(point)).values())
    found = nothing
    for place in range(first, len(points)):
        if any(points[place]):
            found = max(found, _most(_divided(points, points[place], order), place + 1, order))
    return found


def _divided(points: list[list[int]], by: list[int], order: int) -> list[list[int]]:
    pivot = next(place for place, number in enumerate(by) if number)
    inverse = pow(by[pivot], -1, order)
    scaled = [number * inverse % order for number in by]
    return [
        [(number - point[pivot] * scaled[place]) % order for place, number in enumerate(point) if place != pivot]
        for point in points
    ]


def _direction(point: list[int], order: int) -> tuple[int, ...]:
    inverse = pow(next(filter(None, point)), -1, order)
    return tuple(number * inverse % order for number in point)
