"""Flags: the proportion of devices with each flag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Flags
from deniable_aggregator.answers._estimate import Estimate, RowId, Series
from deniable_aggregator.answers._room import Counters
from deniable_aggregator.answers._shares import SHARES, ShareRoom, share_rows
from deniable_aggregator.estimators import Frequencies, Target, frequencies, of_answer, rest

__all__ = ["FlagsRoom"]


class FlagsRoom(ShareRoom):
    """A row a flag; where a device answers one of them, each has the reports of its own column."""

    kind = Flags

    def values(self, metric: Metric) -> Sequence[str]:
        """The flags."""
        assert isinstance(metric.kind, Flags)
        return metric.kind.flags

    def answer(self, metric: Metric, counters: Counters, confidence: float, target: Target) -> Estimate:
        """The devices that have drawn a flag are a random sample of those that reported: also where these alone are
        meant, an interval has to account for sampling."""
        if len(metric.columns) == 1:
            return super().answer(metric, counters, confidence, target)
        found = _drawn(metric, counters)
        pairs = zip(self.values(metric), found, strict=True)
        rows = tuple(share_rows(("", flag), own, confidence, Target.POPULATION)[1] for flag, own in pairs)
        reports = sum(each.reports for each in found)
        return Estimate(metric.name, reports, (Series(self._heading, rows),), confidence, target)

    def apart(self, metric: Metric) -> bool:
        """Where a device answers one of the flags."""
        return len(metric.columns) > 1

    def shared(
        self, metric: Metric, counters: Counters, pooled: Estimate, spread: Sequence[float]
    ) -> NDArray[np.float64]:
        """What of the variance of each row is of what devices keep; a remembered answer is about one flag."""
        if len(metric.columns) == 1:
            return super().shared(metric, counters, pooled, spread)
        pairs = zip(_drawn(metric, counters), spread, strict=True)
        return np.hstack([each.shared(own, pooled.confidence, Target.POPULATION)[:, 1:] for each, own in pairs])

    def without(self, metric: Metric, counters: Counters, found: Estimate, fakes: float) -> NDArray[np.float64]:
        """Where a device answers one of the flags, fakes choose which."""
        if len(metric.columns) == 1:
            return super().without(metric, counters, found, fakes)
        own = dict(zip(self.values(metric), _drawn(metric, counters), strict=True))
        parts = ((np.array([row.value]), own[row.key]) for row in found.rows)
        return np.hstack([rest(value, of_answer(each), fakes / max(each.reports, 1)) for value, each in parts])

    def truth(self, metric: Metric, values: Sequence[Any]) -> Mapping[RowId, float]:
        """How many devices have each flag."""
        return {
            RowId(SHARES, flag): sum(flag in names for names in values) / len(values) for flag in self.values(metric)
        }


def _drawn(metric: Metric, counters: Counters) -> list[Frequencies]:
    return [frequencies(column.mechanism, own) for column, own in zip(metric.columns, counters, strict=True)]
