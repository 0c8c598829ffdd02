"""Counts of counts over a hierarchy: how many groups of each size a region has, where it is known how many it has.

Groups (households, say) of a size are as many in a region as in its parts together, none is less than none, and over
all sizes there are as many as the region is known to have. With the last the sizes hang together, and a hierarchy's
program (`whole_numbers`), which finds each size by itself, does not solve it. But whole numbers it has all the same:
what is known sends so many groups into every leaf, from where each goes through its size's hierarchy up to the root,
so they are flows in a network, whose corners are whole numbers.

`groups` finds the best real ones, rounds them to whole ones that fit, and has the best around these by a linear
program with a unit an unknown (HiGHS, which is scipy's): exactly, by the argument and with the windows of
`whole_numbers`. Of equals it is any.

Where noise was put upon sums over sizes (so many groups of at most that size), squared errors are those of these
sums, and what is exact is the real optimum alone: the sets that are summed over cross each other thrice, and corners
are no more whole. `cumulated` has whole numbers that fit, nearest to the real ones, and says how much the best could
be better at most: by what they cost more than the real ones.

words:
  cell    how many groups of one size one node has
  bound   what all whole numbers that fit cost at least
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.consistency.constraints import nearest
from deniable_aggregator.consistency.hierarchy import Hierarchy, Ints, Reals

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Groups", "cumulated", "groups"]

_WIDTH = 2
"""How far a window reaches to each side at first."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Whole numbers that fit, and how good they are."""

    counts: Ints
    """A row a node, a column a size."""
    cost: float
    """Their weighted squared error."""
    bound: float
    """What all that fit cost at least: their own cost where they are the best."""


def groups(tree: Hierarchy, values: Reals, weights: Reals, totals: Ints) -> Groups:
    """The counts nearest to the values (weighted, squared; a row a node, a column a size) in which children add up to
    their parents, none is negative, and the sizes of each leaf add up to its known total."""
    values, weights, totals = _checked(tree, values, weights, totals)
    found = _whole(tree, _real(tree, values, weights, totals), totals)
    width = _WIDTH
    while True:
        better = _best(tree, found, width, values, weights)
        touched = (better >= found + width) | ((better <= found - width) & (better > 0))
        found = better
        if not touched.any():
            break
        width *= 2
    cost = float((weights * (found - values) ** 2).sum())
    return Groups(found, cost, cost)


def cumulated(tree: Hierarchy, values: Reals, weights: Reals, totals: Ints) -> Groups:
    """Counts that fit, where values are of groups that are at most of each size: the whole ones that are nearest to
    the real ones whose sums over sizes are nearest to the values."""
    values, weights, totals = _checked(tree, values, weights, totals)
    real = _real(tree, values, weights, totals, sums=True)
    found = groups(tree, real, np.ones(real.shape), totals).counts

    def cost(counts: Reals) -> float:
        return float((weights * (np.cumsum(counts, axis=1) - values) ** 2).sum())

    return Groups(found, cost(found.astype(np.float64)), cost(real))


def _checked(tree: Hierarchy, values: Reals, weights: Reals, totals: Ints) -> tuple[Reals, Reals, Ints]:
    values, weights = np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    totals = np.asarray(totals, dtype=np.int64)
    if values.ndim != 2 or values.shape != weights.shape or len(values) != len(tree) or totals.shape != (len(tree),):
        raise ValueError("values and weights have a row a node and a column a size, and a node has one total")
    if not (totals[tree.leaf] >= 0).all():
        raise ValueError("a leaf has a known total, which is not negative")
    if not (tree.sums(totals) == totals).all():
        raise ValueError("the totals of children add up to that of their parent")
    return values, weights, totals


def _real(tree: Hierarchy, values: Reals, weights: Reals, totals: Ints, sums: bool = False) -> Reals:
    """The best counts if they were real; of sums over sizes, the counts whose sums are the best."""
    from scipy.sparse import csr_array, eye_array, kron, vstack

    nodes, sizes = values.shape
    fit, per_leaf = _fitting(tree, sizes)
    apart: csr_array = eye_array(nodes * sizes, format="csr")
    if sums:
        step = eye_array(sizes, format="csr") - eye_array(sizes, k=-1, format="csr")
        apart = csr_array(kron(eye_array(nodes), step))
    rows = vstack([fit @ apart, per_leaf @ apart, apart], format="csr")
    low = np.concatenate([np.zeros(fit.shape[0]), totals[tree.leaf], np.zeros(nodes * sizes)])
    high = np.concatenate([np.zeros(fit.shape[0]), totals[tree.leaf], np.full(nodes * sizes, np.inf)])
    found = nearest(values.ravel(), weights.ravel(), rows, low, high)
    counts: Reals = np.maximum((apart @ found).reshape(nodes, sizes), 0.0)
    return counts


def _fitting(tree: Hierarchy, sizes: int) -> tuple[csr_array, csr_array]:
    """For the cells, node by node: how much parents are more than their children, and the sums of leaves."""
    from scipy.sparse import csr_array, eye_array, kron

    inner, leaves = np.flatnonzero(~tree.leaf), np.flatnonzero(tree.leaf)
    place = np.zeros(len(tree), dtype=np.int64)
    place[inner] = np.arange(len(inner))
    children = np.flatnonzero(tree.parents >= 0)
    rows = np.concatenate([place[inner], place[tree.parents[children]]])
    signs = np.concatenate([np.ones(len(inner)), -np.ones(len(children))])
    shape = (len(inner), len(tree))
    differences = csr_array((signs, (rows, np.concatenate([inner, children]))), shape=shape)
    each = csr_array((np.ones(len(leaves)), (np.arange(len(leaves)), leaves)), shape=(len(leaves), len(tree)))
    return csr_array(kron(differences, eye_array(sizes))), csr_array(kron(each, np.ones((1, sizes))))


def _whole(tree: Hierarchy, real: Reals, totals: Ints) -> Ints:
    """Whole numbers that fit, near to the real ones: in each leaf the sums over sizes are rounded."""
    sums = np.floor(np.cumsum(real[tree.leaf], axis=1) + 0.5).astype(np.int64)
    sums = np.minimum(sums, totals[tree.leaf][:, None])
    sums[:, -1] = totals[tree.leaf]
    found = np.zeros(real.shape, dtype=np.int64)
    found[tree.leaf] = np.diff(sums, axis=1, prepend=0)
    return _added(tree, found)


def _added(tree: Hierarchy, leaves: Ints) -> Ints:
    return np.stack([tree.sums(column) for column in leaves.T], axis=1)


def _best(tree: Hierarchy, middle: Ints, width: int, values: Reals, weights: Reals) -> Ints:
    """The best counts within windows around others that fit."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, vstack

    start = np.maximum(middle - width, 0).ravel()
    counts = middle.ravel() + width - start
    cells = np.repeat(np.arange(len(start)), counts)
    numbers = start[cells] + np.arange(1, len(cells) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
    costs = weights.ravel()[cells] * (2 * (numbers - values.ravel()[cells]) - 1)
    units = csr_array((np.ones(len(cells)), (cells, np.arange(len(cells)))), shape=(len(start), len(cells)))
    rows = vstack(_fitting(tree, middle.shape[1]), format="csr")
    found = linprog(costs, A_eq=rows @ units, b_eq=rows @ (middle.ravel() - start), bounds=(0, 1), method="highs-ds")
    if found.status != 0 or found.x is None:
        raise RuntimeError(f"the linear program was not solved: {found.message}")
    taken: NDArray[np.int64] = np.rint(found.x).astype(np.int64)
    if np.abs(found.x - taken).max() > 1e-6:
        raise RuntimeError("the linear program's corner is not a whole one")
    return (start + np.bincount(cells, weights=taken, minlength=len(start)).astype(np.int64)).reshape(middle.shape)
