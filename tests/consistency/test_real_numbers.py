"""Least squares over hierarchies, for real numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from deniable_aggregator.consistency import Hierarchy, least_squares, nonnegative
from support.hierarchies import above, random_case

NONE_KNOWN = 1e6
"""How much more a known total weighs, where a solver without equalities is asked."""


@pytest.mark.parametrize("seed", range(4))
def test_what_is_not_negative_is_what_an_active_set_method_finds(seed: int) -> None:
    """240 small ragged forests: the leaves are those of Lawson's and Hanson's method on the dense problem; known
    totals are rows of it that weigh a million times as much, so it says the same to five digits."""
    generator = np.random.default_rng(seed)
    for _ in range(60):
        case = random_case(generator, 8, whole=False)
        below, known = above(case.tree), case.known >= 0
        root = np.sqrt(case.weights)[:, None]
        rows = np.vstack([root * below, NONE_KNOWN * below[known]])
        goal = np.concatenate([root[:, 0] * case.values, NONE_KNOWN * case.known[known]])
        leaves, _ = nnls(rows, goal)
        found = nonnegative(case.tree, case.values, case.weights, case.known)
        assert found == pytest.approx(below @ leaves, abs=1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_what_may_be_negative_is_the_dense_least_squares(seed: int) -> None:
    """The two passes, against the normal equations' answer."""
    generator = np.random.default_rng(seed)
    for _ in range(60):
        case = random_case(generator, 8, whole=False)
        below = above(case.tree)
        root = np.sqrt(case.weights)[:, None]
        leaves = np.linalg.lstsq(root * below, root[:, 0] * case.values)[0]
        assert least_squares(case.tree, case.values, case.weights) == pytest.approx(below @ leaves, abs=1e-7)


def test_a_great_hierarchy_satisfies_the_conditions_of_its_optimum() -> None:
    """20,000 nodes, ragged, counts in the millions: no leaf that has anything would gain by having less or more, and
    none that has nothing by having some (Karush, Kuhn and Tucker), to nine digits."""
    generator = np.random.default_rng(7)
    tree = Hierarchy.of(np.array([-1] + [int(generator.integers(0, node)) for node in range(1, 20_000)]))
    truth = tree.sums(np.floor(generator.pareto(1.1, len(tree)) * 20))
    values, weights = truth + generator.normal(0, 3000, len(tree)), generator.uniform(0.5, 2, len(tree))
    found = nonnegative(tree, values, weights)
    slopes = 2 * weights * (found - values)
    for level in tree.levels[1:]:
        slopes[level] += slopes[tree.parents[level]]
    scale = np.abs(2 * weights * values).max()
    some = tree.leaf & (found > 0)
    assert np.abs(slopes[some]).max() < 1e-9 * scale
    assert slopes[tree.leaf].min() > -1e-9 * scale
    assert found.min() >= 0
    assert tree.sums(found) == pytest.approx(found)


def test_who_is_their_own_ancestor_is_refused() -> None:
    """Two nodes that are each other's parents are no hierarchy."""
    with pytest.raises(ValueError, match="own ancestors"):
        Hierarchy.of(np.array([-1, 2, 1]))


def test_a_leaf_without_weight_is_refused() -> None:
    """Nothing would be known of it."""
    tree = Hierarchy.of(np.array([-1, 0, 0]))
    with pytest.raises(ValueError, match="that of a leaf is not zero"):
        nonnegative(tree, np.ones(3), np.array([1.0, 1.0, 0.0]))
