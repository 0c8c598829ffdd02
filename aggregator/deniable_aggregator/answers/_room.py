"""What the file of a kind has: how its answers are made of counters, and all that is to be known of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Kind
from deniable_aggregator.answers._estimate import Estimate, Heading, Keys, Measure, Row, RowId, by_size
from deniable_aggregator.consistency import on_simplex
from deniable_aggregator.estimators import Target

__all__ = ["Counters", "Room", "varying"]

Counters = Sequence[NDArray[np.int64]]
"""The counters of a metric's columns, in their order."""
_COMBINED_COLUMN, _COMBINED_COUNTER = 12_000, 25
"""What it takes to make one answer out of columns that belong together, as the levels of a tree do: for
each of them, and for each of its counters."""


class Room(ABC):
    """The answers of one kind."""

    kind: ClassVar[type[Kind]]
    """Whose answers these are."""
    view: ClassVar[str]
    """How they look on the page: the name of one of its views."""

    combines: ClassVar[bool] = False
    """Whether a row is made of all columns, where there are several; else each is of one column's reports."""
    searching: ClassVar[int] = 0
    """What it takes to find its rows, where these depend on what was reported, counted in counters as prices are."""

    @abstractmethod
    def headings(self, metric: Metric) -> tuple[Heading, ...]:
        """Those of the series that its answers have."""

    @abstractmethod
    def answer(self, metric: Metric, counters: Counters, confidence: float, target: Target) -> Estimate:
        """The answer from the counters."""

    def again(self, metric: Metric, keys: Keys, counters: Counters, confidence: float, target: Target) -> Estimate:  # noqa: ARG002
        """The answer with just the rows that are asked for, in that order: who asks for the same of two has them side
        by side. Where rows are those of the collection, that is any."""
        return self.answer(metric, counters, confidence, target)

    def only(
        self,
        metric: Metric,
        names: Collection[str],  # noqa: ARG002
        counters: Counters,
        confidence: float,
        target: Target,
    ) -> Estimate:
        """The answer; series that are not named may be without rows, where these take long."""
        return self.answer(metric, counters, confidence, target)

    def asked(self, metric: Metric, rows: Sequence[RowId]) -> None:
        """Whether answers have these rows, besides those that they always have; a ValueError says what there is."""
        names = ", ".join(heading.name for heading in self.headings(metric))
        for row in rows:
            raise ValueError(
                f"{metric.name} has no row {row.key!r} of {row.series!r} to ask for; its series: {names}"
            )

    @abstractmethod
    def without(self, metric: Metric, counters: Counters, found: Estimate, fakes: float) -> NDArray[np.float64]:
        """For each row of an answer, the least and the most that it could be without up to so many fakes among its
        reports, before it is cut to what is possible; infinite where nothing is known of it. Its totals are of the
        devices that reported."""

    @abstractmethod
    def truth(self, metric: Metric, values: Sequence[Any]) -> Mapping[RowId, float]:
        """What the rows would say if the values of all devices were known."""

    def always(self, metric: Metric) -> Keys:  # noqa: ARG002
        """Of series that are drawn, and whose rows follow the reports, those rows that every answer has."""
        return {}

    @abstractmethod
    def row_count(self, metric: Metric) -> int:
        """How many rows an answer has, at the most."""

    def effort(self, metric: Metric) -> int:
        """What making an answer takes beside its rows and columns, counted in counters (`analysis/prices.py`)."""
        if not self.combines:
            return 0
        counters = sum(column.shape.counters for column in metric.columns)
        return _COMBINED_COLUMN * len(metric.columns) + _COMBINED_COUNTER * counters

    def swaying(self, metric: Metric, most: int) -> int:  # noqa: ARG002
        """How many nodes of levels it takes to look at to bound what fakes can do, to all rows or to at most so many
        of each series."""
        return 0

    def shared(
        self,
        metric: Metric,  # noqa: ARG002
        counters: Counters,  # noqa: ARG002
        pooled: Estimate,
        spread: Sequence[float],  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """For each row of an answer over several epochs, the part of a report's variance that is of what its device
        brings along into all of them, at most: at the low end of the interval, at the value, at the high end.

        `spread` says of each column how many times more reports it has than independent ones. What nobody has
        thought about is shared.
        """
        return np.ones((3, len(pooled.rows)))

    def anew(
        self,
        metric: Metric,  # noqa: ARG002
        counters: Counters,  # noqa: ARG002
        pooled: Estimate,
    ) -> NDArray[np.float64]:
        """For each row of an answer that is remembered and randomised once more, the part of a report's variance that
        is of the second randomisation, at most. What nobody has thought about is all of it.
        """
        return np.ones(len(pooled.rows))

    def apart(self, metric: Metric) -> bool:  # noqa: ARG002
        """Whether each row is of reports of its own: one a column, in their order."""
        return False

    def ends(self, metric: Metric, found: Estimate) -> NDArray[np.float64]:  # noqa: ARG002
        """For each row, the least and the most that an interval can reach to, whatever was reported."""
        ends: list[tuple[float, float]] = []
        for series in found.series:
            heading = series.heading
            least, most = (0.0, 1.0) if heading.measure is Measure.SHARE else heading.span or (-np.inf, np.inf)
            times = found.size if heading.measure is Measure.TOTAL else 1
            ends += [(least * times, most * times)] * len(series.rows)
        return np.array(ends, dtype=np.float64).reshape(-1, 2).T

    def values_vary(self, metric: Metric, found: Estimate) -> NDArray[np.float64]:  # noqa: ARG002
        """For each row how much the values of devices vary, at most, as far as the row is their mean; infinite where
        it is none, or where values have no ends."""
        return np.full(len(found.rows), np.inf)

    def consistent(self, metric: Metric, found: Estimate) -> list[float | None]:  # noqa: ARG002
        """For each row what it would be if it fitted the others; None where nothing is known, or nothing to fit.

        Shares are not negative and at most 1, and those of one series may have to add up to 1.
        """
        fitted: list[float | None] = []
        for series in found.series:
            raw = np.array([row.value for row in series.rows], dtype=np.float64)
            if series.heading.measure is not Measure.SHARE:
                fitted += [None] * len(raw)
                continue
            own = on_simplex(raw) if series.heading.adds_up else np.clip(raw, 0.0, 1.0)
            fitted += [None if np.isnan(value) else value for value in own.tolist()]
        return fitted

    def consistent_part(self, metric: Metric, found: Estimate) -> list[float | None]:
        """The same of an answer about a part of the devices, of which less may be known than of all."""
        return self.consistent(metric, found)

    def leading(self, metric: Metric, found: Estimate) -> RowId:  # noqa: ARG002
        """The row that stands for the whole answer: of the first series that has any the first, of shares the
        largest. Without any row its key is empty."""
        first = next((series for series in found.series if series.rows), found.series[0])
        largest = found.reports and first.heading.measure is Measure.SHARE
        rows = sorted(first.rows, key=by_size) if largest else first.rows
        return RowId(first.heading.name, rows[0].key if rows else "")


def varying(row: Row, least: float, most: float) -> float:
    """How much quantities between two ends vary, at most, if the interval holds their mean: no more than what lies
    below the mean, times what lies above it; of all that are believed, at the nearest to the middle."""
    mean = min(max((least + most) / 2, row.low), row.high)
    return max((mean - least) * (most - mean), 0.0)
