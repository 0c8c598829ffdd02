"""Hierarchies: nodes that add up to their parents, as arrays, a level at a time.

words:
  node      a place of the hierarchy, by its number; who comes first among siblings has the lower number
  root      a node without a parent; there may be several
  depth     how many ancestors a node has
  known     a node whose total is known for certain: what is below it is a problem of its own
  floor     the least that a node can be, by what is known below it
  loose     a node whose total is still to be found: neither known nor made of what is known
  top       where a problem begins: a loose node without a parent, or a known one that has loose children
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["ContradictionError", "Hierarchy", "Ints", "Problem", "Reals"]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Number = TypeVar("Number", np.int64, np.float64)

UNKNOWN = -1
"""In place of a total that is not known, and of the parent of a root."""


class ContradictionError(ValueError):
    """Totals that can not all be so."""

    def __init__(self, node: int, total: int, below: int) -> None:
        super().__init__(f"node {node} is known to be {total}, and what is known below it to be {below}")
        self.node, self.total, self.below = node, total, below


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """Who is whose parent."""

    parents: Ints
    """The number of each node's parent; -1 for a root."""
    levels: tuple[Ints, ...]
    """The nodes of each depth, siblings side by side, in the order of their parents and of themselves."""
    leaf: NDArray[np.bool_]
    """Which nodes have no children."""

    @classmethod
    def of(cls, parents: Ints) -> Hierarchy:
        """From the number of each node's parent; a ValueError where nodes are their own ancestors."""
        parents = np.asarray(parents, dtype=np.int64)
        if len(parents) and not (parents.min() >= UNKNOWN and parents.max() < len(parents)):
            raise ValueError(f"a parent is one of {len(parents)} nodes, or -1")
        children = np.argsort(parents, kind="stable")
        counts = np.bincount(parents[parents >= 0], minlength=len(parents))
        starts = np.cumsum(counts) - counts + (parents < 0).sum()
        levels, level = [], children[: len(parents) - counts.sum()]
        while len(level):
            levels.append(level)
            level = children[_ranges(starts[level], counts[level])]
        if sum(map(len, levels)) < len(parents):
            raise ValueError("some nodes are their own ancestors")
        return cls(parents, tuple(levels), counts == 0)

    def __len__(self) -> int:
        return len(self.parents)

    def sums(self, of_leaves: NDArray[Number]) -> NDArray[Number]:
        """What all nodes are, from what the leaves are; what stands at other nodes is not looked at."""
        found = of_leaves * self.leaf
        for level in reversed(self.levels[1:]):
            np.add.at(found, self.parents[level], found[level])
        return found

    def order(self) -> Ints:
        """For each node the number of leaves that stand before those below it, from left to right."""
        leaves = self.sums(self.leaf.astype(np.int64))
        before = np.zeros(len(self), dtype=np.int64)
        for level in self.levels:
            parents, sizes = self.parents[level], leaves[level]
            total = np.cumsum(sizes) - sizes
            first = np.flatnonzero(np.diff(parents, prepend=-2)) if parents[0] >= 0 else np.zeros(1, dtype=np.int64)
            group = np.repeat(np.arange(len(first)), np.diff(first, append=len(level)))
            above = np.where(parents >= 0, before[parents], 0)
            before[level] = above + total - total[first][group]
        return before


def _ranges(starts: Ints, counts: Ints) -> Ints:
    """The numbers from each start on, as many as its count, one range after another."""
    ends = np.cumsum(counts)
    found: Ints = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - counts), counts)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is left to be found, where some totals are known: how much more than its floor each loose node is."""

    tree: Hierarchy
    floors: Ints
    """The least that each node can be; of what is not loose, what it is."""
    loose: NDArray[np.bool_]
    """Which nodes are to be found."""
    tops: Ints
    """Where problems begin."""
    rest: Ints
    """Of each top, how much more its loose children are than their floors, together; -1 where that is to be found."""

    @classmethod
    def of(cls, tree: Hierarchy, known: Ints | None = None) -> Problem:
        """With the total of each node, -1 where it is not known; a ValueError where totals contradict each other."""
        totals = np.full(len(tree), UNKNOWN) if known is None else np.asarray(known, dtype=np.int64)
        if totals.shape != tree.parents.shape or (len(totals) and totals.min() < UNKNOWN):
            raise ValueError("a known total is a whole number that is not negative, one a node")
        below, moving = np.zeros(len(tree), dtype=np.int64), np.zeros(len(tree), dtype=np.bool_)
        floors, loose = below.copy(), moving.copy()
        for level in reversed(tree.levels):
            given = totals[level] >= 0
            floors[level] = np.where(given, totals[level], below[level])
            loose[level] = ~given & (tree.leaf[level] | moving[level])
            wrong = given & ~tree.leaf[level] & ((below[level] > totals[level]) | ~moving[level])
            wrong &= below[level] != totals[level]
            if wrong.any():
                node = level[wrong][0]
                raise ContradictionError(int(node), int(totals[node]), int(below[node]))
            inner = level[tree.parents[level] >= 0]
            np.add.at(below, tree.parents[inner], floors[inner])
            np.logical_or.at(moving, tree.parents[inner], loose[inner])
        tops = np.flatnonzero((loose & (tree.parents < 0)) | (~loose & moving))
        rest = np.where(loose[tops], UNKNOWN, floors[tops] - below[tops])
        return cls(tree, floors, loose, tops, rest)

    def levels(self) -> list[Ints]:
        """The loose nodes of each depth."""
        return [level[self.loose[level]] for level in self.tree.levels]

    def owners(self) -> Ints:
        """For each node the place among the tops of the nearest one above it, or of itself where it is loose; -1
        where there is none."""
        place = np.full(len(self.tree), UNKNOWN)
        below = place.copy()
        below[self.tops] = np.arange(len(self.tops))
        for level in self.tree.levels:
            parents = self.tree.parents[level]
            inherited = np.where(parents >= 0, below[parents], UNKNOWN)
            own = self.loose[level] & (parents < 0)
            place[level] = np.where(own, below[level], inherited)
            is_top = below[level] >= 0
            below[level] = np.where(is_top, below[level], inherited)
        return place

    def whole(self, more: NDArray[Number]) -> NDArray[Number]:
        """What all nodes are, from how much more than its floor each loose leaf is."""
        return self.tree.sums(self.floors + more * (self.loose & self.tree.leaf))
