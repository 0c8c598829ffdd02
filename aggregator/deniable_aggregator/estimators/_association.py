"""Association: how much the values of two sources have to do with each other, and how sure it is that they do.

words:
  departure     of a pair of values, its share less the product of theirs: 0 everywhere where sources are independent
  phi squared   the sum of squared departures, each over the product of its values' shares; V (Cramer, 1946) is the
                root of its part of the most that it can be, the values of the source that has fewer, less 1
  whitened      departures over the roots of these products; the (r - 1) (c - 1) directions in which they can differ
                are what a table knows of an association
  channel       how uncertain whitened departures are, in every direction: exactly, by what is known of the mechanism

**The channel.** A reading of the table with weights u(a) v(b), u and v 0 on average over the devices, has the
covariance with another one such, if the sources are independent,

    ((q - far) M <u, u'> <v, v'> + (p - q - 2 near + 2 far) [u = u'] [v = v'] + (far - q^2) M^2 U V U' V')
     / (n (p - q)^2)

for orthonormal u and v; <> adds up over values as they are listed, U is the sum of u, and M the cells of a pair.
Which is a product of two matrices, one a source, a multiple of one, and a vector with itself: so it is inverted a
source at a time, without a matrix of all cells.

**Independence** is tested by the whitened departures over the channel: their square is that of (r - 1) (c - 1)
standard normal numbers if nothing goes together, whatever the noise is.

**The interval of V** comes from phi squared as the reports say it, which noise makes larger: a noncentral sum of
squares, whose first four cumulants the channel knows. What is believed is every V under which it is neither among
the largest nor among the smallest (Liu, Tang and Zhang, 2009, have the distribution). The value is the V under
which it is as likely to be larger as to be smaller: it lies in every interval, and noise does not raise it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.estimators._levels import Fit, Tree
from deniable_aggregator.estimators._shared import largest
from deniable_aggregator.estimators._special import chdtrc, chndtr
from deniable_aggregator.estimators._tables import Table
from deniable_aggregator.estimators._target import Target

__all__ = ["Association", "association"]

_Floats = NDArray[np.float64]
_RARE = 0.5
"""A value's share is taken for so many standard errors at the least: it is divided by."""


class Side(NamedTuple):
    """One of two sources."""

    shares: _Floats
    """Of its values, none of them 0, 1 together."""

    @property
    def root(self) -> _Floats:
        """Of the shares: what no departure has a part of."""
        return np.sqrt(self.shares)

    @property
    def trace(self) -> float:
        """The trace of <u, u'>,"""
        return float((1 / self.shares).sum() - len(self.shares))

    @property
    def squared(self) -> float:
        """that of its square,"""
        return float((1 / self.shares**2 - 2 / self.shares).sum() + len(self.shares) ** 2)

    @property
    def sums(self) -> _Floats:
        """the sums U, in whitened values,"""
        found: _Floats = 1 / self.root - len(self.shares) * self.root
        return found

    @property
    def along(self) -> float:
        """and <u, u'> along the sums."""
        return float(((self.sums**2) / self.shares).sum())


class Channel(NamedTuple):
    """The covariance of whitened departures, times n: of both sources' <>, of one, and of the sums."""

    both: float
    one: float
    sums: float


@dataclass(frozen=True)
class Association:
    """How much two sources have to do with each other."""

    reports: int
    """How many there are."""
    departures: _Floats
    """Whitened, a row a value of the first source."""
    first: Side
    second: Side
    channel: Channel
    size: float
    """The trace of the channel, over n;"""
    spread: float
    """and how much it has along the departures."""

    @property
    def most(self) -> int:
        """The largest phi squared."""
        return min(len(self.first.shares), len(self.second.shares)) - 1

    @property
    def shown(self) -> float:
        """Phi squared as the reports have it."""
        return float((self.departures**2).sum())

    def value(self) -> float:
        """V, with as much below it as above."""
        return self._root(self.shown, 0.5)

    def interval(self, confidence: float) -> tuple[float, float]:
        """The least V that is believed, and the largest. Departures that are smaller than noise alone makes them, as
        a rule, are luck: then as much is believed as with those."""
        low, high = ((1 + sign * confidence) / 2 for sign in (-1, 1))
        return self._root(self.shown, low), self._root(max(self.shown, self.size), high)

    def _root(self, shown: float, level: float) -> float:
        """The V under which a larger phi squared than is shown has the chance of the level."""
        if not self.reports:
            return math.nan
        if self._larger(shown, 0.0) >= level:
            return 0.0
        square = largest(lambda own: self._larger(shown, own) - level, 0.0, float(self.most))
        return math.sqrt(square / self.most)

    def _larger(self, shown: float, square: float) -> float:
        """How often phi squared comes out larger than is shown, if it is so much."""
        size, spread, squared = self.size, self.spread, self._squared
        scale = squared / size
        freedom = size / scale
        c = [scale**power * freedom + power * spread ** (power - 1) * square for power in (1, 2, 3, 4)]
        return _larger(shown, *c)

    @cached_property
    def _squared(self) -> float:
        """The trace of the channel's square, over n squared."""
        (both, one, sums), a, b = self.channel, self.first, self.second
        length = float((a.sums**2).sum() * (b.sums**2).sum())
        found = both**2 * a.squared * b.squared + 2 * both * one * a.trace * b.trace
        found += one**2 * (len(a.shares) - 1) * (len(b.shares) - 1)
        found += 2 * sums * (both * a.along * b.along + one * length) + sums**2 * length**2
        return found / self.reports**2

    def chance(self) -> float:
        """How often departures are as large as these if the sources are independent: the p-value."""
        if not self.reports:
            return math.nan
        freedom = (len(self.first.shares) - 1) * (len(self.second.shares) - 1)
        return float(chdtrc(freedom, self.reports * self._weighed))

    @property
    def _weighed(self) -> float:
        """The square of the departures over the channel."""
        few, many, departures = self.first, self.second, self.departures
        if len(few.shares) > len(many.shares):
            few, many, departures = many, few, departures.T
        centred = np.eye(len(few.shares)) - np.outer(few.root, few.root)
        weights, directions = np.linalg.eigh(centred @ np.diag(1 / few.shares) @ centred)
        weights, directions = weights[1:], directions[:, 1:]  # the first is 0, along the root of the shares
        rows, sums = directions.T @ departures, np.outer(directions.T @ few.sums, many.sums)
        both, one, rank = self.channel
        precision = 1 / (np.outer(both * weights, 1 / many.shares) + one)
        along = precision * many.root
        whole = along @ many.root

        def over(numbers: _Floats) -> _Floats:
            found: _Floats = precision * numbers - along * ((numbers * along).sum(axis=1) / whole)[:, np.newaxis]
            return found

        solved, known = over(rows), over(sums)
        less = rank * float((sums * solved).sum()) ** 2 / (1 + rank * float((sums * known).sum()))
        return float((rows * solved).sum()) - less


def association(table: Table, first: int, second: int, target: Target) -> Association:
    """That of two sources of a table."""
    told, pairs = table.told, table.summed(first, second)
    rate, total = told.p - told.q, float(pairs.sum()) or 1.0
    pairs = pairs / total
    rows, columns = pairs.sum(axis=1), pairs.sum(axis=0)
    a, b = (_side(table, axis, own) for axis, own in ((first, rows), (second, columns)))
    whiten = np.sqrt(np.outer(a.shares, b.shares))
    departures = (pairs - np.outer(rows, columns)) / whiten
    departures = departures - np.outer(departures @ b.root, b.root)
    departures = departures - np.outer(a.root, a.root @ departures)
    cells, more = table.cells(first, second), table.more - (target is Target.REPORTING) * rate**2
    channel = Channel(
        cells * (told.q - told.two_others) / rate**2,
        more / rate**2,
        cells**2 * (told.two_others - told.q**2) / rate**2,
    )
    n = max(table.reports, 1)
    size = channel.both * a.trace * b.trace + channel.one * (len(a.shares) - 1) * (len(b.shares) - 1)
    size += channel.sums * float((a.sums**2).sum() * (b.sums**2).sum())
    spread = _along(table, departures / whiten, (first, second), target)
    return Association(table.reports, departures, a, b, channel, size / n, spread)


def _side(table: Table, axis: int, shares: _Floats) -> Side:
    errors = table.marginal(axis).std_errors(Target.POPULATION)
    kept = np.maximum(shares, _RARE * np.nan_to_num(errors, nan=1.0) + 1e-9)
    return Side(kept / kept.sum())


def _along(table: Table, ratios: _Floats, axes: tuple[int, int], target: Target) -> float:
    """The channel along the departures, over n: a quarter of the variance of phi squared, in units of itself.

    Given are the departures as parts of the products: by these it is known how far each cell moves phi squared, also
    by way of the shares of its values.
    """
    pairs = table.summed(*axes)
    first, second = pairs.sum(axis=1).clip(0), pairs.sum(axis=0).clip(0)
    squares = ratios**2
    shown = float(first @ squares @ second)
    moves = 2 * ratios - (squares @ second)[:, np.newaxis] - first @ squares
    shape = [size if axis in axes else 1 for axis, size in enumerate(table.sizes)]
    weights = np.broadcast_to(moves.reshape(shape), table.sizes).reshape(-1, 1)
    found = Fit(Tree((np.zeros(len(weights), dtype=np.intp),)), [table.told]).weighted(weights)
    varies = found.variances - found.kept if target is Target.REPORTING else found.variances
    return float(varies[0]) / (4 * shown) if shown else 0.0


def _larger(value: float, first: float, second: float, third: float, fourth: float) -> float:
    """The chance that a weighted sum of noncentral squares is larger, by the sums of its weights' powers: by that of
    one noncentral sum of squares with the same mean, variance and skewness, and nearly the same kurtosis."""
    skew, peak = third / second**1.5, fourth / second**2
    if skew**2 > peak:
        a = 1 / (skew - math.sqrt(skew**2 - peak))
        off = skew * a**3 - a**2
        freedom = a**2 - 2 * off
    else:
        a, off = 1 / skew, 0.0
        freedom = 1 / skew**2
    at = (value - first) / math.sqrt(2 * second) * math.sqrt(2) * a + freedom + off
    if at <= 0:
        return 1.0
    return float(chdtrc(freedom, at) if not off else 1 - chndtr(at, freedom, off))
