"""Levels: one tree out of what reports say of each of its levels, with the variance of whatever is asked of it.

words:
  level      all nodes that are equally far below the root; its reports are of devices of their own
  told       what a level's reports say: how often each node was supported, and the mechanism's chances
  own        the variance of a node as its level's reports alone say it, if all nodes are alike
  known      the variance of a node as all levels from its own downwards say it
  fitted     the shares that fit all levels best: children add up to their parent, and the first level to 1
  reading    a sum of fitted shares with weights: a node's share, that of all leaves below a boundary, a mean
  weights    of a reading, how much each node of each level counts for it

**Fitted.** Generalised least squares, in two passes. Upwards, what a node's level says and what its children add up
to are averaged by their precisions; downwards, what is missing between a parent and its children is given to these by
their variances. (Hay, Rastogi, Miklau, Suciu, arXiv 0904.0942, with levels and children that differ.) Which weights
come of that depends on how many have reported, and on nothing that they have reported: a reading is not biased.

**The variance of a reading** is the sum over levels of that of one report's weights, over the reports of the level,
for what the level's reports say of its nodes depends on each other in a way that is known exactly. With a the weights
of a level, f the shares, A the sum of a, and chances of supporting the own node (p), another (q), the own one and
another (r), and two others (s), what a report counts for has the expectation q A + (p - q) sum f a, and the square of
that has

    q sum a^2 + (p - q) sum f a^2 + 2 r (A sum f a - sum f a^2) + s (A^2 - 2 A sum f a + 2 sum f a^2 - sum a^2).

So four sums of a level are enough. (What few reports could not show is added: `GRAIN`.) Off the way from the root to
where a reading ends, its weights are those of a whole subtree times one number: the four sums of every subtree are
added up once, and a reading takes as many steps as there are pairs of levels, however many nodes there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Mechanism, Supporting
from deniable_aggregator.estimators._frequencies import Frequencies
from deniable_aggregator.estimators._readings import SUMS, Chances, Spread
from deniable_aggregator.estimators._regular import Regular

__all__ = ["Fit", "Told", "Tree", "told"]

_Floats = NDArray[np.float64]
_Places = NDArray[np.intp]

_FEWEST = 1e-9
"""Reports of a level that nobody has answered: all that it would say is then as good as unknown."""


@dataclass(frozen=True, eq=False)
class Tree:
    """The nodes of every level, from the one below the root to the leaves: children of one parent are neighbours."""

    parents: tuple[_Places, ...]
    """For every node its parent's place in the level above, in rising order; of the first level 0."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has."""
        return tuple(map(len, self.parents))

    @cached_property
    def first(self) -> tuple[_Places, ...]:
        """For every node of the level above where its children begin, and where the last one's end."""
        above = (1, *self.sizes[:-1])
        bounds = zip(self.parents, above, strict=True)
        return tuple(np.searchsorted(own, np.arange(count + 1)) for own, count in bounds)

    @cached_property
    def regular(self) -> bool:
        """Whether all nodes of a level have as many children."""
        return all(len(set(np.diff(own).tolist())) == 1 for own in self.first)

    def added(self, level: int, values: _Floats) -> _Floats:
        """What a level's nodes add up to, for every node of the level above."""
        return np.add.reduceat(values, self.first[level][:-1], axis=0)

    def alike(self) -> list[_Floats]:
        """The share of every node of each level, where all leaves have the same."""
        shares = [np.full(self.sizes[-1], 1 / self.sizes[-1])]
        for level in range(len(self.parents) - 1, 0, -1):
            shares.append(self.added(level, shares[-1]))
        return shares[::-1]


class Told(NamedTuple):
    """What a level's reports say."""

    reports: int
    """How many there are."""
    values: _Floats
    """The share of every node, not corrected; 0 without reports."""
    p: float
    """The chance that a report supports its own node."""
    q: float
    """The chance that it supports another one."""
    own_and_other: float
    """The chance that it supports its own node and a certain other one."""
    two_others: float
    """The chance that it supports two certain others."""

    @property
    def variance(self) -> float:
        """Of a node, if all are alike and what they add up to is known: by this levels are weighed."""
        nodes, rate = len(self.values), self.p - self.q
        both = (2 * self.own_and_other + (nodes - 2) * self.two_others) / nodes
        return (self.q + rate / nodes - both) / rate**2 / max(self.reports, _FEWEST)


def told(mechanism: Mechanism, found: Frequencies) -> Told:
    """What a level's reports say, from how often they support each node."""
    assert isinstance(mechanism, Supporting)
    values = found.values if found.reports else np.zeros(len(found.supports))
    return Told(found.reports, values, found.p, found.q, *_together(mechanism))


@lru_cache(maxsize=1024)
def _together(mechanism: Supporting) -> tuple[float, float]:
    """A mechanism's chances of two answers: in rationals of hundreds of bits, once for all that is estimated."""
    near, far = mechanism.both
    return float(near), float(far)


class Fit:
    """The shares of a tree that fit all levels best, and what readings of it are worth."""

    def __init__(self, tree: Tree, levels: Sequence[Told]) -> None:
        self.tree = tree
        """The tree."""
        self.levels = tuple(levels)
        """What is told of each of its levels."""
        self.reports = sum(level.reports for level in levels)
        """How many reports there are of all levels."""
        depth = len(levels)
        self._weight: list[_Floats] = [np.empty(0)] * depth
        self._pull: list[_Floats] = [np.empty(0)] * depth
        self._gain: list[_Floats] = [np.empty(0)] * depth
        self._known: list[_Floats] = [np.empty(0)] * depth
        self._whole: list[_Floats] = [np.empty(0)] * depth
        self.shares: list[_Floats] = [np.empty(0)] * depth
        """Of every level, the fitted share of every node."""
        self._pass()

    def _pass(self) -> None:
        """Upwards and downwards."""
        tree, upwards = self.tree, []
        below = children = np.empty(0)
        for level in range(len(self.levels) - 1, -1, -1):
            said = self.levels[level]
            precision = np.full(tree.sizes[level], 1 / said.variance)
            whole = precision + 1 / below if len(below) else precision
            known = 1 / whole
            self._weight[level] = precision * known
            self._pull[level] = known / below if len(below) else np.zeros(len(known))
            value = self._weight[level] * said.values + (self._pull[level] * children if len(below) else 0)
            upwards.append(value)
            below, children = tree.added(level, known), tree.added(level, value)
            self._known[level], self._whole[level] = known, below
            self._gain[level] = known / below[tree.parents[level]]
        above = np.ones(1)
        for level, value in enumerate(reversed(upwards)):
            missing = above - tree.added(level, value)
            above = self.shares[level] = value + self._gain[level] * missing[tree.parents[level]]

    def before(self) -> _Floats:
        """For every leaf, the fitted share of all leaves before it; at last, of all."""
        return self._shares_before[-1]

    def rough(self) -> _Floats:
        """For every leaf, the variance of all leaves before it, as if all nodes of a level were alike: near the exact
        one, and found for all leaves at once."""
        if self._regular:
            return self._regular.rough()
        paths = self._paths(len(self.levels) - 1, np.arange(self.tree.sizes[-1]))
        variances = part = np.zeros(self.tree.sizes[-1])
        for place in range(len(self.levels) - 1, -1, -1):
            at, known, whole = paths[place], self._known[place], self._whole[place]
            earlier = _earlier(known)
            left = earlier[at] - earlier[self._begin(place, paths)]
            above = whole[self._above(place, paths)]
            taken = left + part * known[at]
            variances = variances + left + part**2 * known[at] - taken**2 / above
            part = taken / above
        return variances

    # Readings, by the four sums of each level.

    def nodes(self, level: int, places: _Places) -> Spread:
        """Of the shares of nodes of one level."""
        return self._read(level, places, below=False)

    def below(self, places: _Places) -> Spread:
        """Of the shares of all leaves before each of some."""
        return self._read(len(self.levels) - 1, places, below=True)

    def weights(self, weights: _Floats) -> list[_Floats]:
        """For each level, how much its nodes count for sums over the leaves with weights: a reading a column."""
        parts = [weights]
        for place in range(len(self.levels) - 1, -1, -1):
            parts.append(self.tree.added(place, parts[-1] * self._gain[place][:, np.newaxis]))
        parts.reverse()
        carried, found = np.zeros((1, weights.shape[1])), []
        for place, (above, own) in enumerate(pairwise(parts)):
            moved = (carried - above)[self.tree.parents[place]] + own
            found.append(moved * self._weight[place][:, np.newaxis])
            carried = moved * self._pull[place][:, np.newaxis]
        return found

    def weighted(self, weights: _Floats) -> Spread:
        """Of sums over the leaves with weights: one reading a column. Where weights are from 0 to 1, it is the share
        of devices that are so often in a leaf."""
        sums = np.empty((2, weights.shape[1], len(self.levels), SUMS))
        devices, leaves = weights * self.shares[-1][:, np.newaxis], np.ones((len(weights), 1))
        inner, counts = weights, self.weights(weights)
        for place in range(len(self.levels) - 1, -1, -1):
            own, shares, part = counts[place], self.shares[place], inner / leaves
            sums[0, :, place] = _totals(own, np.ones(own.shape), np.broadcast_to(shares[:, np.newaxis], own.shape))
            sums[1, :, place] = _totals(own, part, devices)
            devices, inner, leaves = (self.tree.added(place, each) for each in (devices, inner, leaves))
        return Spread(self._chances, weights.T @ self.shares[-1], *sums)

    @cached_property
    def _chances(self) -> Chances:
        rows = [
            (each.p, each.q, each.own_and_other, each.two_others, max(each.reports, _FEWEST)) for each in self.levels
        ]
        return Chances(*np.array(rows).T)

    @cached_property
    def _gains_before(self) -> list[_Floats]:
        """For every node of each level what those before it gain, added up."""
        return [_earlier(gain) for gain in self._gain]

    @cached_property
    def _shares_before(self) -> list[_Floats]:
        """The same of shares."""
        return [_earlier(shares) for shares in self.shares]

    @cached_property
    def _subtrees(self) -> list[_Floats]:
        """For every node, and every level from its own on, the sums over its subtree of the weights that come of a
        weight of 1 at its top; added up from the left, with a row of zeros before."""
        found: list[_Floats] = []
        under: _Floats = np.empty((0, 0, SUMS))
        for level in range(len(self.levels) - 1, -1, -1):
            weight, pull, shares = self._weight[level], self._pull[level], self.shares[level]
            own = _sums(weight, shares)[:, np.newaxis]
            every = np.concatenate([own, under * _powers(pull)], axis=1) if len(under) else own
            found.append(np.concatenate([np.zeros((1, *every.shape[1:])), np.cumsum(every, axis=0)]))
            under = self.tree.added(level, every)
        return found[::-1]

    def _read(self, level: int, places: _Places, *, below: bool) -> Spread:
        """Of the node at each place; or of all leaves before it."""
        values = self.before()[places] if below else self.shares[level][places]
        sums = (
            self._regular.sums(level, places, below=below)
            if self._regular
            else self._added(level, places, below=below)
        )
        return Spread(self._chances, values, *sums)

    @cached_property
    def _regular(self) -> Regular | None:
        """The same of a tree that is regular."""
        if not self.tree.regular:
            return None
        every = self._weight, self._pull, self._gain, self._known, self._whole
        weight, pull, gain, known, whole = (np.array([float(own[0]) for own in each]) for each in every)
        return Regular(self.tree.sizes, weight, pull, gain, known, whole, self.before())

    def _added(self, level: int, places: _Places, *, below: bool) -> tuple[_Floats, _Floats]:
        """The sums of each level's weights for a reading at each place, over all nodes and over those inside."""
        paths = self._paths(level, places)
        parts = [np.full(len(places), 0.0 if below else 1.0)]
        for place in range(level, -1, -1):
            part = self._gain[place][paths[place]] * parts[-1]
            if below:
                before = self._gains_before[place]
                part += before[paths[place]] - before[self._begin(place, paths)]
            parts.append(part)
        parts.reverse()
        values = self.before()[places] if below else self.shares[level][places]
        sums, carried = np.zeros((2, len(places), len(self.levels), SUMS)), np.zeros(len(places))
        whole, inside = sums
        left = values.copy()
        for place in range(level + 1):
            at, subtrees, above = paths[place], self._subtrees[place], carried - parts[place]
            first, last = self._begin(place, paths), self.tree.first[place][self._above(place, paths) + 1]
            own = above + parts[place + 1]
            earlier = _powers(above + below) * (subtrees[at] - subtrees[first])
            whole[:, place:] += earlier + _powers(above) * (subtrees[last] - subtrees[at + 1])
            mine = _powers(own) * (subtrees[at + 1] - subtrees[at])
            until = len(self.levels) if place == level else place + 1
            whole[:, place:until] += mine[:, : until - place]
            if below:
                inside[:, place:] += earlier
                sums_before = self._shares_before[place]
                left -= sums_before[at] - sums_before[first]
                inside[:, place] += _sums(own * self._weight[place][at], left, self._before(level, place, paths))
            elif place == level:
                inside[:, place:] = mine
            else:
                inside[:, place] = _sums(own * self._weight[place][at], values)
            carried = own * self._pull[place][at]
        return whole, inside

    def _before(self, level: int, place: int, paths: Sequence[_Places]) -> _Floats:
        """Which part of the leaves of the node at each place of a path are before its end."""
        starts = self._starts[place]
        begin, end = starts[paths[place]], starts[paths[place] + 1]
        part: _Floats = (paths[level] - begin) / (end - begin)
        return part

    @cached_property
    def _starts(self) -> list[_Places]:
        """For each level where the leaves of each node begin, and where the last one's end."""
        found = [np.arange(self.tree.sizes[-1] + 1)]
        for level in range(len(self.levels) - 1, 0, -1):
            found.append(found[-1][self.tree.first[level]])
        return found[::-1]

    def _paths(self, level: int, places: _Places) -> list[_Places]:
        """For each level down to one, the place of the node that is above each of some."""
        paths = [places]
        for place in range(level, 0, -1):
            paths.append(self.tree.parents[place][paths[-1]])
        return paths[::-1]

    def _above(self, place: int, paths: Sequence[_Places]) -> _Places:
        return paths[place - 1] if place else np.zeros(len(paths[0]), dtype=np.intp)

    def _begin(self, place: int, paths: Sequence[_Places]) -> _Places:
        """Where the siblings of a path's node begin."""
        return self.tree.first[place][self._above(place, paths)]


def _powers(weights: _Floats) -> _Floats:
    """By what sums are multiplied where all weights are."""
    found = np.ones((len(weights), 1, SUMS))
    found[:, 0, 0] = found[:, 0, 3] = weights**2
    found[:, 0, 1] = found[:, 0, 2] = weights
    return found


def _totals(weights: _Floats, counts: _Floats, shares: _Floats) -> _Floats:
    """The sums over nodes, as often as they count, with what of them is shares: a reading a column."""
    squares = weights**2
    pairs = ((counts, squares), (counts, weights), (shares, weights), (shares, squares))
    return np.stack([*(np.einsum("ij,ij->j", *pair) for pair in pairs), counts.sum(axis=0)], axis=1)


def _sums(weights: _Floats, shares: _Floats, counts: _Floats | float = 1.0) -> _Floats:
    """The sums of single nodes, or of parts of them."""
    found, squares = np.empty((len(weights), SUMS)), weights**2
    found[:, 0], found[:, 1] = squares * counts, weights * counts
    found[:, 2], found[:, 3], found[:, 4] = shares * weights, shares * squares, counts
    return found


def _earlier(values: _Floats) -> _Floats:
    """What comes before each of some values, added up; at last, all of them."""
    found = np.zeros(len(values) + 1)
    np.cumsum(values, out=found[1:])
    return found
