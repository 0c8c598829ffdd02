"""A kind that no product has: places of a hierarchy, of which an answer tells those that were found to occur.

What comes beside the simple kinds has this shape: two series, rows that depend on what was reported, and rows that
are a part of others. It takes the kind, its room, and a line in each of two lists.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import KINDS, Category
from deniable_aggregator.answers import ROOMS, Counters, Estimate, Heading, Keys, Measure, Room, Row, RowId, Series
from deniable_aggregator.estimators import Target, frequencies

__all__ = ["Place", "known"]

_FOUND = 3.0
"""A place is told where it is so many standard errors above nothing."""


class Place(Category):
    """One of some paths such as "north/harbour"."""

    __slots__ = ()
    name: ClassVar[str] = "place"


class PlaceRoom(Room):
    """The share of every place that is found, below that of its region; and how many were found."""

    kind = Place
    view = "shares"

    def headings(self, metric: Metric) -> tuple[Heading, ...]:  # noqa: ARG002
        """Two series."""
        return (
            Heading("places", Measure.SHARE),
            Heading("places found", Measure.QUANTITY, unit="places", span=(0.0, 1000.0)),
        )

    def answer(self, metric: Metric, counters: Counters, confidence: float, target: Target) -> Estimate:
        """With the places that stand out."""
        found = frequencies(metric.columns[0].mechanism, counters[0])
        out = found.values > _FOUND * found.std_errors(target)
        places = [place for place, is_out in zip(self._places(metric), out, strict=True) if is_out]
        regions = dict.fromkeys(place.partition("/")[0] for place in places)
        return self.again(metric, {"places": [*regions, *places]}, counters, confidence, target)

    def again(self, metric: Metric, keys: Keys, counters: Counters, confidence: float, target: Target) -> Estimate:
        """Places and regions, as many as are asked for."""
        found = frequencies(metric.columns[0].mechanism, counters[0])
        every, lows_highs = self._places(metric), found.intervals(confidence, target)
        rows = []
        for key in keys.get("places", ()):
            below = [number for number, place in enumerate(every) if place == key or place.startswith(key + "/")]
            value = float(found.values[below].sum())
            reach = sum(
                float((high - low) / 2) for low, high in zip(*(ends[below] for ends in lows_highs), strict=True)
            )
            parent = key.rpartition("/")[0]
            rows.append(Row(key, value, max(value - reach, 0.0), min(value + reach, 1.0), reach / 2, parent))
        places, number = self.headings(metric)
        leaves = float(sum("/" in row.key for row in rows))
        counted = (Row("places found", leaves, leaves, float(len(every)), float("nan")),)
        series = Series(places, tuple(rows)), Series(number, counted)
        return Estimate(metric.name, found.reports, series, confidence, target)

    def without(self, metric: Metric, counters: Counters, found: Estimate, fakes: float) -> NDArray[np.float64]:  # noqa: ARG002
        """Any row could be anything."""
        return np.tile([[-np.inf], [np.inf]], (1, len(found.rows)))

    def truth(self, metric: Metric, values: Sequence[Any]) -> Mapping[RowId, float]:
        """How often each place is named."""
        return {
            RowId("places", place): float(np.mean([value == place for value in values]))
            for place in self._places(metric)
        }

    def row_count(self, metric: Metric) -> int:
        """Every place in a region of its own, and the number."""
        return 2 * len(self._places(metric)) + 1

    @staticmethod
    def _places(metric: Metric) -> Sequence[str]:
        assert isinstance(metric.kind, Place)
        return metric.kind.values


@contextlib.contextmanager
def known() -> Iterator[None]:
    """Collections can ask for places, and be answered."""
    with mock.patch.dict(KINDS, {Place.name: Place}), mock.patch.dict(ROOMS, {Place.name: PlaceRoom()}):
        yield
