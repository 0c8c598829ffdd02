"""The curve of a distribution: estimates at every boundary of its buckets, and quantiles where it crosses a share.

words:
  boundary   where a bucket begins, by its place; the last one is where the last bucket ends
  shown      the curve made monotone, on which the values of quantiles lie
  exact      of a boundary, the interval from the exact covariance
  known      what rows would say if all values were known: asked for one by one, as there is no end of them
  near       boundaries whose interval ends so near to a quantile's share that only the exact one decides which side
             of it they are on; for the others a rough one is enough
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from deniable.kinds import Distribution
from deniable_aggregator.answers._asking import quantile, share_range
from deniable_aggregator.answers._estimate import RowId
from deniable_aggregator.consistency import monotone
from deniable_aggregator.estimators import Fit

__all__ = ["Curve", "Known"]

_Floats = NDArray[np.float64]

_FEW = 256
"""So many boundaries all have exact errors."""
_SAMPLED = 64
"""Of more boundaries so many tell by how much a rough error is off; off by more than this no other one is."""
_OFF = 0.2
_HALVINGS = 40


class Curve:
    """What is known of one distribution."""

    def __init__(self, kind: Distribution, fit: Fit, confidence: float) -> None:
        self.kind = kind
        """The kind, with its buckets."""
        self.fit = fit
        """The tree over the buckets."""
        self.reach = NormalDist().inv_cdf((1 + confidence) / 2)
        """How many standard errors an interval reaches to either side."""
        self.shares = fit.before()
        """At every boundary, the share of devices below it; not corrected."""

    @cached_property
    def shown(self) -> _Floats:
        """The curve made monotone."""
        inner = monotone(self.shares[1:-1])
        return np.concatenate([[0.0], inner, [1.0]])

    def quantiles(self, shares: Sequence[float]) -> list[tuple[float, float, float]]:
        """For each share the value that so many devices are below, and the ends of its interval."""
        lowest, highest = self._band(shares)
        found = []
        for share in shares:
            first = int(np.argmax(highest[1:] >= share))
            last = int(np.flatnonzero(lowest[:-1] <= share)[-1])
            low, high = self.kind.boundary(first), self.kind.boundary(last + 1)
            found.append((min(max(self._value(share), low), high), low, high))
        return found

    def _value(self, share: float) -> float:
        """Where the shown curve reaches a share. Within a bucket it is as smooth as its neighbours let it be without
        ever falling (Fritsch and Butland, 1984): a straight line would put a median off where density changes."""
        shown = self.shown
        end = min(max(int(np.searchsorted(shown, share)), 1), self.kind.buckets)
        near = shown[max(end - 2, 0) : end + 2].tolist()
        rises = [high - low for low, high in pairwise(near)]
        own = end - 1 - max(end - 2, 0)
        rise = rises[own]
        before, after = (
            _slope(rise, rises[place]) if 0 <= place < len(rises) else rise for place in (own - 1, own + 1)
        )
        wanted, low, high = share - float(shown[end - 1]), 0.0, 1.0
        for _ in range(_HALVINGS):
            part = (low + high) / 2
            cubic = part * (before * (1 - part) ** 2 + part * (rise * (3 - 2 * part) - after * (1 - part)))
            low, high = (part, high) if cubic < wanted else (low, part)
        return self.kind.boundary(end - 1) + high * self.kind.width

    def _band(self, shares: Sequence[float]) -> tuple[_Floats, _Floats]:
        """The ends of every boundary's interval: exact wherever one of the shares may be an end."""
        count, near = self.kind.buckets, np.arange(1, self.kind.buckets)
        band = np.stack([self.shares, self.shares])
        if count > _FEW:
            sampled = np.unique(np.linspace(1, count - 1, _SAMPLED).astype(np.intp))
            rough, exact = np.append(np.sqrt(self.fit.rough()), 0.0), self.fit.below(sampled).ends(self.reach)
            errors = [(each - self.shares[sampled]) / rough[sampled] for each in exact]
            off = rough * np.stack([np.interp(np.arange(count + 1), sampled, each) for each in errors])
            band = band + off
            near = near[self._near(band, _OFF * np.abs(off), shares)[1:-1]]
        if len(near):
            band[:, near] = self.fit.below(near).ends(self.reach)
        return band[0], band[1]

    @staticmethod
    def _near(band: _Floats, doubt: _Floats, shares: Sequence[float]) -> NDArray[np.bool_]:
        """Which boundaries are near a share, and not beyond one that is certain to be an end or outside of it."""
        found = np.zeros(band.shape[1], dtype=np.bool_)
        for share in shares:
            lowest, highest = band - share
            last = np.flatnonzero(lowest[:-1] <= -doubt[0][:-1])[-1]
            first = 1 + np.argmax(highest[1:] >= doubt[1][1:])
            found[last:] |= np.abs(lowest[last:]) <= doubt[0][last:]
            found[: first + 1] |= np.abs(highest[: first + 1]) <= doubt[1][: first + 1]
        return found


def _slope(rise: float, other: float) -> float:
    """Of the curve between two buckets: at most twice the smaller rise, so that it falls in neither."""
    return 2 * rise * other / (rise + other) if rise > 0 and other > 0 else 0.0


class Known(Mapping[RowId, float]):
    """What any row of an answer would say of some values, which are in order."""

    def __init__(self, kind: Distribution, values: _Floats) -> None:
        self._kind = kind
        self._values = values

    def __getitem__(self, row: RowId) -> float:
        values = self._values
        match row.series:
            case "quantiles":
                place = math.ceil(quantile(row.key) * len(values)) - 1
                return float(np.clip(values[max(place, 0)], *self._kind.apart()))
            case "curve":
                return self._below(float(row.key))
            case "histogram" | "shares":
                low, high = share_range(row.key)
                return self._below(high) - self._below(low)
            case "mean":
                return float(np.clip(values, *self._kind.apart()).mean())
            case "standard deviation":
                return float(np.clip(values, *self._kind.apart()).std())
        raise KeyError(row)

    def _below(self, end: float) -> float:
        """The share of values below a number; what is beyond the range is in its last bucket."""
        low, high = self._kind.apart()
        if end >= high:
            return 1.0
        return float(np.searchsorted(self._values, end)) / len(self._values) if end > low else 0.0

    def __iter__(self) -> Iterator[RowId]:
        yield from (RowId(name, name) for name in ("mean", "standard deviation"))

    def __len__(self) -> int:
        return 2
