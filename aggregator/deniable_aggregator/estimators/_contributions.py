"""Contributions: the least and the most that one report can add to an estimate, whatever it says.

words:
  contribution  what one report would make the estimate if it were the only one; an estimate is their mean
  part          of the reports that an estimate is the mean of, the share that fakes have sent
  rest          what the estimate is without these
  reach         how far fakes can have moved an estimate, upwards or downwards

Among n reports with the mean v let m be of fakes, and s = m / n. Without them the mean is (v - s c) / (1 - s), where
c is the mean of what they contribute, which is anything between the least and the most that a payload can: between
these two the rest lies, exactly, whatever the fakes have said. The fewer they are the nearer to v it is.

Of a sum over levels, each the mean of its own reports, fakes choose among the levels. What a level says can be moved
no farther than to what devices can be, once all of it may be of fakes; before that each report moves it farther than
the one before. So no choice of levels moves the sum farther than if fakes went where each moves it most, until that
level has no more to give: with one level, and with fewer fakes than any level has reports, that is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import codebook
from deniable.mechanisms import Mechanism
from deniable.payload import Codeword, Integers, Shape
from deniable_aggregator.estimators._frequencies import Frequencies

if TYPE_CHECKING:
    from deniable_aggregator.estimators._levels import Fit

__all__ = ["Contributions", "Part", "named", "of_answer", "of_levels", "of_vector", "reached", "rest", "summed"]

_Floats = NDArray[np.float64]
_TOGETHER = 256
"""So many readings are looked at together: of 4,096 leaves that takes some 20 MB."""


class Contributions(NamedTuple):
    """What a report can contribute."""

    least: _Floats
    most: _Floats

    @classmethod
    def between(cls, least: float, most: float) -> Contributions:
        """The same to every value."""
        return cls(np.array(least), np.array(most))


def of_answer(found: Frequencies) -> Contributions:
    """To the share of any one answer: a report supports it, or does not."""
    least, most = ((own - found.q) / (found.p - found.q) for own in (0, 1))
    return Contributions.between(least, most)


def of_vector(shape: Shape, step: float) -> tuple[float, float]:
    """The farthest from 0 that one entry of a vector can be that is sent, and the greatest length: in steps."""
    if isinstance(shape, Codeword):  # who looks through the seeds finds one of any direction
        return codebook.LENGTH / step, codebook.LENGTH / step
    assert isinstance(shape, Integers)
    far = shape.bound + shape.gap
    norm = shape.norm or math.inf
    return min(far, norm), min(math.sqrt(shape.size) * far, norm)


def rest(values: _Floats, contributions: Contributions, part: float) -> tuple[_Floats, _Floats]:
    """From where to where values lie without up to such a part of their reports; of all of them nothing is known."""
    if part >= 1:
        return np.full(values.shape, -np.inf), np.full(values.shape, np.inf)
    low, high = ((values - part * own) / (1 - part) for own in (contributions.most, contributions.least))
    return np.minimum(low, values), np.maximum(high, values)


def _supported(counts: _Floats, mechanism: Mechanism) -> _Floats:
    """The most that what one report supports can add up to, for each reading (a column)."""
    largest = -np.sort(-counts, axis=0)[: mechanism.supported]
    exactly = mechanism.naming is not None  # so many answers are named, and neither more nor fewer
    found: _Floats = (largest if exactly else np.maximum(largest, 0)).sum(axis=0)
    return found


def named(mechanism: Mechanism, cells: int, size: int) -> tuple[int, int]:
    """Of some cells among so many, how few and how many one report can support."""
    least = max(mechanism.supported - (size - cells), 0) if mechanism.naming is not None else 0
    return least, min(mechanism.supported, cells)


class Part(NamedTuple):
    """What one level says of some readings."""

    reports: int
    values: _Floats
    """What it says."""
    contributions: Contributions
    """What one report of it contributes to that."""
    span: Contributions
    """What one device does, at least and at most: what it says lies between these, but for noise."""


def of_levels(fit: Fit, mechanisms: Sequence[Mechanism], readings: _Floats) -> Iterator[Part]:
    """What each level says of sums over the leaves (a reading a column), at the weights that it has in a fit."""
    for level, counts, mechanism in zip(fit.levels, fit.weights(readings), mechanisms, strict=True):
        most, least = (_supported(side * counts, mechanism) * side for side in (1, -1))
        expecting, apart = level.q * counts.sum(axis=0), level.p - level.q
        contributions = Contributions((least - expecting) / apart, (most - expecting) / apart)
        span = Contributions(counts.min(axis=0), counts.max(axis=0))
        yield Part(level.reports, counts.T @ level.values, contributions, span)


def reached(fit: Fit, mechanisms: Sequence[Mechanism], readings: _Floats, fakes: float) -> tuple[_Floats, _Floats]:
    """How far so many fakes can have moved each reading downwards, and upwards."""
    found = [np.zeros((2, 0))]
    for start in range(0, readings.shape[1], _TOGETHER):
        parts = list(of_levels(fit, mechanisms, readings[:, start : start + _TOGETHER]))
        found.append(np.stack(summed(parts, fakes)))
    down, up = np.hstack(found)
    return down, up


def summed(parts: Sequence[Part], fakes: float) -> tuple[_Floats, _Floats]:
    """How far so many fakes can have moved a sum of what levels say downwards, and upwards."""
    down, up = (_filled(*_capacities(parts, fakes, side), fakes) for side in (-1, 1))
    return down, up


def _capacities(parts: Sequence[Part], fakes: float, side: int) -> tuple[_Floats, _Floats]:
    """For each level how many fakes it has room for, up to those that there are, and how far so many move it."""
    rooms, moves = [], []
    for part in parts:
        value = side * part.values
        far = part.contributions.most if side > 0 else -part.contributions.least
        least = part.span.least if side > 0 else -part.span.most
        cap = np.maximum(value - least, 0.0)
        full = part.reports * np.minimum(cap / np.maximum(far - least, 1e-300), 1.0)
        room = np.minimum(full, fakes)
        share = room / max(part.reports, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.where(share < 1, share / (1 - share) * (far - value), cap)
        rooms.append(room)
        moves.append(np.clip(np.where(room < full, moved, cap), 0.0, cap))
    return np.stack(rooms), np.stack(moves)


def _filled(rooms: _Floats, moves: _Floats, fakes: float) -> _Floats:
    """How far fakes move the sum that go where each moves it most."""
    gains = np.divide(moves, rooms, out=np.zeros(moves.shape), where=rooms > 0)
    order = np.argsort(-gains, axis=0)
    rooms, gains = np.take_along_axis(rooms, order, axis=0), np.take_along_axis(gains, order, axis=0)
    left = np.maximum(fakes - (np.cumsum(rooms, axis=0) - rooms), 0.0)
    found: _Floats = (np.minimum(rooms, left) * gains).sum(axis=0)
    return found
