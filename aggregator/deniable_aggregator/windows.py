"""Windows of several epochs: what reports say together when a device may have sent several of them.

words:
  pooled     counters added over the epochs of a window
  shared     the part of a report's variance that a device brings along into every epoch: all of it where it
             remembers its answer; else its own value, which is a new draw from the population only once
  effective  how many reports of different devices would be as uncertain

Within an epoch a device answers a metric once, so the reports of one epoch are independent. Those of two epochs are
not: both may come from one device, and nobody can tell, since no device has a name. Let epoch e have n_e reports and
the window N. The pooled estimate weighs epochs by w_e = n_e / N, and whatever the correlation (Cauchy and Schwarz),

    sd(window) <= sum of w_e sd_e,   and with sd_e = s / sqrt(n_e)   sd(window) <= s S / N,   S = sum of sqrt(n_e):

at most as uncertain as N^2 / S^2 independent reports. With equally many reports in each epoch those are the reports
of one of them: the bound is reached when the same devices report in every epoch, and is cautious when they change.

The noise of a metric that is not memoised is fresh, and only the rest of the variance is shared. If the share r of it
is, the window is at most as uncertain as N / (r S^2 / N + 1 - r) reports. For an interval about just the devices that
reported, their values are given and nothing is shared but remembered noise.

Intervals are those of the estimators, for counters scaled down to the effective number; values and reports are
those of the pooled counters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.payload import Integer, Shape, Symbol, Vector
from deniable_aggregator.answers import Estimate, Measure, Row, Target, answer

__all__ = ["Windowed", "scaled", "windowed"]

Counters = NDArray[np.int64]

_LEVEL = 1.05
"""Rows of one estimate have different effective numbers; they are rounded down to powers of this, which makes an
interval at most 2.5% wider, so that few different scales have to be computed."""
_LIMB = 1 << 32


@dataclass(frozen=True, slots=True)
class Windowed:
    """The estimate of a window."""

    estimate: Estimate
    """Values and reports of all epochs together; intervals as wide as their dependence asks for."""
    effective: float
    """How many reports of different devices the least certain row is worth."""


def windowed(metric: Metric, epochs: Sequence[Sequence[Counters]], confidence: float, target: Target) -> Windowed:
    """The estimate from each epoch's counters of the metric's columns."""
    if len(epochs) == 1:
        alone = answer(metric, epochs[0], confidence, target)
        return Windowed(alone, alone.reports)
    columns = [np.stack(own).sum(axis=0) for own in zip(*epochs, strict=True)]
    pooled = answer(metric, columns, confidence, target)
    spread = _spread(metric, epochs)
    most = max(spread)
    if most <= 1:
        return Windowed(pooled, pooled.reports)
    levels = np.ceil(np.log1p(_shared(metric, columns, pooled) * (most - 1)) / math.log(_LEVEL) - 1e-9)
    rows = list(pooled.rows)
    for level in np.unique(levels[levels > 0]).tolist():
        part = min((_LEVEL**level - 1) / (most - 1), 1.0)
        fewer = [
            scaled(counters, column.shape, 1 / (part * own + 1 - part))
            for counters, column, own in zip(columns, metric.columns, spread, strict=True)
        ]
        wider = answer(metric, fewer, confidence, target)
        for place in np.flatnonzero(levels == level).tolist():
            rows[place] = _widened(rows[place], wider.rows[place], pooled.reports / wider.reports)
    least = min(_LEVEL ** float(levels.max()), most)
    return Windowed(replace(pooled, rows=tuple(rows)), pooled.reports / least)


def _spread(metric: Metric, epochs: Sequence[Sequence[Counters]]) -> list[float]:
    """For each column, how many times more reports it has than independent ones at the least: S^2 / N."""
    spread = []
    for column, counters in zip(metric.columns, zip(*epochs, strict=True), strict=True):
        sizes = [_reports(column.shape, own) for own in counters]
        spread.append(sum(map(math.sqrt, sizes)) ** 2 / sum(sizes) if any(sizes) else 1.0)
    return spread


def _reports(shape: Shape, counters: Counters) -> int:
    return int(counters.sum() if isinstance(shape, Symbol) else counters[0])


def _shared(metric: Metric, columns: Sequence[Counters], pooled: Estimate) -> NDArray[np.float64]:
    """For each row, the part of its variance that a device brings along into every epoch."""
    if metric.memoize:
        return np.ones(len(pooled.rows))
    if pooled.target is Target.REPORTING:
        return np.zeros(len(pooled.rows))
    noise = answer(metric, columns, pooled.confidence, Target.REPORTING)
    whole = np.array([row.std_error for row in pooled.rows]) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        part = 1 - np.array([row.std_error for row in noise.rows]) ** 2 / whole
    clipped: NDArray[np.float64] = np.clip(np.nan_to_num(part, nan=1.0), 0.0, 1.0)
    return clipped


def _widened(row: Row, wider: Row, times: float) -> Row:
    """The row with the other's interval; a total of fewer reports is brought up to all of them."""
    up = times if row.measure is Measure.TOTAL else 1.0
    return replace(row, low=wider.low * up, high=wider.high * up, std_error=wider.std_error * up)


def scaled(counters: Counters, shape: Shape, factor: float) -> Counters:
    """The counters of fewer reports of the same composition, rounded to whole ones."""
    reports = _reports(shape, counters)
    part = Fraction(max(math.floor(reports * factor), 1), max(reports, 1))
    if isinstance(shape, Symbol):
        # Rounding the running sum keeps every count within one of its own, and the sum of all of them exact.
        return np.diff(_rounded(np.cumsum(counters), part), prepend=0)
    if isinstance(shape, Integer | Vector):
        size = shape.size if isinstance(shape, Vector) else 1
        sums, low, high = counters[1 : 1 + size], counters[1 + size : 1 + 2 * size], counters[1 + 2 * size :]
        squares = list(_exactly([a + (b << 32) for a, b in zip(low.tolist(), high.tolist(), strict=True)], part))
        limbs = [square % _LIMB for square in squares] + [square // _LIMB for square in squares]
        return np.concatenate([_rounded(counters[:1], part), _rounded(sums, part), np.array(limbs, np.int64)])
    return _rounded(counters, part)


def _rounded(counters: Counters, part: Fraction) -> Counters:
    return np.array(list(_exactly(counters.tolist(), part)), np.int64)


def _exactly(numbers: Sequence[int], part: Fraction) -> Iterator[int]:
    """Each number's part, to the nearest whole, in integers: sums of squares are beyond floating point."""
    above, below = part.numerator, part.denominator
    return ((2 * number * above + below) // (2 * below) for number in numbers)
