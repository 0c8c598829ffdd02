"""What one fake device can do to an answer: the farthest that any report can move it.

words:
  fake       a device that sends what it likes; ingest refuses what no device can send
  gain       how many times farther a fake moves a row than somebody who lies in a survey without noise: among n
             reports such a liar moves a share by 1 / n at most, a mean by its range / n
  together   the same for all rows that a report moves up, added; of a vector, the length of the move

An estimate is the mean of what reports contribute, whatever the mechanism. A report that supports an answer
contributes (1 - q) / (p - q) to its share, one that does not -q / (p - q): from an answer that nobody has, or that
everybody has, a fake moves it by max(p, 1 - q) / (p - q). For k-ary randomized response that is
1 + (k - 1) / (e^eps - 1). Of a quantity it is how far the farthest level lies from the farther end of the range.
Where a device draws one of several columns, a fake chooses it, and counts as often as there are columns. Of a
distribution a row is a point of its curve, of a tree a node, and a fake counts as often as its level is seldom drawn,
but for the part that the estimate gives to that level. Of a text it counts once: whatever group it draws, all reports
are of every word. Of a joint a row is a cell or a marginal, which a report moves by as many of its cells as it
supports; conditionals are ratios of these, and move farther where few devices are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Category, Distribution, Joint, Kind, Ordinal, Quantity, Text, Vector
from deniable.kinds import Tree as Paths
from deniable.mechanisms import Mechanism
from deniable_aggregator.answers import Measure, answer
from deniable_aggregator.answers.distribution import tree_of
from deniable_aggregator.answers.tree import hierarchy_of
from deniable_aggregator.estimators import Tree, expected, farthest, frequencies, named, of_levels, table

__all__ = ["Gain", "gain", "gain_of_ten"]

_FLEET = 10**9
"""Reports of a fleet so large that each level has its part of them."""
_READINGS = 128


class Gain(NamedTuple):
    """What one fake device can do to a metric's answer."""

    row: float
    """To one row."""
    together: float
    """To all of them."""


def gain(metric: Metric) -> Gain:
    """The gain of one fake device, among all that have an answer: where these take part by coins, a fake tosses none,
    and counts as all those that an honest one stands for."""
    found = _of_reports(metric)
    return Gain(found.row / float(metric.sample), found.together / float(metric.sample))


def gain_of_ten(metric: Metric) -> float | None:
    """How far it moves ten answers of a list together, in liars; None of what is no list, or of no more than ten."""
    if not isinstance(metric.kind, Category) or not metric.kind.long:
        return None
    found = metric.columns[0].mechanism.gain_of_ten
    return None if found is None else float(found / metric.sample)


def _of_reports(metric: Metric) -> Gain:
    """The same among as many reports."""
    if isinstance(metric.kind, Ordinal):
        return _of_ranks(metric)
    if isinstance(metric.kind, Distribution):
        return _of_curve(metric.kind, [column.mechanism for column in metric.columns])
    if isinstance(metric.kind, Paths):
        return _of_nodes(metric.kind, [column.mechanism for column in metric.columns])
    if isinstance(metric.kind, Text):
        return _of(metric.kind, metric.columns[0].mechanism)
    if isinstance(metric.kind, Joint):
        return _of_tables(metric.kind, [column.mechanism for column in metric.columns])
    columns, every = len(metric.columns), [_of(metric.kind, mechanism) for mechanism in metric.mechanisms]
    return Gain(columns * max(each.row for each in every), columns * max(each.together for each in every))


def _of(kind: Kind, mechanism: Mechanism) -> Gain:
    """Of a column, if all devices answered it."""
    if isinstance(kind, Vector):
        return _of_vector(kind, mechanism)
    if isinstance(kind, Quantity) and (place := mechanism.place_of(mechanism.shape.size - 1)) is not None:
        return Gain(place, place)
    found = frequencies(mechanism, np.zeros(mechanism.shape.counters, dtype=np.int64))
    apart = found.p - found.q
    together = mechanism.supported * (1 - found.q) / apart
    row = max(found.p, 1 - found.q) / apart
    return Gain(row, max(row, together))


def _of_curve(kind: Distribution, mechanisms: Sequence[Mechanism]) -> Gain:
    """Of the most sensitive of up to so many boundaries."""
    boundaries = np.unique(np.linspace(1, kind.buckets - 1, _READINGS).astype(int))
    prefixes = (np.arange(kind.buckets)[:, np.newaxis] < boundaries).astype(np.float64)
    return _of_levels(mechanisms, kind.allotment(mechanisms), tree_of(kind), prefixes)


def _of_nodes(kind: Paths, mechanisms: Sequence[Mechanism]) -> Gain:
    """Of the most sensitive of up to so many nodes of each level."""
    places = np.array(list(kind.index.values()))
    chosen = [np.unique(np.linspace(0, size - 1, _READINGS).astype(int)) for size in kind.sizes]
    below = [own[:, np.newaxis] == nodes for own, nodes in zip(places.T, chosen, strict=True)]
    return _of_levels(mechanisms, kind.allotment(mechanisms), hierarchy_of(kind), np.hstack(below).astype(np.float64))


def _of_levels(
    mechanisms: Sequence[Mechanism], shares: Sequence[float], tree: Tree, readings: NDArray[np.float64]
) -> Gain:
    """Of the most sensitive sum over leaves, by the level and the payload that move it farthest."""
    fit, most = expected(mechanisms, tree, shares, _FLEET), 0.0
    for share, part in zip(shares, of_levels(fit, mechanisms, readings), strict=True):
        up = part.contributions.most - part.span.least
        down = part.span.most - part.contributions.least
        most = max(most, float(np.maximum(up, down).max()) / share)
    return Gain(most, most)


def _of_tables(kind: Joint, mechanisms: Sequence[Mechanism]) -> Gain:
    """Of the most sensitive cell or marginal; all cells together, of which marginals are sums. A marginal that
    several tables tell of is their average, in which each has its part."""
    farthest, together = 0.0, 0.0
    sure = [_sure(kind, about, mechanism) for about, mechanism in zip(kind.tables, mechanisms, strict=True)]
    for own, size, mechanism in zip(sure, kind.sizes, mechanisms, strict=True):
        alone, found = _of(kind, mechanism), frequencies(mechanism, np.zeros(mechanism.shape.counters, np.int64))
        farthest, together = max(farthest, alone.row), max(together, alone.together)
        for name in own:
            cells = size // len(kind.values(name))
            least, most = named(mechanism, cells, size)
            expecting, apart = cells * found.q, found.p - found.q
            part = own[name] / sum(each.get(name, 0.0) for each in sure)
            farthest = max(farthest, part * max((most - expecting) / apart, 1 - (least - expecting) / apart))
    return Gain(len(mechanisms) * farthest, len(mechanisms) * max(farthest, together))


def _sure(kind: Joint, about: Sequence[str], mechanism: Mechanism) -> dict[str, float]:
    """How sure a table's reports are of the marginals of each of its sources: one over the variance of one."""
    counters = np.full(mechanism.shape.counters, _FLEET)
    found = table(mechanism, counters, [len(kind.values(name)) for name in about])
    return {name: float(1 / found.marginal(axis).whole[0]) for axis, name in enumerate(about)}


def _of_vector(kind: Vector, mechanism: Mechanism) -> Gain:
    """Entries lie between two clips, and so do vectors: a liar moves both by two."""
    entry, longest = farthest(mechanism)
    return Gain((entry / kind.grid + 1) / 2, (longest / kind.grid + 1) / 2)


def _of_ranks(metric: Metric) -> Gain:
    """From what the answer itself says of each symbol, if it were the only report; ranks begin with 1."""
    size = metric.columns[0].shape.counters
    most = together = 0.0
    for symbol in range(size):
        alone = np.zeros(size, dtype=np.int64)
        alone[symbol] = 1
        found = answer(metric, [alone])
        told = list(zip(found.headings, found.rows, strict=True))
        shares = [row.value for heading, row in told if heading.measure is Measure.SHARE]
        ranks = [(row.value - 1) / (size - 1) for heading, row in told if heading.measure is not Measure.SHARE]
        most = max(most, _beyond([*shares, *ranks]))
        together = max(together, sum(share for share in shares if share > 0))
    return Gain(most, max(most, together))


def _beyond(contributions: Sequence[float]) -> float:
    return max(max(each, 1 - each) for each in contributions)
