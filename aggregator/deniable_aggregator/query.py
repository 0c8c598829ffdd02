"""Queries: which counters an answer is made of, read from the store and handed to the answers.

words:
  window    a span of epochs whose counters are added
  question  a collection's metric, over a window and in some segments
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deniable import Collection, Metric
from deniable_aggregator.answers import Estimate, Target, answer
from deniable_aggregator.catalog import Catalog, NotKnownError
from deniable_aggregator.store import CounterKey, Store

__all__ = ["Answer", "Query", "Reader"]

_MOST_EPOCHS = 10_000


@dataclass(frozen=True, slots=True)
class Query:
    """Which window, segment and intervals are asked for."""

    last_epoch: int | None = None
    """The last epoch of the window; None: the current one."""
    epochs: int = 1
    """How many epochs it has."""
    segment: Mapping[str, str] = field(default_factory=dict)
    """Values of segments, by name; segments that are not named are added up."""
    confidence: float = 0.95
    """Of the intervals."""
    target: Target = Target.POPULATION
    """Whom the intervals are about."""

    def __post_init__(self) -> None:
        if not 1 <= self.epochs <= _MOST_EPOCHS:
            raise ValueError(f"a window has 1 to {_MOST_EPOCHS} epochs, not {self.epochs}")
        if not 0 < self.confidence < 1:
            raise ValueError(f"a confidence level lies between 0 and 1, not {self.confidence}")


@dataclass(frozen=True, slots=True)
class Answer:
    """An estimate, and what it is about."""

    collection: str
    """Name of the collection."""
    first_epoch: int
    """First epoch of the window."""
    last_epoch: int
    """Last epoch of the window."""
    segment: Mapping[str, str]
    """The segments that were asked for."""
    estimate: Estimate
    """The answer."""


class Reader:
    """Answers questions from the counters in a store."""

    def __init__(self, catalog: Catalog, store: Store, clock: Callable[[], float] = time.time) -> None:
        self.catalog = catalog
        self._store = store
        self._clock = clock

    async def answers(self, collection: str, query: Query, metric: str | None = None) -> list[Answer]:
        """The answers of one metric, or of all metrics, of a collection."""
        found = self.catalog.collection(collection)
        metrics = list(found.metrics.values()) if metric is None else [self.catalog.metric(found, metric)]
        last = found.epoch_at(self._clock()) if query.last_epoch is None else query.last_epoch
        first = max(0, last - query.epochs + 1)
        segments = _segments(found, query.segment)
        counters = await self._counters(found, metrics, range(first, last + 1), segments)
        return [
            Answer(found.name, first, last, query.segment, answer(each, own, query.confidence, query.target))
            for each, own in zip(metrics, counters, strict=True)
        ]

    async def _counters(
        self, collection: Collection, metrics: Sequence[Metric], epochs: Sequence[int], segments: Sequence[int]
    ) -> list[list[NDArray[np.int64]]]:
        """For each metric the counters of its columns, added over epochs and segments."""
        columns = [column for metric in metrics for column in metric.columns]
        keys = [
            CounterKey(collection.digest, column.number, epoch, segment)
            for column, epoch, segment in itertools.product(columns, epochs, segments)
        ]
        stored = iter(await self._store.read(keys))
        added = []
        for column in columns:
            total = np.zeros(column.shape.counters, dtype=np.int64)
            for counters in itertools.islice(stored, len(epochs) * len(segments)):
                if counters is not None:
                    total[: len(counters)] += counters
            added.append(total)
        own = iter(added)
        return [[next(own) for _ in metric.columns] for metric in metrics]


def _segments(collection: Collection, wanted: Mapping[str, str]) -> list[int]:
    """The indices of all combinations that have the wanted values."""
    for name, value in wanted.items():
        if value not in collection.segments.get(name, ()):
            known = ", ".join(f"{key}={'|'.join(values)}" for key, values in collection.segments.items())
            raise NotKnownError(f"no segment {name}={value}; known: {known or 'none'}")
    choices = [(wanted[name],) if name in wanted else values for name, values in collection.segments.items()]
    return [
        collection.segment_index(dict(zip(collection.segments, combination, strict=True)))
        for combination in itertools.product(*choices)
    ]
