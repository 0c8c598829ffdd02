"""Rows of shares, for every kind whose answer is how often something occurs."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable_aggregator.answers._estimate import Estimate, Heading, Measure, Row, RowId, Series
from deniable_aggregator.answers._room import Counters, Room, varying
from deniable_aggregator.estimators import Shares, Target, frequencies, of_answer, rest

__all__ = ["SHARES", "ShareRoom", "share_rows", "shares_of"]

SHARES = "shares"
"""The series of every answer that says how often something occurs."""


class ShareRoom(Room):
    """Answers that are the share of each of a list of values."""

    view: ClassVar[str] = "shares"
    adds_up: ClassVar[bool] = False
    """Whether every device has exactly one of the values."""

    def __init__(self) -> None:
        self._heading = Heading(SHARES, Measure.SHARE, adds_up=self.adds_up)

    @abstractmethod
    def values(self, metric: Metric) -> Sequence[str]:
        """What there is a row for."""

    def headings(self, metric: Metric) -> tuple[Heading, ...]:  # noqa: ARG002
        """Shares."""
        return (self._heading,)

    def answer(self, metric: Metric, counters: Counters, confidence: float, target: Target) -> Estimate:
        """A row a value, in the order of the collection file."""
        found = frequencies(metric.columns[0].mechanism, counters[0])
        rows = share_rows(self.values(metric), found, confidence, target)
        return Estimate(metric.name, found.reports, (Series(self._heading, rows),), confidence, target)

    def row_count(self, metric: Metric) -> int:
        """One a value."""
        return len(self.values(metric))

    def shared(
        self, metric: Metric, counters: Counters, pooled: Estimate, spread: Sequence[float]
    ) -> NDArray[np.float64]:
        """What of the variance of each row is of what devices keep."""
        found = frequencies(metric.columns[0].mechanism, counters[0])
        return found.shared(spread[0], pooled.confidence, pooled.target)

    def anew(self, metric: Metric, counters: Counters, pooled: Estimate) -> NDArray[np.float64]:
        """All that is not of what devices keep, which is known exactly."""
        parts: NDArray[np.float64] = 1 - self.shared(metric, counters, pooled, [1.0] * len(metric.columns))[1]
        return parts

    def values_vary(self, metric: Metric, found: Estimate) -> NDArray[np.float64]:  # noqa: ARG002
        """As much as bits that occur so often."""
        return np.array([varying(row, 0.0, 1.0) for row in found.rows])

    def without(self, metric: Metric, counters: Counters, found: Estimate, fakes: float) -> NDArray[np.float64]:
        """A report supports a value or does not."""
        own = frequencies(metric.columns[0].mechanism, counters[0])
        values = np.array([row.value for row in found.rows])
        return np.stack(rest(values, of_answer(own), fakes / own.reports))

    def truth(self, metric: Metric, values: Sequence[Any]) -> Mapping[RowId, float]:
        """How often each value is given."""
        return shares_of(self.values(metric), values)


def share_rows(keys: Sequence[str], shares: Shares, confidence: float, target: Target) -> tuple[Row, ...]:
    """A row a key."""
    lows, highs = shares.intervals(confidence, target)
    columns = (shares.values, lows, highs, shares.std_errors(target))
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(Row(key, *row) for key, row in zip(keys, numbers, strict=True))


def shares_of(keys: Sequence[str], values: Sequence[str]) -> dict[RowId, float]:
    """How many of the values are each of the keys."""
    counted = Counter(values)
    return {RowId(SHARES, key): counted[key] / len(values) for key in keys}
