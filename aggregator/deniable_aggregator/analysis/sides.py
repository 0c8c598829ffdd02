"""Sides: what a comparison has to know of an answer besides its intervals, from the counters of its window.

words:
  side        one of the two answers that are compared
  reach       how far an interval goes from its estimate, down or up; squares of reaches add up as variances do
  values, kept, anew
              the parts of a side's variance that are of the values of its devices; of all that these bring along,
              values and remembered noise; and of what is randomised anew for every report

An end of an interval that only says what is possible at all (no share is below 0) has no reach of its own: there the
standard error counts, and of a share the reach that it would have had.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from deniable import Metric, linkage
from deniable_aggregator.analysis.windows import (
    Counters,
    Windowed,
    added,
    reports_of,
    shared_parts,
    spreads,
    windowed,
)
from deniable_aggregator.answers import Estimate, Heading, Keys, Measure, Target, anew, apart, ends, values_vary

__all__ = ["Counted", "Side", "exactly", "quantile", "side", "squares"]

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Side:
    """One of two answers, and of what it is uncertain; squares are of reaches, down and up, of every row."""

    windowed: Windowed
    """The answer, with intervals as wide as the window asks for."""
    whole: _Floats
    """The squares of the intervals' own reaches."""

    @property
    def estimate(self) -> Estimate:
        """The answer."""
        return self.windowed.estimate


@dataclass(frozen=True)
class Counted(Side):
    """One from counters. What it may have in common with another one takes longer than the answer: it is worked out
    for who asks, and nobody does where devices are others."""

    metric: Metric
    epochs: Sequence[Sequence[Counters]]
    """Each epoch's counters of the metric's columns."""

    @cached_property
    def anew(self) -> _Floats:
        """What of the squares is of randomising anew for every report, at most."""
        if not self.estimate.reports:
            return self.whole
        return _anew(self.metric, self.epochs, self.windowed, self.whole, self._spread)

    @cached_property
    def values(self) -> _Floats:
        """What of the squares is of the devices' values, at most."""
        estimate, metric, epochs = self.estimate, self.metric, self.epochs
        if not estimate.reports:
            return self.whole
        if estimate.target is not Target.POPULATION:
            return np.zeros(self.whole.shape)
        parts = shared_parts(metric, added(epochs), estimate, spreads(metric, epochs)).max(axis=0)
        devices = self.devices if metric.memoize else _devices(metric, epochs)
        most = quantile(estimate.confidence) ** 2 * values_vary(metric, estimate) / devices
        return np.minimum(self.whole * _kept(parts, self._spread), most)

    @cached_property
    def devices(self) -> _Floats:
        """For each row how many different devices there are, if there are as few as can be."""
        if not self.estimate.reports:
            return np.zeros(len(self.estimate.rows))
        fewest: _Floats = self._told[1] / self._spread
        return fewest

    @property
    def farthest(self) -> _Floats:
        """For each row the square of the reach if all that devices differ by were the whole of what is possible."""
        apart_by = np.diff(ends(self.metric, self.estimate), axis=0)[0]
        reach: _Floats = (quantile(self.estimate.confidence) * apart_by) ** 2
        return reach

    @property
    def _spread(self) -> _Floats:
        return self._told[0]

    @cached_property
    def _told(self) -> tuple[_Floats, _Floats]:
        """How many times more reports each row has than independent ones at the least, and how many."""
        metric, columns = self.metric, added(self.epochs)
        counted = [reports_of(column.shape, own) for column, own in zip(metric.columns, columns, strict=True)]
        spread = spreads(metric, self.epochs)
        pairs = zip(spread, counted, strict=True)
        every = pairs if apart(metric) else [(max(spread), sum(counted))] * len(self.estimate.rows)
        spreading, reports = np.array(list(every), dtype=np.float64).reshape(-1, 2).T
        return spreading, reports


def side(
    metric: Metric,
    epochs: Sequence[Sequence[Counters]],
    confidence: float = 0.95,
    target: Target = Target.POPULATION,
    keys: Keys | None = None,
) -> Counted:
    """One side, from each epoch's counters of the metric's columns; of rows that are found, or of these `keys`."""
    found = windowed(metric, epochs, confidence, target, keys)
    return Counted(found, squares(metric, found.estimate), metric, epochs)


def exactly(estimate: Estimate) -> Side:
    """A side that is known without an error."""
    return Side(Windowed(estimate, estimate.reports), np.zeros((2, len(estimate.rows))))


def quantile(confidence: float) -> float:
    """How many standard errors a normal interval reaches."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _devices(metric: Metric, epochs: Sequence[Sequence[Counters]]) -> float:
    """How many devices the reports of all columns are of, if the same report in every epoch."""
    pairs = [zip(metric.columns, epoch, strict=True) for epoch in epochs]
    sizes = [sum(reports_of(column.shape, own) for column, own in epoch) for epoch in pairs]
    return sum(sizes) ** 2 / sum(map(math.sqrt, sizes)) ** 2


def _kept(parts: _Floats, spread: _Floats) -> _Floats:
    """The part of a window's variance that is kept, from the part of a report's."""
    kept: _Floats = parts * spread / (1 + parts * (spread - 1))
    return kept


def _anew(
    metric: Metric, epochs: Sequence[Sequence[Counters]], found: Windowed, whole: _Floats, spread: _Floats
) -> _Floats:
    """What of the squares is of randomising anew: an interval about just the devices that reported has nothing else,
    but for what these remember."""
    estimate = found.estimate
    if linkage.repeats(metric):
        return np.zeros(whole.shape)
    if not metric.memoize:
        own = windowed(metric, epochs, estimate.confidence, Target.REPORTING, estimate.keys).estimate
        return np.where(_drawn(estimate), whole, np.minimum(squares(metric, own), whole))
    sampled, wide = estimate, whole
    if estimate.target is not Target.POPULATION:
        sampled = windowed(metric, epochs, estimate.confidence, Target.POPULATION, estimate.keys).estimate
        wide = squares(metric, sampled)
    parts = anew(metric, added(epochs), sampled)
    return np.where(_drawn(estimate), whole, np.minimum(wide * (1 - _kept(1 - parts, spread)), whole))


def _drawn(estimate: Estimate) -> NDArray[np.bool_]:
    """Which rows are totals of devices that were drawn by coins: of these all may be anew."""
    totals = [bool(estimate.devices) and own.measure is Measure.TOTAL for own in estimate.headings]
    return np.array(totals, dtype=np.bool_)


def squares(metric: Metric, estimate: Estimate) -> _Floats:
    """The squares of the reaches of all rows, down and up."""
    z, found = quantile(estimate.confidence), []
    every = zip(estimate.rows, estimate.headings, *ends(metric, estimate).tolist(), strict=True)
    for row, heading, least, most in every:
        own = 0.0 if math.isnan(row.std_error) else z * row.std_error
        below, above = row.value - row.low, row.high - row.value
        if row.low <= least:
            below = max(below, _across(own, 0.0 if row.high >= most else above, heading))
        if row.high >= most:
            above = max(above, _across(own, 0.0 if row.low <= least else row.value - row.low, heading))
        found.append((max(below, 0.0) ** 2, max(above, 0.0) ** 2))
    return np.array(found, dtype=np.float64).reshape(-1, 2).T


def _across(own: float, reach: float, heading: Heading) -> float:
    """How far an interval would go at the end that is cut off, from its reach at the other; z standard errors if
    that is cut off too. The ends of a share's interval solve a quadratic equation: one reach times the other is
    the square of z standard errors."""
    return own**2 / reach if heading.measure is Measure.SHARE and reach > 0 else own
