"""Boolean: the proportion of yes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Boolean
from deniable_aggregator.answers._estimate import Estimate, RowId, Series
from deniable_aggregator.answers._room import Counters
from deniable_aggregator.answers._shares import SHARES, ShareRoom, share_rows
from deniable_aggregator.estimators import Target, frequencies

__all__ = ["BooleanRoom"]

_YES = "yes"


class BooleanRoom(ShareRoom):
    """One row: the share of devices that would say yes."""

    kind = Boolean

    def values(self, metric: Metric) -> Sequence[str]:  # noqa: ARG002
        """Yes: the rest is no."""
        return (_YES,)

    def answer(self, metric: Metric, counters: Counters, confidence: float, target: Target) -> Estimate:
        """The second of the mechanism's two values."""
        found = frequencies(metric.columns[0].mechanism, counters[0])
        rows = share_rows(("no", _YES), found, confidence, target)[1:]
        return Estimate(metric.name, found.reports, (Series(self._heading, rows),), confidence, target)

    def shared(
        self, metric: Metric, counters: Counters, pooled: Estimate, spread: Sequence[float]
    ) -> NDArray[np.float64]:
        """What of the variance of the row is of what devices keep."""
        return super().shared(metric, counters, pooled, spread)[:, 1:]

    def truth(self, metric: Metric, values: Sequence[Any]) -> Mapping[RowId, float]:  # noqa: ARG002
        """How many of the values are true."""
        return {RowId(SHARES, _YES): sum(values) / len(values)}
