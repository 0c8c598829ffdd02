"""What is unwise about a collection, what its batches tell of who sent them, why its metrics are asked as they are.

words:
  linkage   by how many bits a batch tells which device sent it that has sent others: `deniable.linkage`
  finding   something that loads, and that the collection's owner should think about twice
  reason    what else a metric could be asked by, and how much less certain its answer would be
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from deniable import Budget, Collection, Metric, linkage
from deniable.kinds import Category, Distribution, Joint, Quantity, Tree, Vector
from deniable.mechanisms import Mechanism
from deniable_aggregator.answers.distribution import tree_of
from deniable_aggregator.answers.tree import hierarchy_of
from deniable_aggregator.estimators import expected, frequencies
from deniable_aggregator.planning.leverage import gain
from deniable_aggregator.planning.noise import rounded
from deniable_aggregator.planning.otherwise import named

__all__ = ["composed", "findings", "linked", "reasons"]

_WEAK = 4.0
_MANY = 16.0
_DELTA = Fraction(1, 10**5)
_FARTHEST = 100.0
_FLEET, _POINT = 10**9, 0.01
_DEAR, _READ = 5.0, 64


def findings(collection: Collection) -> Iterator[str]:
    """One sentence each."""
    if float(collection.budget.epoch) > _MANY:
        yield f"a budget of {float(collection.budget.epoch):g} an epoch protects next to nothing: aim below {_MANY:g}"
    if collection.budget.lifetime is None:
        yield "no lifetime budget: a device that reports for years spends without end; consider [budget] lifetime"
    yield from _deltas(collection)
    allowed = linkage.share(sum(metric.memoize for metric in collection.metrics.values()))
    for metric in collection.metrics.values():
        yield from _metric(metric)
        yield from _never(metric, collection.budget)
        yield from _ending(metric)
        if metric.memoize:
            yield from _memory(metric, float(allowed))


def _deltas(collection: Collection) -> Iterator[str]:
    """Whether more is exposed than is wise."""
    every = sum((metric.kind.delta for metric in collection.metrics.values()), Fraction(0))
    if every > _DELTA:
        yield (
            f"deltas add up to {float(every):g} an epoch: with twice that chance a device tells more than epsilon "
            f"allows; aim below {float(_DELTA):g}, or say in [budget] epoch_delta that it is meant"
        )


def _never(metric: Metric, budget: Budget) -> Iterator[str]:
    """Whether a remembered answer reserves more than there is."""
    if not metric.memoize:
        return
    epsilon, delta = metric.recalled * metric.epsilon.value, metric.recalled * metric.kind.delta
    for name, cost, most in (("epsilon", epsilon, budget.lifetime), ("delta", delta, budget.lifetime_delta)):
        if most is not None and cost > most:
            yield (
                f"{metric.name}: is never answered: the {metric.recalled} answers that a device may remember cost "
                f"{name} {float(cost):g}, and a lifetime's budget is {float(most):g}; see remembered_answers"
            )


def _ending(metric: Metric) -> Iterator[str]:
    """Whether it ends before it says so, with a source."""
    for source in metric.sources:
        if source.expires and (metric.expires is None or source.expires < metric.expires):
            yield (
                f"{metric.name}: is not answered from {source.expires} on, when {source.name} expires, which it is "
                "fed from: let it expire then, too"
            )


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


def composed(collection: Collection) -> Iterator[str]:
    """What is spent on values that several metrics are answered from, a sentence for each metric that they feed."""
    for metric in collection.metrics.values():
        if metric.sources:
            names = ", ".join(source.name for source in metric.sources)
            spent = sum(float(each.epsilon) for each in (metric, *collection.about(metric)))
            yield (
                f"{metric.name} is answered from what is recorded for {names}: who sees all answers about these "
                f"values knows what epsilon {spent:.4g} allows."
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
    fake = gain(metric).row
    if fake > _FARTHEST:
        yield (
            f"{metric.name}: one fake device moves a row as far as {fake:,.0f} liars would without noise: "
            "take a larger epsilon, fewer answers or another mechanism"
        )
    if isinstance(metric.kind, Tree) and (cost := _depth(metric, metric.kind)) > _DEAR:
        yield (
            f"{metric.name}: of {len(metric.columns)} levels a device answers one: a share takes up to {cost:.2g} "
            "times as many devices as if its level alone were asked; leave out levels that nobody looks at"
        )
    if isinstance(metric.kind, Quantity) and not metric.kind.limited:
        yield (
            f"{metric.name}: without a max its mean has no upper end of an interval, and one device can move it by"
            " any amount; add the most that you expect, such as max = 100 (larger counts are taken for 100)"
        )


def _depth(metric: Metric, kind: Tree) -> float:
    """How many times more devices a node takes at the most, on average over its level, than if that level alone were
    asked: of trees whose leaves have as many devices each."""
    mechanisms = [column.mechanism for column in metric.columns]
    fitted = expected(mechanisms, hierarchy_of(kind), kind.allotment(mechanisms), _FLEET)
    found = []
    for level, size in enumerate(kind.sizes):
        places = np.unique(np.linspace(0, size - 1, _READ).astype(np.intp))
        alone = (1 - 1 / size) * fitted.levels[level].variance * fitted.levels[level].reports / _FLEET
        found.append(float(fitted.nodes(level, places).variances.mean()) / alone)
    return max(found)


def reasons(collection: Collection) -> Iterator[str]:
    """One sentence for each metric that several mechanisms could ask, or that could have other buckets; of long lists
    also how far one fake moves ten of the answers together, beside the chosen mechanism's."""
    for metric in collection.metrics.values():
        if isinstance(metric.kind, Distribution):
            yield _buckets(metric, metric.kind)
        if isinstance(metric.kind, Joint):
            yield _cells(metric, metric.kind)
        others = _others(metric)
        if others:
            yield f"{metric.name}: {', '.join(others)}{_pushed(metric)}"


def _buckets(metric: Metric, kind: Distribution) -> str:
    """How many devices the buckets of a distribution take, and what half as many, or twice as many, would."""

    mechanism = named(metric)

    def devices(buckets: int) -> float:
        asked = replace(kind, buckets=buckets)
        columns = asked.columns(metric.epsilon, mechanism)
        fleet = expected(columns, tree_of(asked), asked.allotment(columns), _FLEET)
        return _FLEET * float(fleet.rough()[1:].mean()) * (1.96 / _POINT) ** 2

    own, few, many = (devices(each) for each in (kind.buckets, max(kind.buckets // 2, 2), 2 * kind.buckets))
    return (
        f"{metric.name}: {kind.buckets} buckets, in {len(kind.sizes)} levels: about {rounded(own)} reports tell the "
        f"curve to one point in a hundred; with half as many buckets {few / own:.2f} times as many reports do, with "
        f"twice as many buckets {many / own:.2f} times"
    )


def _cells(metric: Metric, kind: Joint) -> str:
    """How many devices the largest table of a joint takes, and how many its pairs would."""

    def devices(asked: Joint, mechanisms: Sequence[Mechanism]) -> float:
        found = []
        for each, cells in zip(mechanisms, asked.sizes, strict=True):
            rare = frequencies(each, np.zeros(each.shape.counters, np.int64))
            variance = rare.q * (1 - rare.q) / (rare.p - rare.q) ** 2
            found.append(len(asked.sizes) * variance * (1.96 * cells) ** 2)
        return max(found)

    own = devices(kind, metric.mechanisms)
    cells = f"{max(kind.sizes):,} cells{' a pair' if kind.pairs else ''}"
    told = f"{metric.name}: {cells}: about {rounded(own)} reports tell one of average size from none"
    if kind.pairs or len(kind.of) < 3 or metric.memoize:  # pairs are not remembered but with "linkable"
        return told
    pairs = replace(kind, pairs=kind.of[0])
    fewer = devices(pairs, pairs.columns(metric.epsilon, "auto"))
    return f"{told}; with pairs = {kind.of[0]!r} about {rounded(fewer)} do"


def _pushed(metric: Metric) -> str:
    """How far one fake moves ten of a long list's answers together, by the chosen mechanism and by the others."""
    if not isinstance(metric.kind, Category) or not metric.kind.long:
        return ""
    every = metric.kind.choices(metric.epsilon)
    told = ", ".join(f"{float(each.mechanism.gain_of_ten or 0):.3g} by {each.name}" for each in every)
    robust = " (robust: the least where variance allows it)" * metric.kind.robust
    return f"; one fake moves ten answers together as far as so many liars: {told}{robust}"


def _others(metric: Metric) -> list[str]:
    """The other mechanisms that fit, with their variances in units of the chosen one's."""
    if metric.instantaneous or not isinstance(metric.kind, Category | Quantity | Vector):
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
