"""Series of quantities, for every kind that asks for a mean: the mean, the total, and how much devices differ.

The standard deviation is told where the reports show it. One bit does not, nor does noise around counts that have no
limit: their tail, which decides how uncertain it is, could be anything. For the same reason the mean of such counts
has a low end and no high one: one device that no sample has could be most of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Quantity
from deniable_aggregator.answers._estimate import Estimate, Heading, Measure, Row, RowId, Series
from deniable_aggregator.answers._room import Counters, Room, varying
from deniable_aggregator.estimators import (
    Contributions,
    Means,
    OneBit,
    Target,
    means,
    of_answer,
    places,
    rest,
    tells_spread,
)

__all__ = ["QuantityRoom"]

_OPEN = "no upper end: without a max, a few devices that have not reported could be most of the mean"
_MEAN, _TOTAL, _DEVIATION = "mean", "total", "standard deviation"


class QuantityRoom(Room):
    """A series of one row each: the mean, the total of the devices that reported, and their standard deviation."""

    view = "quantities"

    def headings(self, metric: Metric) -> tuple[Heading, ...]:
        """In the unit of the collection file."""
        kind = _kind(metric)
        told = _headings(kind.unit, kind.ends if kind.limited else None)
        return told if kind.limited and tells_spread(metric.columns[0].mechanism) else told[:2]

    def answer(self, metric: Metric, counters: Counters, confidence: float, target: Target) -> Estimate:
        """The total is of as many devices as have reported."""
        kind = _kind(metric)
        found, (start, end) = means(metric.columns[0].mechanism, counters[0]), kind.ends
        size, count = end - start, found.reports
        value, error, *reach = found.estimate(confidence, target)
        low, high = (min(max(start + size * share, start), end) for share in _possible(value, *reach))
        note = ""
        if isinstance(found, Means) and not kind.limited and target is Target.POPULATION:
            note = _OPEN
            low, high = max(size * found.floor(confidence), start), math.inf
        mean = Row(_MEAN, start + size * value, low, high, size * error)
        most = high * count if count else 0.0  # infinity times nothing is not a number
        rows = [mean, Row(_TOTAL, mean.value * count, low * count, most, mean.std_error * count)]
        if isinstance(found, Means) and kind.limited:
            value, error, low, high = (size * share for share in found.deviation(confidence, target))
            rows.append(Row(_DEVIATION, value, low, high, error))
        pairs = zip(self.headings(metric), rows, strict=True)
        series = tuple(Series(heading, (row,)) for heading, row in pairs)
        return Estimate(metric.name, count, series, confidence, target, note=note)

    def row_count(self, metric: Metric) -> int:
        """One a series."""
        return len(self.headings(metric))

    def shared(
        self, metric: Metric, counters: Counters, pooled: Estimate, spread: Sequence[float]
    ) -> NDArray[np.float64]:
        """What of the variance of each row is of what devices keep; of counts without a limit it could be all. One
        bit is as uncertain for both targets, and all else keeps its value alone."""
        kind, found = _kind(metric), means(metric.columns[0].mechanism, counters[0])
        if isinstance(found, OneBit):
            return np.tile(found.shared(spread[0], pooled.confidence)[:, np.newaxis], (1, 2))
        if not kind.limited:
            return np.ones((3, 2))
        mean, deviation = found.shared(spread[0], pooled.confidence)
        return np.tile([mean, mean, deviation], (3, 1))

    def anew(self, metric: Metric, counters: Counters, pooled: Estimate) -> NDArray[np.float64]:
        """Of one bit all that is not of the bit that is remembered."""
        found = means(metric.columns[0].mechanism, counters[0])
        if not isinstance(found, OneBit):
            return super().anew(metric, counters, pooled)
        parts: NDArray[np.float64] = 1 - np.full(2, found.shared(1.0, pooled.confidence)[1])
        return parts

    def ends(self, metric: Metric, found: Estimate) -> NDArray[np.float64]:
        """Of the deviation, that of devices of which half are at either end."""
        ends, kind = super().ends(metric, found), _kind(metric)
        for place, heading in enumerate(found.headings):  # of some series, where just these are told
            if heading.name == _DEVIATION:
                ends[:, place] = 0.0, (kind.ends[1] - kind.ends[0]) / 2
            elif not kind.limited:
                ends[0, place] = kind.ends[0] * (found.size if heading.measure is Measure.TOTAL else 1)
        return ends

    def values_vary(self, metric: Metric, found: Estimate) -> NDArray[np.float64]:
        """As much as if all devices were at either end of the range, if it has two; the deviation is no mean."""
        kind, vary = _kind(metric), super().values_vary(metric, found)
        if kind.limited:
            for place, scale in enumerate((1, found.size)):
                vary[place] = varying(found.rows[place], *(end * scale for end in kind.ends))
        return vary

    def without(self, metric: Metric, counters: Counters, found: Estimate, fakes: float) -> NDArray[np.float64]:
        """A report counts as a place on the range or beyond its ends. The total is that of fewer devices."""
        mechanism, (start, end) = metric.columns[0].mechanism, _kind(metric).ends
        own = means(mechanism, counters[0])
        counted = of_answer(own.frequencies) if isinstance(own, OneBit) else Contributions.between(*places(mechanism))
        said = Contributions(*(np.asarray(start + (end - start) * each) for each in counted))
        lines = []
        for heading, row in zip(found.headings, found.rows, strict=True):
            if heading.name == _DEVIATION:
                assert isinstance(own, Means)
                lines.append([(end - start) * each for each in own.deviations(counted, fakes)])
            elif heading.name == _TOTAL:
                lines.append(
                    [row.value - fakes * float(said.most.clip(0)), row.value + fakes * float((-said.least).clip(0))]
                )
            else:
                lines.append([float(each[0]) for each in rest(np.array([row.value]), said, fakes / own.reports)])
        return np.array(lines, dtype=np.float64).reshape(-1, 2).T

    def truth(self, metric: Metric, values: Sequence[Any]) -> Mapping[RowId, float]:
        """Of values beyond the range, their nearest end counts."""
        clipped = np.clip(np.asarray(values, dtype=np.float64), *_kind(metric).ends)
        told = {_MEAN: float(clipped.mean()), _TOTAL: float(clipped.sum()), _DEVIATION: float(clipped.std())}
        return {RowId(heading.name, heading.name): told[heading.name] for heading in self.headings(metric)}


@lru_cache(maxsize=1024)
def _headings(unit: str, span: tuple[float, float] | None) -> tuple[Heading, ...]:
    measures = {_MEAN: Measure.QUANTITY, _TOTAL: Measure.TOTAL, _DEVIATION: Measure.QUANTITY}
    return tuple(Heading(name, measure, unit, span) for name, measure in measures.items())


def _possible(value: float, low: float, high: float) -> tuple[float, float]:
    """The interval; one without any possible share is moved to where it would be had the nearest one come out."""
    move = min(max(value, 0.0), 1.0) - value if high < 0 or low > 1 else 0.0
    return low + move, high + move


def _kind(metric: Metric) -> Quantity:
    assert isinstance(metric.kind, Quantity)
    return metric.kind
