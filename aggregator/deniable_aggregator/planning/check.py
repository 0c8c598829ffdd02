"""What is unwise about a collection, and why its metrics are asked as they are.

words:
  finding   something that loads, and that the collection's owner should think about twice
  reason    what else a metric could be asked by, and how much less certain its answer would be
"""

from __future__ import annotations

from collections.abc import Iterator

from deniable import Collection, Metric
from deniable.kinds import Category, Quantity
from deniable_aggregator.planning.leverage import gain

__all__ = ["findings", "reasons"]

_WEAK = 4.0
_MANY = 16.0
_FARTHEST = 100.0


def findings(collection: Collection) -> Iterator[str]:
    """One sentence each."""
    if float(collection.budget.epoch) > _MANY:
        yield f"a budget of {float(collection.budget.epoch):g} an epoch protects next to nothing: aim below {_MANY:g}"
    if collection.budget.lifetime is None:
        yield "no lifetime budget: a device that reports for years spends without end; consider [budget] lifetime"
    for metric in collection.metrics.values():
        yield from _metric(metric)


def _metric(metric: Metric) -> Iterator[str]:
    epsilon = float(metric.epsilon)
    if epsilon > _WEAK:
        odds = float(metric.epsilon.exp)
        yield f"{metric.name}: at epsilon {epsilon:g} an answer can be {odds:,.0f} times likelier than another"
    fake = gain(metric).row
    if fake > _FARTHEST:
        yield (
            f"{metric.name}: one fake device moves a row as far as {fake:,.0f} liars would without noise: "
            "take a larger epsilon, fewer answers or another mechanism"
        )
    if isinstance(metric.kind, Quantity) and not metric.kind.limited:
        most = metric.kind.ends[1]
        yield f"{metric.name}: without a max one fake device moves the mean of n by {most:,.0f} / n: add max"


def reasons(collection: Collection) -> Iterator[str]:
    """One sentence for each metric that several mechanisms could ask."""
    for metric in collection.metrics.values():
        others = _others(metric)
        if others:
            yield f"{metric.name}: {', '.join(others)}"


def _others(metric: Metric) -> list[str]:
    """The other mechanisms that fit, with their variances in units of the chosen one's."""
    if not isinstance(metric.kind, Category | Quantity):
        return []
    every = metric.kind.choices(metric.epsilon)
    own = [each for each in every if each.mechanism == metric.columns[0].mechanism]
    others = [each for each in every if each not in own]
    if not own:
        return []
    return [
        f"{each.name} {float(each.variance / own[0].variance):.3g} times"
        + (", in wide rows" if each.mechanism.shape.wide else "")
        for each in others
    ]
