"""A metric asked otherwise: at another epsilon, or by another mechanism, with all else as its file says.

words:
  named   the mechanism that the file names, or "auto" where it leaves the choice
"""

from __future__ import annotations

from dataclasses import replace

from deniable import Collection, Column, Metric, linkage
from deniable.epsilon import Epsilon
from deniable.mechanisms import Mechanism

__all__ = ["AUTO", "named", "otherwise"]

AUTO = "auto"
"""What leaves the choice to the kind."""


def otherwise(
    collection: Collection, metric: Metric, epsilon: Epsilon | None = None, mechanism: str | None = None
) -> Metric:
    """The metric at another epsilon, by another mechanism; a ValueError where it can not be asked so."""
    cost, name = epsilon or metric.epsilon, mechanism or named(metric)
    if metric.kind.cost is not None and cost != metric.epsilon:
        raise ValueError(f"{metric.name}: what it costs is said by {metric.kind.instead}")
    made, fresh = metric.kind.columns, metric.instantaneous
    if not metric.memoize:
        mechanisms = made(cost, name)
    elif fresh is None:
        mechanisms = metric.kind.remembered(cost, name)
    else:
        fresh = _second(collection, metric, fresh, cost, name)
        mechanisms = metric.kind.memoized(cost, fresh, name)
    first = metric.columns[0].number
    columns = tuple(Column(first + place, metric.name, each) for place, each in enumerate(mechanisms))
    return replace(metric, epsilon=cost, columns=columns, instantaneous=fresh)


def named(metric: Metric) -> str:
    """The mechanism that the file names, or "auto": what all columns have where `auto` would choose others."""
    own = tuple(column.mechanism for column in metric.columns)
    for name in (AUTO, *metric.kind.mechanisms):
        try:
            if _asked(metric, name) == own:
                return name
        except ValueError:  # one that does not fit was not named
            continue
    return AUTO


def _asked(metric: Metric, name: str) -> tuple[Mechanism, ...]:
    kind, fresh = metric.kind, metric.instantaneous
    if not metric.memoize:
        return tuple(kind.columns(metric.epsilon, name))
    return kind.remembered(metric.epsilon, name) if fresh is None else kind.memoized(metric.epsilon, fresh, name)


def _second(collection: Collection, metric: Metric, fresh: Epsilon, cost: Epsilon, name: str) -> Epsilon:
    """The second epsilon: as the file says it, or where that is the greatest that the bits of a batch allow, that."""
    allowed = linkage.share(sum(own.memoize for own in collection.metrics.values()))

    def most(epsilon: Epsilon, by: str) -> Epsilon:
        return linkage.most(lambda second: metric.kind.memoized(epsilon, second, by), allowed)

    return most(cost, name) if most(metric.epsilon, named(metric)) == fresh else fresh
