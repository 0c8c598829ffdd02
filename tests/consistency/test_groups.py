"""Counts of counts, where the sums over sizes are known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable_aggregator.consistency import Hierarchy
from deniable_aggregator.consistency.groups import cumulated, groups

SHAPES = ([-1, 0, 0], [-1, 0, 0, 1, 1], [-1, 0, 1], [-1], [-1, -1, 0])


def fitting(tree: Hierarchy, totals: NDArray[np.int64], sizes: int) -> NDArray[np.int64]:
    """All counts that fit."""
    leaves = [
        [row for row in itertools.product(range(total + 1), repeat=sizes) if sum(row) == total]
        for total in totals[tree.leaf]
    ]
    found = []
    for rows in itertools.product(*leaves):
        counts = np.zeros((len(tree), sizes), dtype=np.int64)
        counts[tree.leaf] = rows
        found.append(np.stack([tree.sums(column) for column in counts.T], axis=1))
    return np.array(found)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_nothing_that_fits_is_better(shape: list[int], seed: int) -> None:
    """All that fits is looked at: plain counts are the best of it; sums over sizes are within their bound."""
    generator = np.random.default_rng(seed)
    tree, sizes = Hierarchy.of(np.array(shape)), 3
    totals = tree.sums(generator.integers(0, 4, len(tree)))
    values = generator.normal(1, 2, (len(tree), sizes))
    weights = generator.uniform(0.3, 2, values.shape)
    every = fitting(tree, totals, sizes)
    plain = groups(tree, values, weights, totals)
    assert (every == plain.counts).all(axis=(1, 2)).any()
    assert plain.cost == pytest.approx((weights * (every - values) ** 2).sum(axis=(1, 2)).min(), abs=1e-9)
    assert plain.bound == plain.cost
    summed = cumulated(tree, values, weights, totals)
    assert (every == summed.counts).all(axis=(1, 2)).any()
    least = (weights * (np.cumsum(every, axis=2) - values) ** 2).sum(axis=(1, 2)).min()
    assert summed.bound - 1e-6 <= least <= summed.cost + 1e-9


def test_hundreds_of_cells_fit_and_are_best_to_a_step() -> None:
    """60 regions and 12 sizes: everything fits, and no group that moves to another size in one region helps."""
    generator = np.random.default_rng(1)
    tree, sizes = Hierarchy.of(np.array([-1] + [0] * 6 + [1 + place % 6 for place in range(53)])), 12
    truth = np.zeros((len(tree), sizes), dtype=np.int64)
    truth[tree.leaf] = generator.poisson(40 * np.exp(-np.arange(sizes) / 3), (int(tree.leaf.sum()), sizes))
    truth = np.stack([tree.sums(column) for column in truth.T], axis=1)
    values, totals = truth + generator.laplace(0, 10, truth.shape), truth.sum(axis=1)
    found = groups(tree, values, np.ones(values.shape), totals).counts
    assert (found >= 0).all()
    assert (found.sum(axis=1) == totals).all()
    assert (np.stack([tree.sums(column) for column in found.T], axis=1) == found).all()
    up, down = 2 * (found - values) + 1, 1 - 2 * (found - values)
    for leaf in np.flatnonzero(tree.leaf):
        node, more, less = int(leaf), np.zeros(sizes), np.zeros(sizes)
        while node >= 0:
            more, less, node = more + up[node], less + down[node], int(tree.parents[node])
        moves = more[:, None] + less[None, found[leaf] > 0]
        same = np.flatnonzero(found[leaf] > 0)
        moves[same, np.arange(len(same))] = 0
        assert moves.min() >= -1e-6


def test_totals_that_do_not_add_up_are_refused() -> None:
    """A region has as many groups as its parts."""
    with pytest.raises(ValueError, match="add up"):
        groups(Hierarchy.of(np.array([-1, 0, 0])), np.ones((3, 2)), np.ones((3, 2)), np.array([4, 1, 2]))
