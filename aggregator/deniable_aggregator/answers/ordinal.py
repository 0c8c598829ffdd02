"""Ordinal: the proportion of each value, and the mean rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Ordinal
from deniable_aggregator.answers._estimate import Estimate, Heading, Measure, Row, RowId, Series
from deniable_aggregator.answers._room import Counters, varying
from deniable_aggregator.answers._shares import ShareRoom, share_rows, shares_of
from deniable_aggregator.estimators import Contributions, Target, ranks, rest

__all__ = ["OrdinalRoom"]

_MEAN = "mean rank"


class OrdinalRoom(ShareRoom):
    """A row a value, in their order, and the mean of their ranks: 1 for the first value, 2 for the second."""

    kind = Ordinal
    adds_up = True

    def values(self, metric: Metric) -> Sequence[str]:
        """Those of the collection file."""
        assert isinstance(metric.kind, Ordinal)
        return metric.kind.values

    def headings(self, metric: Metric) -> tuple[Heading, ...]:
        """Shares, and a mean."""
        places = float(len(self.values(metric)))
        return *super().headings(metric), Heading(_MEAN, Measure.QUANTITY, span=(1.0, places))

    def answer(self, metric: Metric, counters: Counters, confidence: float, target: Target) -> Estimate:
        """Both series from the same counters."""
        found = ranks(metric.columns[0].mechanism, counters[0])
        rows = share_rows(self.values(metric), found.shares, confidence, target)
        value, error, low, high = found.mean(confidence, target)
        mean = (Row(_MEAN, value, low, high, error),)
        series = tuple(map(Series, self.headings(metric), (rows, mean)))
        return Estimate(metric.name, found.shares.reports, series, confidence, target)

    def row_count(self, metric: Metric) -> int:
        """One a value, and the mean."""
        return len(self.values(metric)) + 1

    def shared(
        self, metric: Metric, counters: Counters, pooled: Estimate, spread: Sequence[float]
    ) -> NDArray[np.float64]:
        """What of the variance of each row is of what devices keep."""
        found = ranks(metric.columns[0].mechanism, counters[0])
        mean = np.full((3, 1), found.shared(spread[0], pooled.confidence))
        return np.hstack([found.shares.shared(spread[0], pooled.confidence, pooled.target), mean])

    def anew(self, metric: Metric, counters: Counters, pooled: Estimate) -> NDArray[np.float64]:
        """Of shares all that is not of what devices keep, and of the mean rank as much as it can be."""
        parts = super().anew(metric, counters, pooled)
        parts[-1] = ranks(metric.columns[0].mechanism, counters[0]).anew(pooled.confidence)[1]
        return parts

    def values_vary(self, metric: Metric, found: Estimate) -> NDArray[np.float64]:
        """Ranks as much as if all devices were at the first place or at the last."""
        own = super().values_vary(metric, found)
        own[-1] = varying(found.rows[-1], 1.0, float(len(self.values(metric))))
        return own

    def without(self, metric: Metric, counters: Counters, found: Estimate, fakes: float) -> NDArray[np.float64]:
        """A report names a place, which says something of each share, and of the rank."""
        own = ranks(metric.columns[0].mechanism, counters[0])
        said = dict(zip([*self.values(metric), _MEAN], own.contributions(), strict=True))
        ends = np.array([(said[row.key].min(), said[row.key].max()) for row in found.rows]).T
        values = np.array([row.value for row in found.rows])
        return np.stack(rest(values, Contributions(*ends), fakes / own.shares.reports))

    def truth(self, metric: Metric, values: Sequence[Any]) -> Mapping[RowId, float]:
        """How often each value is given, and the mean of their ranks."""
        shares = shares_of(self.values(metric), values)
        return shares | {RowId(_MEAN, _MEAN): sum(rank * share for rank, share in enumerate(shares.values(), 1))}
