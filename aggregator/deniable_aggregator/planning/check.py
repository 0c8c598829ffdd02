"""What is unwise about a collection: things that load, and that its owner should think about twice."""

from __future__ import annotations

from collections.abc import Iterator

from deniable import Collection, Metric

__all__ = ["findings"]

_WEAK = 4.0
_MANY = 16.0


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
