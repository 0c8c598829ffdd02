"""What is unwise about a collection, what its batches tell of who sent them, why its metrics are asked as they are.

words:
  linkage   by how many bits a batch tells which device sent it that has sent others: `deniable.linkage`
  finding   something that loads, and that the collection's owner should think about twice
  reason    what else a metric could be asked by, and how much less certain its answer would be
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from deniable import Collection, Metric, linkage
from deniable.kinds import Category, Quantity

__all__ = ["findings", "linked", "reasons"]

_WEAK = 4.0
_MANY = 16.0


def findings(collection: Collection) -> Iterator[str]:
    """One sentence each."""
    if float(collection.budget.epoch) > _MANY:
        yield f"a budget of {float(collection.budget.epoch):g} an epoch protects next to nothing: aim below {_MANY:g}"
    if collection.budget.lifetime is None:
        yield "no lifetime budget: a device that reports for years spends without end; consider [budget] lifetime"
    allowed = linkage.share(sum(metric.memoize for metric in collection.metrics.values()))
    for metric in collection.metrics.values():
        yield from _metric(metric)
        if metric.memoize:
            yield from _memory(metric, float(allowed))


def _memory(metric: Metric, allowed: float) -> Iterator[str]:
    """Where what is remembered tells more of a batch's sender than it may."""
    bits = linkage.bits(metric)
    if linkage.repeats(metric):
        yield (
            f"{metric.name}: every batch repeats what is remembered, {bits:.1f} bits: it tells a device from "
            f"{linkage.others(bits)} others with the same answer, so that its batches can be put together, and its "
            'fresh answers averaged; leave out instantaneous_epsilon = "linkable"'
        )
    elif bits > allowed:
        yield (
            f"{metric.name}: every batch tells {bits:.2g} bits of what is remembered, more than its share of "
            f"{allowed:.2g}: leave out instantaneous_epsilon, or take less than {metric.instantaneous}"
        )


def linked(collection: Collection) -> str:
    """What a batch tells of its sender, in a sentence."""
    remembered, staying = linkage.batch(collection)
    told = []
    if any(metric.memoize for metric in collection.metrics.values()):
        told.append(f"{remembered:.2f} by what it remembers (no more than {linkage.BATCH} is wise)")
    if staying:
        told.append(f"{staying:.2f} by fresh answers, if they stay the same")
    if collection.segment_count > 1:
        told.append(f"{math.log2(collection.segment_count):.2f} by its segment, in the clear")
    return f"Bits by which a batch tells its device from others, at most: {'; '.join(told)}."


def _metric(metric: Metric) -> Iterator[str]:
    epsilon = float(metric.epsilon)
    if epsilon > _WEAK:
        odds = float(metric.epsilon.exp)
        yield f"{metric.name}: at epsilon {epsilon:g} an answer can be {odds:,.0f} times likelier than another"


def reasons(collection: Collection) -> Iterator[str]:
    """One sentence for each metric that several mechanisms could ask."""
    for metric in collection.metrics.values():
        others = _others(metric)
        if others:
            yield f"{metric.name}: {', '.join(others)}"


def _others(metric: Metric) -> list[str]:
    """The other mechanisms that fit, with their variances in units of the chosen one's."""
    if metric.instantaneous or not isinstance(metric.kind, Category | Quantity):
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
