"""The demo's fleet: what its devices would answer, day by day, and how they keep reporting.

words:
  drift  earlier days differ from today a little, so that there is something to see over time
  turn   two answers differ more: something has happened today, which comparisons find
  learn  each earlier day is a round, whose answer makes the model of the next day (`lesson.py`)
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from deniable import Collection, Metric
from deniable_aggregator.answers import Estimate, Measure, RowId, combines, headings, truth
from deniable_aggregator.demo.lesson import ANSWERED, UPDATE, Lesson
from deniable_aggregator.planning import fleet
from deniable_aggregator.planning.population import taking_part
from deniable_aggregator.planning.truth import Truth

__all__ = ["Fleet"]

_DAYS = 7
"""So many earlier days report, too: as many as are still accepted."""
_FEWER = 4
"""Earlier days have a part of today's devices."""
_DRIFT = 0.04
"""An answer's odds change by about so much a day."""
_TURNED = {"dark_mode": (True, 0.45), "extension": ("vim", 0.02)}
"""Of which metrics an answer had other odds before today, by so much: the dark theme was made the default, and an
extension for vim's keys is new."""
_WHOLE = 10_000
"""Weights of a day are rounded to parts of this, so that the truth is exact."""
_TOGETHER = 40
_EVERY_SECONDS = 2.0


class Fleet:
    """Simulated devices, and the truth about them."""

    def __init__(self, collection: Collection, today: Truth, epoch: int) -> None:
        self._collection = collection
        self._today = today
        self._epoch = epoch
        self._devices: Counter[int] = Counter()
        self._generator = np.random.default_rng()
        self.lesson = Lesson(epoch - _DAYS)
        """What it learns."""

    @property
    def days(self) -> range:
        """The epochs of earlier days, and today's."""
        return range(self._epoch - _DAYS, self._epoch + 1)

    async def learn(self, devices: int, endpoint: str, read: Callable[[int, str], Awaitable[Estimate]]) -> None:
        """On each earlier day devices say how they would change the model of that day; `read` gives their answer."""
        for epoch in self.days[:-1]:
            every = Truth(self.lesson.on(epoch)).draw(max(devices // _FEWER, 2), self._generator)
            values = taking_part(self._collection, every, self._generator)
            await fleet.forward(self._collection, values, endpoint, epoch, self._generator, _silent)
            self.lesson.take(await read(epoch, UPDATE))

    def device(self) -> dict[str, Any]:
        """What one device records today."""
        drawn = self._on(self._epoch).draw(1, self._generator)
        return {name: drawn[name][0] for name, metric in self._collection.metrics.items() if not metric.sources}

    async def report(self, devices: int, endpoint: str, epoch: int, progress: Any) -> None:
        """So many devices report for an epoch."""
        values: Mapping[str, Sequence[Any]] = self._on(epoch).draw(devices, self._generator)
        if epoch < self._epoch:  # what is learned has been said on those days
            values = {name: own for name, own in values.items() if name not in ANSWERED}
        send = fleet.forward if devices > fleet.LARGE else fleet.report
        own = taking_part(self._collection, values, self._generator)
        await send(self._collection, own, endpoint, epoch, self._generator, progress)
        self._devices[epoch] += devices

    async def keep_reporting(self, devices: int, endpoint: str) -> None:
        """The days before, and then more and more devices today."""
        for epoch in self.days[-2::-1]:
            await self.report(max(devices // _FEWER, 1), endpoint, epoch, _silent)
        while True:
            await self.report(_TOGETHER, endpoint, self._epoch, _silent)
            await asyncio.sleep(_EVERY_SECONDS)

    def truth(self, metric: Metric, window: range, segment: Mapping[str, str]) -> Mapping[RowId, float] | None:
        """What the rows of a metric's answer would say of everybody who is asked in these epochs.

        Answers do not depend on the segment; how many devices are in one, which a total needs, nobody has counted.
        None where nobody is asked, or where it is left to the draw: of what is fed and has no table of its own.
        """
        own = {epoch: self._devices[epoch] for epoch in window if self._devices[epoch]}
        if not own or self._today.of(metric.name) is None:
            return None
        if combines(metric):
            return self._whole_truth(metric.name, tuple(own.items()))
        devices = sum(own.values())
        days = [self._row_truth(metric.name, epoch) for epoch in own]
        totals = _totals(metric)
        told = {}
        for row in days[0]:
            mean = sum(day[row] * own[epoch] for day, epoch in zip(days, own, strict=True)) / devices
            everybody = math.nan if segment else devices
            told[row] = mean * everybody if row.series in totals else mean
        return told

    @lru_cache(maxsize=256)  # noqa: B019 - there is one fleet, which lives as long as the process
    def _row_truth(self, name: str, epoch: int) -> Mapping[RowId, float]:
        """The rows for one day, totals as of one device."""
        metric = self._collection.metrics[name]
        found = self._on(epoch).of(name)
        assert found
        values, weights = found
        asked = [value for value, weight in zip(values, weights, strict=True) for _ in range(round(weight))]
        totals = _totals(metric)
        return {
            row: value / len(asked) if row.series in totals else value for row, value in truth(metric, asked).items()
        }

    @lru_cache(maxsize=256)  # noqa: B019
    def _whole_truth(self, name: str, days: tuple[tuple[int, int], ...]) -> Mapping[RowId, float]:
        """The rows for some days together, each with its number of devices: a quantile is not the mean of several."""
        most = max(devices for _, devices in days)
        asked: list[Any] = []
        for epoch, devices in days:
            values, weights = self._on(epoch).values[name]
            for value, weight in zip(values, weights, strict=True):
                asked += [value] * round(weight * devices / most)
        return truth(self._collection.metrics[name], asked)

    @lru_cache(maxsize=64)  # noqa: B019
    def _on(self, epoch: int) -> Truth:
        """The truth of an epoch: today's, with the odds of every other value moved."""
        ago = self._epoch - epoch
        moved = {}
        for name, (values, weights) in self._today.values.items():
            tilted = [weight * math.exp(_DRIFT * ago * (-1) ** place) for place, weight in enumerate(weights)]
            if ago > 0:
                tilted = [weight * _turned(name, value) for value, weight in zip(values, tilted, strict=True)]
            scale = _WHOLE / sum(tilted)
            moved[name] = values, [float(round(weight * scale)) for weight in tilted]
        return replace(self._today, values={**moved, **self.lesson.on(epoch)})


def _turned(name: str, value: Any) -> float:
    """By how much the odds of a value of a metric, or of the sources of one, were others."""
    own = value if isinstance(value, dict) else {name: value}
    return math.prod(times for metric, (turned, times) in _TURNED.items() if own.get(metric) == turned)


def _totals(metric: Metric) -> set[str]:
    """The series that grow with the number of devices."""
    return {heading.name for heading in headings(metric) if heading.measure is Measure.TOTAL}


def _silent(done: int) -> None:
    del done
