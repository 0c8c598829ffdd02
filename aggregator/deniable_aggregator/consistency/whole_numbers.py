"""Whole numbers over a hierarchy: children add up to their parents, none is negative, and the squared error is least.

The program is that of Fioretto and others: from the leaves up, what it costs a node to be v is its own squared error
and what its children cost at the best division of v; from the top down, everybody gets what that division gives.
Costs are convex, so a division of v + 1 is one of v with one unit more for whom it costs least: a node's units in
the order of their costs are those of its children, merged. Only such units are ever sorted, never a table of values.

With counts in the millions even that is too much, and needless: the best whole numbers are near to the best real
ones. So each node's units are kept within a window around whole numbers that fit, which the real ones are rounded to.
Where the best that is found touches no window's end, it is the best of all: sums over a hierarchy are totally
unimodular, so what can be improved upon can be by steps of one unit at a node, and those were within the windows.
Where it touches one, windows are laid around it anew, and wider.

Of solutions that cost the same it is the one with the least sum at the roots, and of those the one with most at the
first leaves: where a unit costs the same at two of them, it goes to the one that stands before the other.

words:
  unit     one more at a node, and what that costs (less than nothing where it makes the node fit better)
  window   the numbers that a node is tried at
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.consistency.hierarchy import Hierarchy, Ints, Problem, Reals
from deniable_aggregator.consistency.real_numbers import checked, nonnegative, running

__all__ = ["integers"]

_WIDTH = 3
"""How far a window reaches to each side at first."""


def integers(tree: Hierarchy, values: Reals, weights: Reals, known: Ints | None = None) -> Ints:
    """The whole numbers nearest to the values (weighted, squared) in which children add up to their parents, none is
    negative, and known nodes are what they are.

    Exact as far as sums of costs along one way from a leaf to a root are in floating point: for whole values and
    weights, always.
    """
    values, weights = checked(tree, values, weights)
    problem = Problem.of(tree, known)
    more = values - problem.floors
    found = _rounded(problem, nonnegative(tree, values, weights, known))
    width = _WIDTH
    while True:
        better = _Windows(problem, found, width).best(more, weights)
        touched = problem.loose & ((better >= found + width) | ((better <= found - width) & (better > 0)))
        found = better
        if not touched.any():
            break
        width *= 2
    return problem.whole(found)


def _rounded(problem: Problem, real: Reals) -> Ints:
    """How much more than its floor each loose node is, in whole numbers that fit and are less than one away from the
    real ones: what is rounded is the sums from left to right."""
    tree = problem.tree
    leaves = np.flatnonzero(tree.leaf & problem.loose)
    place = problem.owners()[leaves]
    order = np.lexsort((tree.order()[leaves], place))
    leaves, place = leaves[order], place[order]
    first = np.flatnonzero(np.diff(place, prepend=-1))
    sums = running(real[leaves] - problem.floors[leaves], first)
    near = np.floor(sums + 0.5).astype(np.int64)
    rest = problem.rest[place]
    near = np.where(rest >= 0, np.minimum(near, rest), near)
    last = np.append(first[1:], len(leaves))[: len(first)] - 1
    near[last] = np.where(rest[last] >= 0, rest[last], near[last])
    steps = np.diff(near, prepend=0)
    steps[first] = near[first]
    found = np.zeros(len(tree), dtype=np.int64)
    found[leaves] = steps
    return _summed(problem, found)


def _summed(problem: Problem, leaves: Ints) -> Ints:
    """How much more than its floor each loose node is, from its leaves."""
    found = np.where(problem.tree.leaf & problem.loose, leaves, 0)
    for level in reversed(problem.levels()):
        inner = level[problem.tree.parents[level] >= 0]
        np.add.at(found, problem.tree.parents[inner], found[inner])
    return np.where(problem.loose, found, 0)


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """Of several nodes, the units within their windows."""

    nodes: Ints
    """Whose they are: those of one node side by side, in the order in which it takes them."""
    costs: Reals
    """What each costs."""
    children: Ints
    """Which of the node's children takes each."""
    numbers: Ints
    """Which number the node becomes by each."""

    def of(self, which: NDArray[np.bool_]) -> _Units:
        """Some of them."""
        return _Units(self.nodes[which], self.costs[which], self.children[which], self.numbers[which])

    def joined(self, others: _Units) -> _Units:
        """These and others."""
        return _Units(
            np.concatenate((self.nodes, others.nodes)),
            np.concatenate((self.costs, others.costs)),
            np.concatenate((self.children, others.children)),
            np.concatenate((self.numbers, others.numbers)),
        )

    def merged(self, parents: Ints, least: Ints) -> _Units:
        """Units of children as those of their parents, which are at least so and so much; both by a node's number."""
        above = parents[self.nodes]
        order = np.lexsort((self.nodes, self.costs, above))
        above = above[order]
        first = np.flatnonzero(np.diff(above, prepend=-1))
        place = np.arange(1, len(above) + 1) - np.repeat(first, np.diff(first, append=len(above)))
        return _Units(above, self.costs[order], self.nodes[order], least[above] + place)

    def with_own(self, values: Reals, weights: Reals) -> _Units:
        """The same with what the nodes' own values cost."""
        own = weights[self.nodes] * (2 * (self.numbers - values[self.nodes]) - 1)
        return _Units(self.nodes, self.costs + own, self.children, self.numbers)


@dataclass(frozen=True, slots=True, eq=False)
class _Windows:
    """The best whole numbers around others that fit."""

    problem: Problem
    middle: Ints
    """How much more than its floor each loose node is, in the middle of its window."""
    width: int
    """How far windows reach to each side."""

    def best(self, values: Reals, weights: Reals) -> Ints:
        """The nearest to the values within the windows."""
        problem, tree = self.problem, self.problem.tree
        start = np.where(problem.loose, np.maximum(self.middle - self.width, 0), 0)
        sums, levels = np.zeros(len(tree), dtype=np.int64), []
        passed = self._leaves(np.zeros(0, dtype=np.int64), start)
        for level in reversed(tree.levels):
            below = passed.merged(tree.parents, sums)
            levels.append(below)
            own = level[problem.loose[level]]
            start[own] = np.maximum(start[own], sums[own])
            passed = below.of(self._within(below, start)).joined(self._leaves(own[tree.leaf[own]], start))
            passed = passed.with_own(values, weights)
            inner = own[tree.parents[own] >= 0]
            np.add.at(sums, tree.parents[inner], start[inner])
        # What is left are the units of the roots: they are taken while they cost less than nothing.
        found = np.where(problem.loose, start, 0)
        np.add.at(found, passed.nodes[passed.costs < 0], 1)
        known = problem.tops[problem.rest >= 0]
        amounts = found.copy()
        amounts[known] = problem.rest[problem.rest >= 0]
        for below in reversed(levels):
            taken = below.numbers <= amounts[below.nodes]
            np.add.at(amounts, below.children[taken], 1)
        return np.where(problem.loose, amounts, 0)

    def _leaves(self, leaves: Ints, start: Ints) -> _Units:
        """The units of leaves, before their cost is known."""
        counts = self.middle[leaves] + self.width - start[leaves]
        nodes = np.repeat(leaves, counts)
        place = np.arange(len(nodes)) - np.repeat(np.cumsum(counts) - counts, counts)
        return _Units(nodes, np.zeros(len(nodes)), nodes, start[nodes] + place + 1)

    def _within(self, units: _Units, start: Ints) -> NDArray[np.bool_]:
        """Which units of loose nodes are within their windows."""
        nodes = units.nodes
        above = (units.numbers > start[nodes]) & (units.numbers <= self.middle[nodes] + self.width)
        return above & self.problem.loose[nodes]
