"""What is taken of what an application records: by each metric that has values of its own, until it expires."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from deniable.collection import Collection
from deniable.device import epochs

__all__ = ["Taker", "takers"]


class Taker(NamedTuple):
    """A metric, as far as recording needs it."""

    take: Callable[[Any], Any]
    """The state of a value; an error for what its kind does not take."""
    merge: Callable[[Any, Any], Any]
    ends: float
    """The first epoch that the metric does not answer for."""


def takers(collection: Collection) -> dict[str, Taker]:
    """The metrics for which values are recorded, by their names: all but those that are fed."""
    return {
        name: Taker(metric.reducer.after(metric.kind.check), metric.reducer.merge, epochs.end_of(metric, collection))
        for name, metric in collection.metrics.items()
        if not metric.sources
    }
