"""Least squares over a hierarchy, for real numbers: children add up to their parents, and nothing is negative.

`least_squares` lets numbers be negative, and takes two passes: up the hierarchy each node is weighed against the sum
of its children, and down again what is over is divided among them by their variances. With weights that are
inverse variances it is the best unbiased estimate, and what Hay, Rastogi, Miklau and Suciu (Boosting the accuracy of
differentially private histograms through consistency, 2010) do for equal ones. It may say less than nothing of some.

`nonnegative` is the nearest without such. What a node takes at a price (its marginal cost) is a line that begins
where its leaves begin to take anything, and bends there: at a leaf of value y and weight w, x = y + price / 2w, from
0 on. Lines of siblings are added, and a node's own cost shifts the price by 2w(x - y): the bends stay, one a leaf. At
the top the price is known, and so, on the way down, is which leaves stay at zero; the two passes do the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.consistency.hierarchy import Hierarchy, Ints, Problem, Reals

__all__ = ["checked", "least_squares", "nonnegative", "running"]


def least_squares(tree: Hierarchy, values: Reals, weights: Reals, known: Ints | None = None) -> Reals:
    """The numbers nearest to the values (weighted, squared) in which children add up to their parents, and known
    nodes are what they are."""
    values, weights = checked(tree, values, weights)
    problem = Problem.of(tree, known)
    return problem.whole(_two_passes(problem, values - problem.floors, weights, problem.loose))


def nonnegative(tree: Hierarchy, values: Reals, weights: Reals, known: Ints | None = None) -> Reals:
    """The same, where none is less than zero, or than what is known below it."""
    values, weights = checked(tree, values, weights)
    problem = Problem.of(tree, known)
    more = values - problem.floors
    taking = _taking(problem, more, weights)
    leaves = np.where(taking, np.maximum(_two_passes(problem, more, weights, taking), 0.0), 0.0)
    return problem.whole(leaves)


def checked(tree: Hierarchy, values: Reals, weights: Reals) -> tuple[Reals, Reals]:
    """Values and weights as they are worked with; a ValueError where they are none."""
    values, weights = np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if not values.shape == weights.shape == tree.parents.shape:
        raise ValueError(f"a hierarchy of {len(tree)} nodes has as many values and weights")
    weighty = weights > 0
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weighty[tree.leaf].all()):
        raise ValueError("a weight is finite and not negative, and that of a leaf is not zero")
    if not np.isfinite(values[weighty]).all():
        raise ValueError("a value that has a weight is finite")
    return np.where(weighty, values, 0.0), weights


def _two_passes(problem: Problem, values: Reals, weights: Reals, taking: NDArray[np.bool_]) -> Reals:
    """How much more than its floor each loose node is, where leaves that take nothing are zero."""
    tree, size = problem.tree, len(problem.tree)
    sums, spreads, best, spread = (np.zeros(size) for _ in range(4))
    for level in reversed(problem.levels()):
        above = weights[level] * spreads[level]
        best[level] = (sums[level] + above * values[level]) / (1 + above)
        spread[level] = spreads[level] / (1 + above)
        leaves = level[tree.leaf[level]]
        best[leaves] = np.where(taking[leaves], values[leaves], 0.0)
        spread[leaves] = np.where(taking[leaves], 1 / weights[leaves], 0.0)
        inner = level[tree.parents[level] >= 0]
        np.add.at(sums, tree.parents[inner], best[inner])
        np.add.at(spreads, tree.parents[inner], spread[inner])
    found = np.where(problem.loose, best, 0.0)
    found[problem.tops] = np.where(problem.rest >= 0, problem.rest, best[problem.tops])
    for level in problem.levels():
        inner = level[tree.parents[level] >= 0]
        parents = tree.parents[inner]
        part = np.divide(spread[inner], spreads[parents], out=np.zeros(len(inner)), where=spreads[parents] > 0)
        found[inner] = best[inner] + part * (found[parents] - sums[parents])
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Bends:
    """Of several nodes, how much each takes at a price: lines that bend upwards."""

    nodes: Ints
    """Whose bends they are: those of one node side by side, the cheapest first."""
    prices: Reals
    """From where on it takes more."""
    slopes: Reals
    """How much more it takes for a price that is higher by one."""
    amounts: Reals
    """How much it takes at that price."""

    @classmethod
    def merged(cls, nodes: Ints, prices: Reals, gains: Reals) -> _Bends:
        """Bends in any order, each with how much steeper a line becomes there."""
        order = np.lexsort((prices, nodes))
        nodes, prices, gains = nodes[order], prices[order], gains[order]
        first = np.flatnonzero(np.diff(nodes, prepend=-1))
        slopes = running(gains, first)
        steps = np.diff(prices, prepend=0.0) * np.concatenate(([0.0], slopes[:-1]))[: len(slopes)]
        steps[first] = 0.0
        return cls(nodes, prices, slopes, running(steps, first))

    def with_own(self, values: Reals, weights: Reals) -> _Bends:
        """The same with what the nodes' own values cost."""
        own = 2 * weights[self.nodes]
        prices = self.prices + own * (self.amounts - values[self.nodes])
        return _Bends(self.nodes, prices, self.slopes / (1 + own * self.slopes), self.amounts)

    def of(self, nodes: NDArray[np.bool_]) -> _Bends:
        """Those of some nodes."""
        own = nodes[self.nodes]
        return _Bends(self.nodes[own], self.prices[own], self.slopes[own], self.amounts[own])

    def within(self, prices: Reals, amounts: Reals) -> _Bends:
        """Those that can be reached: at such a price at most, and such an amount; both by a node's number."""
        own = (self.prices <= prices[self.nodes]) & (self.amounts <= amounts[self.nodes])
        return _Bends(self.nodes[own], self.prices[own], self.slopes[own], self.amounts[own])

    def gains(self) -> Reals:
        """How much steeper the lines become at each bend."""
        first = np.flatnonzero(np.diff(self.nodes, prepend=-1))
        gains = np.diff(self.slopes, prepend=0.0)
        gains[first] = self.slopes[first]
        return gains

    def take(self, prices: Reals, amounts: Reals) -> None:
        """Puts down how much each node takes at its price; both by a node's number."""
        own = prices[self.nodes]
        last = self._last(self.prices <= own)
        amounts[self.nodes] = 0.0
        amounts[self.nodes[last]] = self.amounts[last] + self.slopes[last] * (own[last] - self.prices[last])

    def price(self, amounts: Reals, prices: Reals) -> None:
        """Puts down at which price each node takes its amount; both by a node's number."""
        own = amounts[self.nodes]
        last = self._last(self.amounts <= own)
        prices[self.nodes[last]] = self.prices[last] + (own[last] - self.amounts[last]) / self.slopes[last]

    def _last(self, reached: NDArray[np.bool_]) -> Ints:
        """The last bend of each node that is reached, as all before it are."""
        ends = ~reached[1:] | (self.nodes[1:] != self.nodes[:-1])
        return np.flatnonzero(reached & np.append(ends, np.ones(len(reached) - len(ends), dtype=np.bool_)))


def running(steps: Reals, first: Ints) -> Reals:
    """Sums so far, beginning anew at each of the places."""
    total = np.cumsum(steps)
    before = (total - steps)[first]
    found: Reals = total - np.repeat(before, np.diff(first, append=len(steps)))
    return found


def _taking(problem: Problem, values: Reals, weights: Reals) -> NDArray[np.bool_]:
    """Which leaves are not at zero: on the way up the bends of every level, on the way down the prices."""
    tree, loose = problem.tree, problem.loose
    upper = loose & (tree.parents >= 0)
    known = np.zeros(len(tree), dtype=np.bool_)
    known[problem.tops] = problem.rest >= 0
    dearest, most = _reach(problem, values, weights)
    levels: list[tuple[_Bends, _Bends]] = []
    below = _Bends.merged(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
    for level in reversed(tree.levels):
        below = below.within(dearest, most)
        inner = below.of(loose).with_own(values, weights)
        levels.append((inner, below.of(known)))
        passed, leaves = inner.of(upper), level[tree.leaf[level] & upper[level]]
        below = _Bends.merged(
            tree.parents[np.concatenate((passed.nodes, leaves))],
            np.concatenate((passed.prices, -2 * weights[leaves] * values[leaves])),
            np.concatenate((passed.gains(), 1 / (2 * weights[leaves]))),
        )
    # Down again, with the price outside of each node, and within, after its own cost.
    outer, within, amounts = (np.zeros(len(tree)) for _ in range(3))
    amounts[problem.tops] = np.maximum(problem.rest, 0)
    for level, (inner, fixed) in zip(tree.levels, reversed(levels), strict=True):
        children = level[upper[level]]
        outer[children] = within[tree.parents[children]]
        inner.take(outer, amounts)
        own = level[loose[level]]
        within[own] = outer[own] - 2 * weights[own] * (amounts[own] - values[own])
        fixed.price(amounts, within)
    found: NDArray[np.bool_] = loose & tree.leaf & (outer > -2 * weights * values)
    return found


def _reach(problem: Problem, values: Reals, weights: Reals) -> tuple[Reals, Reals]:
    """For each node the highest price within it that there can be, and the most that it can take. What lies beyond
    may be so far away that nothing near could be told apart any more."""
    tree = problem.tree
    dearest, most = np.full(len(tree), np.inf), np.full(len(tree), np.inf)
    for level in tree.levels:
        parents = tree.parents[level]
        outer = np.where(parents >= 0, dearest[parents], 0.0)
        dearest[level] = np.where(problem.loose[level], outer + 2 * weights[level] * values[level], np.inf)
    rest = np.append(problem.rest, -1)[problem.owners()]
    most[rest >= 0] = rest[rest >= 0]
    most[problem.tops] = np.where(problem.rest >= 0, problem.rest, np.inf)
    return dearest, most
