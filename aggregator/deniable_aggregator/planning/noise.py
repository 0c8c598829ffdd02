"""What a fleet is too small for, and what is lost before anything is randomised: findings beside those of `check.py`.

words:
  white noise   an answer whose interval is expected to be about as long as what is possible: it tells nothing
  crowded       a question of so many values that none of average size can be told from none
  losing        a reducer that keeps the last of several values, where nobody has said that this is meant
"""

from __future__ import annotations

import math
from collections.abc import Collection as Names
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from deniable import Collection, Metric
from deniable.kinds import Distribution, Flags, Quantity, Set
from deniable_aggregator.answers import Measure
from deniable_aggregator.planning.update import DAYS, Cost, lasts
from deniable_aggregator.planning.widths import Width, worst

__all__ = ["faint", "lasting", "losing", "noisy", "rounded", "white"]

_WHITE = 0.75
"""An interval that is expected to be such a part of what is possible is all of it more often than not."""
_CROWDED = 10
"""So many times as large as an average value others have to be, or more, to be told from none."""
_WIDE = 0.1
"""A mean or a median is to be told to such a part of its range."""
_FAINT, _POINT, _SURE = 0.05, 0.05, 1.96
"""Below this epsilon is said how many devices tell a yes or no to five points."""


def losing(collection: Collection, said: Names[str]) -> Iterator[str]:
    """Where only the last of an epoch's lists is kept, and the file does not say so: `said` are the metrics whose
    reducers it names."""
    for metric in collection.metrics.values():
        if isinstance(metric.kind, Flags | Set) and metric.reducer.name == "last" and metric.name not in said:
            yield (
                f"{metric.name}: only the last value of an epoch is kept: what was in one before it is lost; where "
                'it is recorded more than once, say reduce = "any", and else reduce = "last"'
            )


def faint(collection: Collection) -> Iterator[str]:
    """What is white noise but for the largest fleets, whatever is asked."""
    for metric in collection.metrics.values():
        epsilon = float(metric.instantaneous or metric.epsilon)
        if epsilon < _FAINT:
            devices = (_SURE / (2 * math.tanh(epsilon / 2) * _POINT)) ** 2
            yield (
                f"{metric.name}: white noise: at epsilon {epsilon:g} it takes about {rounded(devices)} devices "
                f"to tell even a yes or no to {100 * _POINT:g} points; take a larger epsilon"
            )


def noisy(collection: Collection, expected: Mapping[str, Sequence[Width]], devices: int) -> Iterator[str]:
    """What so many devices do not tell."""
    for name, own in expected.items():
        yield from _noisy(collection.metrics[name], own, devices)


def white(metric: Metric, expected: Sequence[Width], devices: int) -> Iterator[str]:
    """Whether so many devices tell nothing of a metric, by the row that is told least."""
    row = worst(expected)
    if row is not None and 2 * row.half >= _WHITE * row.whole:
        yield (
            f"{metric.name}: white noise: of {devices:,} devices nothing is told, as an interval ({row.where.key}) "
            f"is expected to be {2 * row.half / row.whole:.0%} of what is possible; take a larger epsilon, or ask "
            "more devices"
        )


def _noisy(metric: Metric, expected: Sequence[Width], devices: int) -> Iterator[str]:
    """By the same row."""
    row = worst(expected)
    if row is None:
        return
    found = list(white(metric, expected, devices))
    part = row.half / row.whole
    rows = sum(own.heading.name == row.heading.name for own in expected)
    if found:
        yield from found
    elif row.heading.measure is Measure.SHARE and rows > _CROWDED < 2 * part * rows:
        yield (
            f"{metric.name}: of {rows:,} values one of average size has {100 / rows:.2g}%, and "
            f"{devices:,} devices tell a share to about {200 * part:.2g} points: ask for the most frequent ones, "
            'and for "other", take a larger epsilon or more devices'
        )
    elif isinstance(metric.kind, Quantity | Distribution) and part > _WIDE:
        yield (
            f"{metric.name}: its range is wide for epsilon {metric.epsilon} and {devices:,} devices: "
            f"{row.where.key} is told to {row.half:.3g} of {row.whole:g}; a narrower range (what is beyond it "
            "counts as its end), a larger epsilon or more devices tell more"
        )


def lasting(collection: Collection) -> Iterator[str]:
    """After how many epochs a device has spent the budgets of its lifetime, and falls silent."""
    yield _epsilons(collection)
    fresh = sum((metric.kind.delta for metric in collection.metrics.values() if not metric.memoize), Fraction(0))
    if fresh:
        most = collection.budget.lifetime_delta
        yield (
            f"A lifetime's budget of delta of {float(most):g} is spent after {most // fresh:,} epochs of answers: "
            "then nothing that has a delta is answered any more; see [budget] lifetime_delta."
        )


def _epsilons(collection: Collection) -> str:
    budget, cost = collection.budget.lifetime, Cost.of(collection)
    if budget is None:
        return "There is no lifetime budget: a device answers, and spends, without end."
    epochs = lasts(collection)
    told = f"A lifetime's budget of {float(budget):.4g}"
    kept = f" {cost.once:.4g} of it is for what is remembered, which is answered further on." if cost.once else ""
    if epochs is None:
        return f"{told} lasts for ever: all answers are remembered.{kept}"
    days = float(epochs * collection.epoch_seconds / collection.sample) / 86400
    years = f", {days / DAYS:.1f} years" if days > 2 * DAYS else ""
    coins = ", as often as its coins draw a device" if collection.sample < 1 else ""
    long = f"{days:,.4g} days{years}{coins}"
    return f"{told} is spent after {int(epochs):,} epochs of answers ({long}): devices fall silent.{kept}"


def rounded(number: float) -> str:
    """To two digits."""
    scale = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    return f"{round(number / scale) * scale:,}"
