"""Distribution: quantiles, the cumulative curve, a histogram, mean and deviation, and the share of any range.

words:
  curve      for boundaries of buckets, the share of devices below them; estimated without bias, so that it can fall
  shown      the curve made monotone (the nearest one that never falls): the consistent view, and where quantiles are
  band       the curve's intervals
  crossing   a quantile's interval: from the first bucket at whose end the band's upper side has come up to the
             quantile's share, to the last one at whose beginning its lower side is not above it. The quantile's own
             bucket is missed only where one of the band's two intervals there does not hold
  bars       of the histogram: as many as have an error of half of an average bar at the most

Whatever lies within a bucket counts as anywhere in it: a quantile's interval is of whole buckets, and mean and
deviation are uncertain by half of a bucket's width more. (Of values that are at most h away from others, neither the
mean nor the standard deviation, which is a norm, is farther than h from theirs.) What lies outside of the range is in
its first or last bucket.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Distribution
from deniable.mechanisms import Mechanism
from deniable_aggregator.answers._asking import QUANTILES, SHARES, number, quantile, share_range
from deniable_aggregator.answers._curve import Curve, Known
from deniable_aggregator.answers._curve_without import BOUNDARIES, curve_without
from deniable_aggregator.answers._estimate import Estimate, Heading, Keys, Measure, Row, RowId, Series
from deniable_aggregator.answers._room import Counters, Room, varying
from deniable_aggregator.consistency import monotone
from deniable_aggregator.estimators import Spread, Target, Tree, expected, fit

__all__ = ["DistributionRoom", "tree_of"]

_Floats = NDArray[np.float64]

_CURVE, _HISTOGRAM, _MEAN, _DEVIATION = "curve", "histogram", "mean", "standard deviation"
_TOLD = ("p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99")
_GRID = 32
"""The curve is told at the ends of as many equal parts of the range,"""
_RISES = 50
"""and wherever it has risen by one of so many parts."""
_MOST_BARS = 64
_SURE = 0.5
"""The greatest error of a bar, in average bars."""


class DistributionRoom(Room):
    """Six series of one tree; the rows of the shares are those that are asked for."""

    kind = Distribution
    view = "distribution"
    combines = True

    def headings(self, metric: Metric) -> tuple[Heading, ...]:
        """In the unit of the collection file."""
        kind = _kind(metric)
        return _headings(kind.unit, (kind.boundary(0), kind.boundary(kind.buckets)))

    def answer(self, metric: Metric, counters: Counters, confidence: float, target: Target) -> Estimate:
        """The rows that are always told."""
        return self._estimate(metric, None, counters, confidence, target)

    def only(
        self, metric: Metric, names: Collection[str], counters: Counters, confidence: float, target: Target
    ) -> Estimate:
        """Without making what is not told: a curve takes longer than quantiles."""
        return self._estimate(metric, None, counters, confidence, target, names)

    def again(self, metric: Metric, keys: Keys, counters: Counters, confidence: float, target: Target) -> Estimate:
        """The rows that are asked for: any quantile, and any range."""
        return self._estimate(metric, keys, counters, confidence, target)

    def _estimate(
        self,
        metric: Metric,
        keys: Keys | None,
        counters: Counters,
        confidence: float,
        target: Target,
        names: Collection[str] = (),
    ) -> Estimate:
        """The devices that have drawn a level are a random sample of those that reported: also where these alone are
        meant, an interval has to account for sampling."""
        told = _told(metric, counters, confidence)
        asked = told.keys(names) if keys is None else keys
        rows = told.rows(asked) if told.reports else _unknown(self.headings(metric), asked)
        series = tuple(Series(heading, tuple(rows[heading.name])) for heading in self.headings(metric))
        return Estimate(metric.name, told.reports, series, confidence, target)

    def swaying(self, metric: Metric, most: int) -> int:  # noqa: ARG002
        """All of them for each row that is a sum, and for each boundary at which a quantile can be."""
        kind = _kind(metric)
        return sum(kind.sizes) * (self.row_count(metric) + min(kind.buckets, BOUNDARIES))

    def shared(
        self,
        metric: Metric,
        counters: Counters,
        pooled: Estimate,
        spread: Sequence[float],  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """What of the variance of each row is of what devices keep: that of their values, whatever levels they draw,
        for all weights of a value add up to what it counts for."""
        told = _told(metric, counters, pooled.confidence)
        parts = [part for series in pooled.series for part in told.kept(series)]
        return np.tile(np.clip(parts, 0.0, 1.0), (3, 1))

    def without(self, metric: Metric, counters: Counters, found: Estimate, fakes: float) -> _Floats:
        """Of sums over buckets by what each level says of them, at the weights that levels have in this answer."""
        told = _told(metric, counters, found.confidence)
        return curve_without(told.curve, _mechanisms(metric), found, fakes)

    def asked(self, metric: Metric, rows: Sequence[RowId]) -> None:
        """Any quantile, and the share of any range."""
        for row in rows:
            if row.series not in {QUANTILES, SHARES}:
                super().asked(metric, [row])
            quantile(row.key) if row.series == QUANTILES else share_range(row.key)

    def truth(self, metric: Metric, values: Sequence[Any]) -> Mapping[RowId, float]:
        """Of any row: a quantile is the least value that no fewer devices are at or below."""
        return Known(_kind(metric), np.sort(np.array(list(values), dtype=np.float64)))

    def always(self, metric: Metric) -> Keys:
        """The curve, at the ends of equal parts of the range."""
        kind = _kind(metric)
        return {_CURVE: [number(kind.boundary(place)) for place in _grid(kind)]}

    def row_count(self, metric: Metric) -> int:
        """Quantiles, curve and histogram at their longest, mean and deviation."""
        buckets = _kind(metric).buckets
        return len(_TOLD) + min(_GRID + _RISES, buckets) + min(_MOST_BARS, buckets) + 2

    def values_vary(self, metric: Metric, found: Estimate) -> NDArray[np.float64]:  # noqa: ARG002
        """The shares of buckets as much as bits that occur so often; what lies within buckets is not known."""
        whole = [series.heading.name in {_CURVE, _HISTOGRAM} for series in found.series for _ in series.rows]
        return np.array(
            [varying(row, 0.0, 1.0) if own else math.inf for row, own in zip(found.rows, whole, strict=True)]
        )

    def consistent(self, metric: Metric, found: Estimate) -> list[float | None]:  # noqa: ARG002
        """The curve made monotone, and the bars of one: never the bars by themselves, whose errors would add up."""
        fitted: list[float | None] = []
        for series in found.series:
            raw = np.array([row.value for row in series.rows], dtype=np.float64)
            own: list[float | None] = [None] * len(raw)
            if series.heading.name == _CURVE:
                own = _known(monotone(raw))
            elif series.heading.name == _HISTOGRAM and len(raw):
                ends = np.cumsum(raw)[:-1]
                own = _known(np.diff(monotone(ends), prepend=0.0, append=1.0))
            elif series.heading.measure is Measure.SHARE:
                own = _known(np.clip(raw, 0.0, 1.0))
            fitted += own
        return fitted

    def leading(self, metric: Metric, found: Estimate) -> RowId:  # noqa: ARG002
        """The median."""
        return RowId(QUANTILES, "p50")


class _Told:
    """The rows of one distribution."""

    def __init__(self, mechanisms: tuple[Mechanism, ...], curve: Curve) -> None:
        self._mechanisms = mechanisms
        self.curve = curve
        """What is known of it."""
        self._kind = curve.kind
        self.reports = curve.fit.reports
        """How many reports there are."""

    def keys(self, names: Collection[str] = ()) -> Keys:
        """Of the rows that are always told, of all series or of some; of the curve and the histogram, where the
        reports say something."""
        every: dict[str, Callable[[], Sequence[str]]] = {
            QUANTILES: lambda: _TOLD,
            _CURVE: lambda: [number(self._kind.boundary(place)) for place in self._places()],
            _HISTOGRAM: lambda: self._kind.names(_bars(self._kind, self._mechanisms, self.reports)),
            _MEAN: lambda: (_MEAN,),
            _DEVIATION: lambda: (_DEVIATION,),
        }
        return {name: find() for name, find in every.items() if not names or name in names}

    def _places(self) -> list[int]:
        """The boundaries at which the curve is told."""
        grid = _grid(self._kind)
        if not self.reports:
            return grid
        risen = np.searchsorted(self.curve.shown, np.linspace(0, 1, _RISES + 1))
        found = np.unique(np.concatenate([grid, risen]))
        return [int(place) for place in found if 0 < place < self._kind.buckets]

    def rows(self, keys: Keys) -> dict[str, list[Row]]:
        """The rows of some keys, by their series."""
        asked = {name: list(keys.get(name, ())) for name in (QUANTILES, _CURVE, _HISTOGRAM, SHARES)}
        moments = [name for name in (_MEAN, _DEVIATION) if keys.get(name)]
        return {
            QUANTILES: list(self._quantiles(asked[QUANTILES])),
            _CURVE: list(self._boundaries(asked[_CURVE])),
            _HISTOGRAM: list(self._histogram(asked[_HISTOGRAM])),
            SHARES: list(self._ranges(asked[SHARES])),
            _MEAN: [], _DEVIATION: [],
            **{row.key: [row] for row in self._moments(moments)},
        }  # fmt: skip

    def kept(self, series: Series) -> list[float]:
        """The part of each row's variance that is of the values of devices, at most: of a share that of the share
        which is nearest to a half of all in its interval; of a quantile at its ends; of a quantity by its range."""
        if not self.reports or not series.rows:
            return [1.0] * len(series.rows)
        if series.heading.name == QUANTILES:
            return self._quantiles_kept(series.rows)
        if series.heading.measure is Measure.SHARE:
            nearest = [(min(max(row.low, 0.5), row.high), row.std_error) for row in series.rows]
            return [share * (1 - share) / max(self.reports * error**2, 1e-300) for share, error in nearest]
        kind, (mean, deviation) = self._kind, self._moments([_MEAN, _DEVIATION])
        farthest = max(kind.boundary(kind.buckets) - mean.value, mean.value - kind.boundary(0))
        # the square of a value varies by at most its greatest times its mean
        most = farthest**2 / 4 if series.heading.name == _DEVIATION else deviation.high**2
        errors = [row.std_error - kind.width / (2 * self.curve.reach) for row in series.rows]
        return [most / max(self.reports * error**2, 1e-300) for error in errors]

    def _quantiles_kept(self, rows: Sequence[Row]) -> list[float]:
        ends = [self._kind.bucket(place) for row in rows for place in (row.low, row.value, row.high)]
        below = self.curve.fit.below(np.clip(ends, 1, self._kind.buckets - 1))
        least = below.variances.reshape(-1, 3).min(axis=1).tolist()
        shares = (quantile(row.key) for row in rows)
        return [
            share * (1 - share) / (self.reports * variance) for share, variance in zip(shares, least, strict=True)
        ]

    def _quantiles(self, keys: Sequence[str]) -> Iterator[Row]:
        if not keys:
            return
        found = self.curve.quantiles([quantile(key) for key in keys])
        for key, (value, low, high) in zip(keys, found, strict=True):
            yield Row(key, value, low, high, (high - low) / (2 * self.curve.reach))

    def _histogram(self, keys: Sequence[str]) -> Iterator[Row]:
        """Bars are nodes of a level, that of so many; in another answer the same bars may be those of any level."""
        if not keys:
            return
        fitted = self.curve.fit
        level = next((place for place, size in enumerate(self._kind.sizes) if size == len(keys)), None)
        if level is None or tuple(keys) != self._kind.names(level):
            yield from self._ranges(keys)
            return
        yield from self._shares(keys, fitted.nodes(level, np.arange(len(keys))))

    def _boundaries(self, keys: Sequence[str]) -> Iterator[Row]:
        """The curve, at boundaries of buckets."""
        if not keys:
            return
        start, width = self._kind.boundary(0), self._kind.width
        places = np.rint((np.array(keys, dtype=np.float64) - start) / width).astype(np.intp)
        yield from self._shares(keys, self.curve.fit.below(places))

    def _ranges(self, keys: Sequence[str]) -> Iterator[Row]:
        """Shares of ranges. One that begins or ends within a bucket has some part of what is in it: an interval
        reaches from none of it to all of it, and the value is in between."""
        if not keys:
            return
        weights = np.array([own for key in keys for own in self._weights(*share_range(key))]).T
        none, part, every = (
            list(self._shares(keys, self.curve.fit.weighted(own)))
            for own in np.moveaxis(weights.reshape(len(weights), -1, 3), 2, 0)
        )
        for least, row, most in zip(none, part, every, strict=True):
            yield Row(row.key, row.value, least.low, most.high, max(least.std_error, most.std_error))

    def _shares(self, keys: Sequence[str], spread: Spread) -> Iterator[Row]:
        """The rows of readings that are shares."""
        ends = np.clip(spread.ends(self.curve.reach), 0.0, 1.0).tolist()
        numbers = zip(spread.values.tolist(), *ends, np.sqrt(spread.variances).tolist(), strict=True)
        for key, row in zip(keys, numbers, strict=True):
            yield Row(key, *row)

    def _weights(self, low: float, high: float) -> tuple[_Floats, _Floats, _Floats]:
        """Of each bucket whether it lies in a range, by how much, and whether any of it does."""
        starts = np.array([self._kind.boundary(place) for place in range(self._kind.buckets + 1)])
        begins, ends = starts[:-1].copy(), starts[1:].copy()
        part = np.clip((np.minimum(ends, high) - np.maximum(begins, low)) / (ends - begins), 0.0, 1.0)
        return np.floor(part), part, np.ceil(part)

    def _moments(self, names: Sequence[str]) -> Iterator[Row]:
        """Mean and deviation of the middles of buckets, and half of a bucket's width for what lies within them."""
        if not names:
            return
        start, end, width = self._kind.boundary(0), self._kind.boundary(self._kind.buckets), self._kind.width
        middles = start + width * (np.arange(self._kind.buckets) + 0.5)
        leaves, reach = self.curve.fit.shares[-1], self.curve.reach
        mean = float(leaves @ middles)
        squares = (middles - min(max(mean, start), end)) ** 2
        both = self.curve.fit.weighted(np.stack([middles, squares], axis=1))
        error, doubt = (reach * np.sqrt(both.variances)).tolist()
        square = float(leaves @ squares)
        value, least, most = (math.sqrt(max(square + side * doubt, 0.0)) for side in (0, -1, 1))
        told = {
            _MEAN: (mean, mean - error, mean + error, (start, end)),
            _DEVIATION: (value, least, most, (0.0, (end - start) / 2)),
        }
        for name in names:
            value, low, high, span = told[name]
            yield _within(name, value, low - width / 2, high + width / 2, span, reach)


def _within(key: str, value: float, low: float, high: float, span: tuple[float, float], reach: float) -> Row:
    """A row whose interval is no wider than what is possible."""
    least, most = span
    error = (high - low) / (2 * reach)
    return Row(key, value, min(max(low, least), most), min(max(high, least), most), error)


def _grid(kind: Distribution) -> list[int]:
    """The boundaries at which the curve is told, whatever was reported."""
    parts = min(_GRID, kind.buckets)
    return [int(place) for place in np.linspace(0, kind.buckets, parts + 1)[1:-1]]


@lru_cache(maxsize=1024)
def _headings(unit: str, span: tuple[float, float]) -> tuple[Heading, ...]:
    return (
        Heading(QUANTILES, Measure.QUANTITY, unit, span, ordered=True),
        Heading(_CURVE, Measure.SHARE, ordered=True),
        Heading(_HISTOGRAM, Measure.SHARE, adds_up=True, ordered=True),
        Heading(SHARES, Measure.SHARE),
        Heading(_MEAN, Measure.QUANTITY, unit, span),
        Heading(_DEVIATION, Measure.QUANTITY, unit, (0.0, (span[1] - span[0]) / 2)),
    )


@lru_cache(maxsize=64)
def tree_of(kind: Distribution) -> Tree:
    """The nodes of every level, each with its parent."""
    parents = []
    for level, size in enumerate(kind.sizes):
        firsts = (kind.first(level, node) for node in range(size))
        parents.append(np.array([kind.node(level - 1, first) if level else 0 for first in firsts], dtype=np.intp))
    return Tree(tuple(parents))


@lru_cache(maxsize=256)
def _errors(kind: Distribution, mechanisms: tuple[Mechanism, ...]) -> list[float]:
    """For each level the error of a node, times the root of the number of reports: of many, by the allotment, and not
    by how many have drawn each level, so that the bars of two answers are the same."""
    many = 1 << 40
    found = expected(mechanisms, tree_of(kind), kind.allotment(mechanisms), many)
    nodes = (found.nodes(level, np.zeros(1, dtype=np.intp)) for level in range(len(mechanisms)))
    return [math.sqrt(many * float(each.variances[0])) for each in nodes]


def _bars(kind: Distribution, mechanisms: tuple[Mechanism, ...], reports: int) -> int:
    """The level whose nodes are the histogram's bars: the first one, or a finer one whose errors are small enough."""
    known = zip(kind.sizes, _errors(kind, mechanisms), strict=True)
    fine = [size <= _MOST_BARS and error * size <= _SURE * math.sqrt(reports) for size, error in known]
    return max((level for level, enough in enumerate(fine) if enough), default=0)


def _told(metric: Metric, counters: Counters, confidence: float) -> _Told:
    kind, mechanisms = _kind(metric), _mechanisms(metric)
    return _Told(mechanisms, Curve(kind, fit(mechanisms, tree_of(kind), counters), confidence))


def _mechanisms(metric: Metric) -> tuple[Mechanism, ...]:
    return tuple(column.mechanism for column in metric.columns)


def _unknown(headings: Sequence[Heading], keys: Keys) -> dict[str, list[Row]]:
    """Rows without any reports."""
    found = {}
    for heading in headings:
        low, high = heading.span or (0.0, 1.0)
        found[heading.name] = [Row(key, math.nan, low, high, math.nan) for key in keys.get(heading.name, ())]
    return found


def _known(values: _Floats) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def _kind(metric: Metric) -> Distribution:
    assert isinstance(metric.kind, Distribution)
    return metric.kind
