"""Projective geometry response: the client's arithmetic on numbered polynomials, for all devices at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import ProjectiveGeometryResponse
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads, coins, numbers

__all__ = ["draw", "inputs", "ranked"]

inputs = numbers

_Integers = NDArray[np.int64]


def draw(mechanism: ProjectiveGeometryResponse, inputs: Inputs, generator: np.random.Generator) -> Payloads:
    """Symbols."""
    count, supporting = len(inputs), mechanism.supporting
    support = generator.integers(supporting, size=count)
    other = generator.integers(mechanism.points - supporting, size=count)
    inside = coins(generator, mechanism.inside, count)
    return ranked(mechanism, inputs, np.where(inside, support, supporting + other))


def ranked(mechanism: ProjectiveGeometryResponse, values: _Integers, ranks: _Integers) -> _Integers:
    """The payloads of some ranks: ranks below `supporting` are those that support the value."""
    order, counts = mechanism.order, np.array(mechanism.counts)
    free = mechanism.dimensions - 1 - _degrees(counts, values)
    scale = order**free
    supports = ranks < mechanism.supporting
    place = np.where(supports, ranks, ranks - mechanism.supporting)
    first, short = np.where(supports, 0, counts[free]), np.where(supports, counts[free], scale)
    high, low = np.divmod(place - short, scale)
    lie = np.where(supports, 0, high % (order - 1) + 1)
    high = np.where(supports, high, high // (order - 1))
    early = place < short
    wanted = np.where(early, ~supports, lie)
    number = np.where(early, first + place, counts[free + 1] + scale * order * high + low)
    payloads: _Integers = number + scale * ((wanted - _products(mechanism, values, number)) % order)
    return payloads


def _degrees(counts: _Integers, numbers: _Integers) -> _Integers:
    return np.searchsorted(counts, numbers, side="right") - 1


def _products(mechanism: ProjectiveGeometryResponse, answers: _Integers, payloads: _Integers) -> _Integers:
    """The coefficient of x^(t-1) in the products of answers and payloads."""
    pairs = zip(_coefficients(mechanism, answers), reversed(_coefficients(mechanism, payloads)), strict=True)
    return sum((u * v for u, v in pairs), np.zeros(len(answers), dtype=np.int64))


def _coefficients(mechanism: ProjectiveGeometryResponse, numbers: _Integers) -> list[_Integers]:
    """Of monic polynomials, the lowest first, with zeros up to t of them."""
    counts = np.array(mechanism.counts)
    degrees = _degrees(counts, numbers)
    rest = numbers - counts[degrees] + mechanism.order**degrees
    coefficients = []
    for _ in range(mechanism.dimensions):
        rest, coefficient = np.divmod(rest, mechanism.order)
        coefficients.append(coefficient)
    return coefficients
