"""Readings of a regular tree, in which all nodes of a level have as many children: its weights take no node by node.

words:
  regular    of a tree: whatever is known of a node's variance is known of every node of its level
  product    what a weight of 1 at the top of a subtree comes to at a node of a level below
  earlier, later
             the siblings before a path's node, and those after it: whole subtrees, each with one weight at its top
  left       of the devices of a path's node, those before where a reading ends

Fitted children add up to their parent, so that a subtree's sum of shares with weights is the share of its top times
the product for each level: where `Fit` adds up the sums of every subtree, here it takes two small matrices,
which are of the tree and of how many have reported. A distribution is regular whose buckets are a power of 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.estimators._readings import SUMS

__all__ = ["Regular"]

_Floats = NDArray[np.float64]
_Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Regular:
    """A regular tree's numbers: of each level one."""

    sizes: tuple[int, ...]
    """How many nodes each level has."""
    weight: _Floats
    pull: _Floats
    gain: _Floats
    known: _Floats
    whole: _Floats
    before: _Floats
    """The share of all leaves before each."""

    def rough(self) -> _Floats:
        """For every leaf, the variance of all leaves before it, as if all nodes of a level were alike: what it is
        within a subtree is the same in each subtree of its level."""
        variances = part = np.zeros(1)
        for children, known, whole in zip(self._children[::-1], self.known[::-1], self.whole[::-1], strict=True):
            left = known * np.arange(children)[:, np.newaxis]
            taken = left + part * known
            variances = (variances + left + part**2 * known - taken**2 / whole).ravel()
            part = (taken / whole).ravel()
        return variances

    def sums(self, level: int, places: _Places, *, below: bool) -> tuple[_Floats, _Floats]:
        """Of a reading at each place of a level, of its node or of all leaves before it: the sums of each level's
        weights, over all nodes and over those inside."""
        until = level + 1
        leaves = (self.sizes[-1] // np.array(self.sizes[:until]))[:, np.newaxis]
        at = places // (self.sizes[level] // np.array(self.sizes[:until]))[:, np.newaxis]
        first = at - at % self._children[:until, np.newaxis]
        last = first + self._children[:until, np.newaxis]
        starts, begins, ends, stops = (self.before[each * leaves] for each in (first, at, at + 1, last))
        above, own = self._carried(at - first, below=below)
        weights = own * self.weight[:until, np.newaxis]
        earlier = _tops(above + below, at - first, begins - starts)
        later = _tops(above, last - at - 1, stops - ends)
        top = _tops(own[level], np.ones(len(places)), ends[level] - begins[level])
        later[:, level] += top
        whole = self._spread(earlier + later)
        whole[:, :level] += _tops(weights[:level], 1.0, (ends - begins)[:level])
        if below:
            inside = self._spread(earlier)
            inside[:, :until] += _tops(weights, places / leaves - at, self.before[places] - begins)
        else:
            ending = np.zeros((SUMS, *own.shape))
            ending[:, level] = top
            inside = self._spread(ending)
            inside[:, :level] = _tops(
                weights[:level], 1.0, np.broadcast_to(ends[level] - begins[level], own[:level].shape)
            )
        return np.moveaxis(whole, 0, -1).swapaxes(0, 1), np.moveaxis(inside, 0, -1).swapaxes(0, 1)

    def _carried(self, left: _Places, *, below: bool) -> tuple[_Floats, _Floats]:
        """Down a path the weight that a sibling has of its parent, and the node itself."""
        above, own = np.empty(left.shape), np.empty(left.shape)
        part = np.full(left.shape[1], 0.0 if below else 1.0)
        for place in range(len(left) - 1, -1, -1):
            own[place] = part
            part = self.gain[place] * (part + left[place] if below else part)
            above[place] = -part
        carried = np.zeros(left.shape[1])
        for place in range(len(left)):
            above[place] += carried
            own[place] += above[place]
            carried = own[place] * self.pull[place]
        return above, own

    def _spread(self, tops: _Floats) -> _Floats:
        """The sums of each level, from those at the tops of subtrees that begin at each."""
        products = self._products[:, : tops.shape[1]]
        found: _Floats = np.matmul(products.swapaxes(1, 2), tops)
        return found

    @cached_property
    def _children(self) -> _Places:
        sizes = np.array((1, *self.sizes))
        children: _Places = sizes[1:] // sizes[:-1]
        return children

    @cached_property
    def _products(self) -> _Floats:
        """By which the sums at the top of a subtree are multiplied, from each level to each."""
        depth = len(self.sizes)
        products = np.zeros((depth, depth))
        for level in range(depth):
            products[level, level:] = np.cumprod(np.append(1.0, self.pull[level:-1])) * self.weight[level:]
        nodes = np.triu(np.array(self.sizes) / np.array(self.sizes)[:, np.newaxis])
        return np.stack([products**2 * nodes, products * nodes, products, products**2, nodes])


def _tops(weights: _Floats, counts: _Floats | _Places | float, shares: _Floats) -> _Floats:
    """The sums of so many nodes of one weight, whose shares add up to these."""
    squares, ones = weights**2, np.broadcast_to(np.asarray(counts, dtype=np.float64), weights.shape)
    return np.stack([squares * ones, weights * ones, weights * shares, squares * shares, ones])
