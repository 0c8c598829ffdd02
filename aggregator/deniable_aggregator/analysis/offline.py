"""Estimates and comparisons from reports at hand, without a server: for notebooks and tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deniable import Metric, Report
from deniable.payload import Shape
from deniable.wire.rows import encode_rows, encode_wide_rows
from deniable_aggregator.analysis.comparison import UNKNOWN, Comparison, Devices, compared
from deniable_aggregator.answers import Bound, Estimate, Row, RowId, Target, answer, without_fakes
from deniable_aggregator.ingest import Layout
from deniable_aggregator.ingest.rows import Batch, Lookup, Rows
from deniable_aggregator.store import KEY, EpochKey

__all__ = ["accumulate", "added", "compare", "estimate"]


def estimate(
    metric: Metric,
    reports: Iterable[Report],
    confidence: float = 0.95,
    target: Target = Target.POPULATION,
    simultaneous: bool = False,
) -> Estimate:
    """The answer of a metric from its reports, each of another device; simultaneous intervals hold all together.

    Of a distribution the answer can be asked for more: `share(above=2000)`, `quantile(0.375)`.
    """
    counters = accumulate(metric, reports)

    def ask(row: RowId) -> Row:
        return answer(metric, counters, confidence, target, more=[row]).row(row)

    found = answer(metric, counters, confidence, target, simultaneous)

    def without(share: float) -> tuple[Bound, ...]:
        ends = without_fakes(metric, counters, found, share).T.tolist()
        return tuple(Bound(*row, *own) for row, own in zip(found.ids, ends, strict=True))

    return replace(found, ask=ask, without=without)


def compare(
    metric: Metric,
    before: Iterable[Report],
    after: Iterable[Report],
    confidence: float = 0.95,
    target: Target = Target.POPULATION,
    devices: Devices = UNKNOWN,
) -> Comparison:
    """By how much the answer of some reports differs from that of others; on each side, each of another device."""
    sides = [accumulate(metric, before)], [accumulate(metric, after)]
    return compared(metric, *sides, confidence=confidence, target=target, devices=devices)


def accumulate(metric: Metric, reports: Iterable[Report]) -> list[NDArray[np.int64]]:
    """The counters of the metric's columns."""
    columns = metric.columns
    first = columns[0].number
    own = [Report(column - first, payload) for column, payload in reports]
    if any(not 0 <= column < len(columns) for column, _ in own):
        raise ValueError(f"a report that is not of {metric.name!r}")
    return added(metric, encode_rows(own, columns), encode_wide_rows(own, columns))


def added(metric: Metric, rows: bytes, wide_rows: Sequence[tuple[int, bytes]]) -> list[NDArray[np.int64]]:
    """The counters of the metric's columns from rows as they travel, but for columns that are counted from 0."""
    counters = [np.zeros(column.shape.counters, dtype=np.int64) for column in metric.columns]
    if rows or wide_rows:
        table = _lookup(metric.name, tuple(column.shape for column in metric.columns))
        additions = Rows([Batch(b"", table, EpochKey(0, 0), 0, rows, wide_rows)]).additions(np.array([True]))
        column = np.asarray(additions.keys, dtype=KEY)["column"][additions.key]
        for place, into in enumerate(counters):
            mine = column == place
            into[additions.counter[mine]] = additions.amount[mine]
    return counters


@lru_cache(maxsize=16)  # who simulates or looks at many samples adds up the same columns again and again
def _lookup(metric: str, shapes: tuple[Shape, ...]) -> Lookup:
    """The columns of one metric alone, as ingest looks them up."""
    return Lookup(Layout(metric, 0, 1, 1, tuple((metric, shape) for shape in shapes)))
