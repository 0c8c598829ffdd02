"""Windows of several epochs: what reports say together when a device may have sent several of them.

words:
  pooled     counters added over the epochs of a window
  kept       what a device brings along into every epoch: its value, a new draw from the population only once, or
             what it remembers of it
  shared     the part of a report's variance that is of what is kept: all of it where an answer is sent as it is
             remembered
  effective  how many reports of different devices would be as uncertain

Within an epoch a device answers a metric once, so the reports of one epoch are independent. Those of two epochs are
not: both may come from one device, and nobody can tell, since no device has a name. Let epoch e have n_e reports and
the window N. The pooled estimate weighs epochs by w_e = n_e / N, and whatever the correlation (Cauchy and Schwarz),

    sd(window) <= sum of w_e sd_e,   and with sd_e = s / sqrt(n_e)   sd(window) <= s S / N,   S = sum of sqrt(n_e):

at most as uncertain as N^2 / S^2 independent reports. With equally many reports in each epoch those are the reports
of one of them: the bound is reached when the same devices report in every epoch, and is cautious when they change.

What a report is randomised by anew in every epoch is not shared, and the rest of its variance is. If the part r of it
is, the window is at most as uncertain as N / (r S^2 / N + 1 - r) reports. Too small an r makes intervals that do not
hold, so r is the most that it can be: what the variance is in all, less what the mechanism's fresh noise is at the
least, whatever the population. For shares that is exact; for means, whose spread noise may hide, it is raised as far
as intervals need to hold (`estimators/_shared.py`). For an interval about just the devices that reported, their
values are given and nothing is shared but remembered noise.

Intervals are those of the estimators, for counters scaled down to the effective number; values and reports are
those of the pooled counters. A share at the low end has another r than one at the high end, and so has either end.

Where devices take part by coins of the chance p, two epochs of n and m reports have at most p sqrt(n m) devices in
common, on average over the coins: all of what S adds to N is multiplied by p.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric, linkage
from deniable.payload import Integer, Integers, Shape, Symbol
from deniable_aggregator.answers import (
    Estimate,
    Keys,
    Measure,
    Row,
    RowId,
    Target,
    combines,
    divisible,
    every_series,
    of_all,
    shared,
)

__all__ = ["Counters", "Windowed", "added", "keys_of", "reports_of", "scaled", "shared_parts", "spreads", "windowed"]

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

    def claiming(self, confidence: float) -> Windowed:
        """The same, of intervals that hold more together than each by itself."""
        return replace(self, estimate=replace(self.estimate, confidence=confidence))


def windowed(
    metric: Metric,
    epochs: Sequence[Sequence[Counters]],
    confidence: float,
    target: Target,
    keys: Keys | None = None,
    more: Sequence[RowId] = (),
    only: Sequence[str] = (),
) -> Windowed:
    """The estimate from each epoch's counters of the metric's columns.

    Of rows that are found, or of these `keys`, and of some `more` that are asked for. It has every series; where
    `only` some are told, others may be without rows. Coins are tossed anew in every epoch: what they add to totals is
    not shared.
    """
    found = _of_reports(metric, epochs, confidence, target, keys, more, only)
    return replace(found, estimate=of_all(found.estimate, metric.sample))


def _of_reports(
    metric: Metric,
    epochs: Sequence[Sequence[Counters]],
    confidence: float,
    target: Target,
    keys: Keys | None,
    more: Sequence[RowId],
    only: Sequence[str],
) -> Windowed:
    """The same, with the totals of the devices that reported."""
    if len(epochs) == 1:
        alone = every_series(metric, epochs[0], confidence, target, keys=keys, more=more, only=only)
        return Windowed(alone, alone.reports)
    columns = added(epochs)
    pooled = every_series(metric, columns, confidence, target, keys=keys, more=more, only=only)
    spread = spreads(metric, epochs)
    most = max(spread)
    if most <= 1:
        return Windowed(pooled, pooled.reports)
    parts = shared_parts(metric, columns, pooled, spread)
    levels = np.ceil(np.log1p(parts * (most - 1)) / math.log(_LEVEL) - 1e-9).astype(int)
    levels[1] = levels.max(axis=0)  # a standard error is no smaller than either end has it
    found = {0: pooled.by_id}
    for level in np.unique(levels[levels > 0]).tolist():
        part = min((_LEVEL**level - 1) / (most - 1), 1.0)
        fewer = [
            scaled(counters, column.shape, 1 / (part * own + 1 - part), divisible(column.mechanism))
            for counters, column, own in zip(columns, metric.columns, spread, strict=True)
        ]
        own = every_series(metric, fewer, confidence, target, keys=pooled.keys)
        found[level] = _of_all(own, pooled.reports).by_id
    rows = [
        found[ends[1]][where] if heading.chance else _widened(row, *(found[level][where] for level in ends))
        for (where, row), ends, heading in zip(found[0].items(), levels.T.tolist(), pooled.headings, strict=True)
    ]
    least = min(_LEVEL ** float(levels.max(initial=0)), most)
    return Windowed(pooled.with_rows(rows), pooled.reports / least)


def keys_of(estimates: Iterable[Estimate]) -> Keys:
    """The rows of all of them, to ask for in each."""
    keys: dict[str, dict[str, None]] = {}
    for estimate in estimates:
        for name, own in estimate.keys.items():
            keys.setdefault(name, {}).update(dict.fromkeys(own))
    return {name: list(own) for name, own in keys.items()}


def added(epochs: Sequence[Sequence[Counters]]) -> list[Counters]:
    """The counters of each column, over all epochs."""
    if len(epochs) == 1:
        return [own.copy() for own in epochs[0]]
    return [np.stack(own).sum(axis=0) for own in zip(*epochs, strict=True)]


def spreads(metric: Metric, epochs: Sequence[Sequence[Counters]]) -> list[float]:
    """For each column, how many times more reports it has than independent ones at the least.

    A column that a device draws anew in every epoch has reports of others each time: of two epochs with n and m
    devices, of which a and b have drawn it, the estimates have no more in common than all of the devices, and weigh
    a b / sqrt(n m). Where all devices are in one column, or stay in theirs, that adds up to S^2 / N. A row that is
    made of all columns is of all reports: which one a device has drawn is part of the noise. Nor do devices that take
    part by coins report in every epoch: of two epochs those of both are the chance of a coin times as many.
    """
    if len(epochs) == 1:
        return [1.0] * len(metric.columns)
    sizes = np.array(
        [
            [reports_of(column.shape, own) for column, own in zip(metric.columns, epoch, strict=True)]
            for epoch in epochs
        ],
        dtype=np.float64,
    )
    if combines(metric) and not metric.memoize:
        sizes = np.repeat(sizes.sum(axis=1, keepdims=True), len(metric.columns), axis=1)
        devices = sizes
    else:
        devices = (
            sizes if metric.memoize else np.repeat(sizes.sum(axis=1, keepdims=True), len(metric.columns), axis=1)
        )
    weights = np.divide(sizes, np.sqrt(devices), out=np.zeros_like(sizes), where=devices > 0)
    common = float(metric.sample) * (weights.sum(axis=0) ** 2 - (weights**2).sum(axis=0))
    total = sizes.sum(axis=0)
    spread: list[float] = (1 + np.divide(common, total, out=np.zeros_like(total), where=total > 0)).tolist()
    return spread


def reports_of(shape: Shape, counters: Counters) -> int:
    """How many reports a column's counters are of."""
    return int(counters.sum() if isinstance(shape, Symbol) else counters[0])


def shared_parts(
    metric: Metric, columns: Sequence[Counters], pooled: Estimate, spread: Sequence[float]
) -> NDArray[np.float64]:
    """For the low end, the value and the high end of each row, the part of its variance that is shared, at most."""
    every = 3, len(pooled.rows)
    if linkage.repeats(metric):
        return np.ones(every)
    if pooled.target is Target.REPORTING and not metric.memoize:
        return np.zeros(every)
    found = shared(metric, columns, pooled, spread)
    return found if np.isfinite(found).all() else np.nan_to_num(found, nan=1.0)


def _of_all(found: Estimate, reports: int) -> Estimate:
    """An answer from fewer reports, its totals brought up to all of them."""
    times = reports / found.reports
    pairs = zip(found.rows, found.headings, strict=True)
    return found.with_rows(_raised(row, times) if heading.measure is Measure.TOTAL else row for row, heading in pairs)


def _raised(row: Row, times: float) -> Row:
    return replace(row, low=row.low * times, high=row.high * times, std_error=row.std_error * times)


def _widened(row: Row, lower: Row, middle: Row, upper: Row) -> Row:
    """The row with the ends and the standard error that answers from fewer reports have. What all reports were
    believed to say if they were independent stays within."""
    return replace(row, low=min(lower.low, row.low), high=max(upper.high, row.high), std_error=middle.std_error)


def scaled(counters: Counters, shape: Shape, factor: float, parts: bool = False) -> NDArray[Any]:
    """The counters of fewer reports of the same composition, rounded to whole ones: all together where they may be
    parts, or else each of them."""
    reports = reports_of(shape, counters)
    part = Fraction(max(math.floor(reports * factor), 1), max(reports, 1))
    if isinstance(shape, Symbol):
        if parts:
            return counters * float(part)
        # Rounding the running sum keeps every count within one of its own, and the sum of all of them exact.
        return np.diff(_rounded(np.cumsum(counters), part), prepend=0)
    if isinstance(shape, Integer | Integers):
        size = shape.size if isinstance(shape, Integers) else 1
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
