"""Small hierarchies at random, and what can be said of them by looking at everything."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.consistency import Hierarchy

__all__ = ["Case", "above", "cost", "everything", "random_case", "random_parents"]


@dataclass(frozen=True)
class Case:
    """A hierarchy with noisy values."""

    tree: Hierarchy
    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    known: NDArray[np.int64]


def random_parents(generator: np.random.Generator, nodes: int, roots: int) -> NDArray[np.int64]:
    """A ragged forest, its nodes in any order."""
    parents = [-1] * roots + [int(generator.integers(0, node)) for node in range(roots, nodes)]
    order = generator.permutation(nodes)
    places = np.argsort(order)
    return np.array([-1 if parents[node] < 0 else places[parents[node]] for node in order])


def random_case(generator: np.random.Generator, leaves: int, whole: bool) -> Case:
    """A few nodes with so many leaves at most; of some the total is known, some weigh nothing."""
    while True:
        nodes = int(generator.integers(1, 3 * leaves))
        tree = Hierarchy.of(random_parents(generator, nodes, int(generator.integers(1, min(nodes, 2) + 1))))
        if tree.leaf.sum() <= leaves:
            break
    truth = tree.sums(generator.integers(0, 4, nodes))
    known = np.where(generator.random(nodes) < 0.2, truth, -1)
    if whole:
        values = generator.integers(-3, 8, nodes).astype(np.float64)
        weights = generator.integers(1, 4, nodes).astype(np.float64)
    else:
        values, weights = generator.normal(2, 3, nodes), generator.uniform(0.1, 3, nodes)
    weights[~tree.leaf & (generator.random(nodes) < 0.1)] = 0
    return Case(tree, values, weights, known)


def above(tree: Hierarchy) -> NDArray[np.int64]:
    """For every node (a row) which leaves (the columns) are below it."""
    leaves = np.flatnonzero(tree.leaf)
    found = np.zeros((len(tree), len(leaves)), dtype=np.int64)
    for column, leaf in enumerate(leaves):
        node = int(leaf)
        while node >= 0:
            found[node, column] = 1
            node = int(tree.parents[node])
    return found


def everything(case: Case, most: int) -> NDArray[np.int64]:
    """Every way in which leaves can be 0 to so much, and known nodes what they are: a row each."""
    below = above(case.tree)
    found = _divided(most, below.shape[1]) @ below.T
    fitting: NDArray[np.int64] = found[((found == case.known) | (case.known < 0)).all(axis=1)]
    return fitting


@cache
def _divided(most: int, leaves: int) -> NDArray[np.int64]:
    return np.array(list(itertools.product(range(most + 1), repeat=leaves)))


def cost(case: Case, found: NDArray[np.int64]) -> NDArray[np.float64]:
    """The weighted squared error of each row."""
    return np.asarray((case.weights * (found - case.values) ** 2).sum(axis=-1))
