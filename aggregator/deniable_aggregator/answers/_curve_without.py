"""A distribution without some fakes: its rows are sums over buckets, or follow from such sums.

Curve, histogram, shares and the mean are sums over buckets, each with its weight, and what fakes do to a sum is known
(`estimators/_contributions.py`). A quantile lies between the first boundary below which its share of the devices can
be and the last one above which it can be; of more than 1,024 buckets that many boundaries are looked at. The standard
deviation is the root of what squares around the mean add up to, less the square of how far the mean is from there:
both are sums, and it lies between what their ends make of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Mechanism
from deniable_aggregator.answers._asking import quantile, share_range
from deniable_aggregator.answers._curve import Curve
from deniable_aggregator.answers._estimate import Estimate, Row
from deniable_aggregator.estimators import reached

__all__ = ["BOUNDARIES", "curve_without"]

_Floats = NDArray[np.float64]
BOUNDARIES = 1024
"""At so many boundaries is looked for a quantile."""


def curve_without(
    curve: Curve, mechanisms: Sequence[Mechanism], found: Estimate, fakes: float
) -> NDArray[np.float64]:
    """For each row of an answer the least and the most that it could be without so many fakes."""
    return _Without(curve, mechanisms, fakes).rows(found)


class _Without:
    """What the reports say if so many of them are of fakes."""

    def __init__(self, curve: Curve, mechanisms: Sequence[Mechanism], fakes: float) -> None:
        self._curve, self._kind = curve, curve.kind
        self._mechanisms, self._fakes = mechanisms, fakes
        starts = np.array([curve.kind.boundary(place) for place in range(curve.kind.buckets + 1)])
        self._starts, self._ends, self._middles = starts[:-1], starts[1:], (starts[:-1] + starts[1:]) / 2

    def rows(self, found: Estimate) -> _Floats:
        """Of each row, by its series."""
        lines: list[_Floats] = []
        for series in found.series:
            name, rows = series.heading.name, series.rows
            if not rows:
                continue
            if name == "quantiles":
                lines.append(self._quantiles(rows))
            elif name == "mean":
                lines.append(self._moved(rows, self._middles[:, np.newaxis]))
            elif name == "standard deviation":
                lines.append(self._deviation())
            else:
                weights = [self._below(row) if name == "curve" else self._within(row) for row in rows]
                lines.append(self._moved(rows, np.stack(weights, axis=1)))
        return np.hstack([np.empty((2, 0)), *lines])

    def _moved(self, rows: Sequence[Row], weights: _Floats) -> _Floats:
        values = np.array([row.value for row in rows])
        down, up = reached(self._curve.fit, self._mechanisms, weights, self._fakes)
        return np.stack([values - up, values + down])

    def _below(self, row: Row) -> _Floats:
        below: _Floats = (self._middles < float(row.key)).astype(np.float64)
        return below

    def _within(self, row: Row) -> _Floats:
        """Of each bucket by how much it lies in a range."""
        low, high = share_range(row.key)
        within = np.minimum(self._ends, high) - np.maximum(self._starts, low)
        part: _Floats = np.clip(within / (self._ends - self._starts), 0.0, 1.0)
        return part

    def _quantiles(self, rows: Sequence[Row]) -> _Floats:
        count, kind = self._kind.buckets, self._kind
        places = np.unique(np.linspace(0, count, min(count, BOUNDARIES) + 1).astype(np.intp))
        prefixes = (np.arange(count)[:, np.newaxis] < places[1:-1]).astype(np.float64)
        down, up = (np.concatenate([[0.0], own, [0.0]])
                    for own in reached(self._curve.fit, self._mechanisms, prefixes, self._fakes))  # fmt: skip
        values = self._curve.shares[places]
        values[[0, -1]] = 0.0, 1.0
        lines = []
        for row in rows:
            share = quantile(row.key)
            first = int(np.argmax((values + down)[1:] >= share))
            last = int(np.flatnonzero((values - up)[:-1] <= share)[-1])
            ends = kind.boundary(int(places[first])), kind.boundary(int(places[last + 1]))
            lines.append((min(ends[0], row.value), max(ends[1], row.value)))
        return np.array(lines).T

    def _deviation(self) -> _Floats:
        """Around the middle of the range that the mean was found at, wherever the mean of the rest is."""
        leaves = self._curve.fit.shares[-1]
        centre = min(max(float(leaves @ self._middles), float(self._starts[0])), float(self._ends[-1]))
        weights = np.stack([self._middles - centre, (self._middles - centre) ** 2], axis=1)
        down, up = reached(self._curve.fit, self._mechanisms, weights, self._fakes)
        away, square = (leaves @ weights).tolist()
        farthest = max(abs(away - up[0]), abs(away + down[0]))
        least = math.sqrt(max(square - float(up[1]) - farthest**2, 0.0))
        return np.array([[least], [math.sqrt(max(square + float(down[1]), 0.0))]])
