"""Whole numbers over hierarchies."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable_aggregator.consistency import Hierarchy, integers, nonnegative
from deniable_aggregator.consistency.whole_numbers import _Units
from support.hierarchies import Case, cost, everything, random_case

STATES = Hierarchy.of(np.array([-1, 0, 0]))
"""The United States, and below them Georgia and Michigan."""
SAID = np.array([2.0, 3.0, 0.0])


@pytest.mark.parametrize(("total", "least"), list(enumerate([13, 5, 1, 1, 5])))
def test_the_worked_table_of_the_lectures(total: int, least: int) -> None:
    """Georgia says 3, Michigan 0, the nation 2: what it costs the nation to be 0, 1, 2, 3 and 4."""
    found = integers(STATES, SAID, np.ones(3), np.array([total, -1, -1]))
    assert found[0] == total
    assert ((found - SAID) ** 2).sum() == least


def test_of_two_that_cost_the_same_it_is_the_smaller_sum_and_the_first_leaf() -> None:
    """The nation is 2 or 3 at a cost of 1: it is 2. As 4 it is divided as 4 + 0 or 3 + 1 at a cost of 5: as 4 + 0."""
    assert integers(STATES, SAID, np.ones(3)).tolist() == [2, 2, 0]
    assert integers(STATES, SAID, np.ones(3), np.array([4, -1, -1])).tolist() == [4, 4, 0]


def chosen(case: Case, best: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of several solutions the one that the tie rule names: the least sum of roots, then most at the first leaves."""
    leaves = np.flatnonzero(case.tree.leaf)
    places = np.argsort(np.argsort(case.tree.order()[leaves]))
    roots = best[:, case.tree.parents < 0].sum(axis=1)
    first: NDArray[np.int64] = best[np.lexsort((best[:, leaves] @ places, roots))[0]]
    return first


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_better_than_what_is_found(seed: int) -> None:
    """Of 2,000 ragged forests with up to four leaves, known totals, and values and weights that are whole (so that
    there are ties) or not, every division is looked at: the program's is the best, and of equals the rule's."""
    generator = np.random.default_rng(seed)
    for turn in range(500):
        case = random_case(generator, 4, whole=turn % 2 == 0)
        found = integers(case.tree, case.values, case.weights, case.known)
        assert (case.tree.sums(found) == found).all()
        assert (found >= 0).all()
        assert ((found == case.known) | (case.known < 0)).all()
        divisions = everything(case, 10 if case.tree.leaf.sum() < 4 else 9)
        costs = cost(case, divisions)
        if turn % 2 == 0:
            assert found.tolist() == chosen(case, divisions[costs == costs.min()]).tolist()
        else:
            assert cost(case, found) <= costs.min() + 1e-9


def table(case: Case, most: int) -> float:
    """The least cost by the tables of the lectures' program: for every node, what each number costs it."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(case.tree.parents.tolist()):
        children.setdefault(parent, []).append(node)

    def costs(node: int) -> NDArray[np.float64]:
        divided = np.zeros(most + 1) if case.tree.leaf[node] else merged(children[node])
        own = divided + case.weights[node] * (np.arange(most + 1) - case.values[node]) ** 2
        return np.where(np.arange(most + 1) == case.known[node], own, np.inf) if case.known[node] >= 0 else own

    def merged(nodes: list[int]) -> NDArray[np.float64]:
        total = costs(nodes[0])
        for node in nodes[1:]:
            more = costs(node)
            total = np.array([(total[: v + 1] + more[v::-1]).min() for v in range(most + 1)])
        return total

    return float(sum(costs(root).min() for root in children[-1]))


@pytest.mark.parametrize("seed", range(3))
def test_the_tables_of_the_lectures_cost_as_much(seed: int) -> None:
    """30 ragged forests with up to 20 leaves."""
    generator = np.random.default_rng(seed)
    for turn in range(10):
        case = random_case(generator, 20, whole=turn % 2 == 0)
        found = integers(case.tree, case.values, case.weights, case.known)
        assert float(cost(case, found)) == pytest.approx(table(case, 120), abs=1e-9)


def test_counts_in_the_millions_at_a_hundred_thousand_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything fits, and what it costs more than real numbers do is what rounding costs: less than a quarter of a
    unit squared at each node, and as it happens a tenth. The units that are sorted are six a node, not millions."""
    sorted_units = []
    merged = _Units.merged

    def counted(units: _Units, parents: NDArray[np.int64], least: NDArray[np.int64]) -> _Units:
        sorted_units.append(len(units.nodes))
        return merged(units, parents, least)

    monkeypatch.setattr(_Units, "merged", counted)
    generator = np.random.default_rng(1)
    nodes = 100_000
    tree = Hierarchy.of(np.array([-1] + [int(place * generator.random()) for place in range(1, nodes)]))
    truth = tree.sums(np.floor(generator.pareto(1.1, nodes) * 20))
    assert truth.max() > 5e6
    values, weights = truth + generator.normal(0, 3000, nodes), np.ones(nodes)
    found = integers(tree, values, weights)
    assert (tree.sums(found) == found).all()
    assert (found >= 0).all()
    real = nonnegative(tree, values, weights)
    assert np.abs(found - real).max() < 3
    more = ((found - values) ** 2 - (real - values) ** 2).sum()
    assert 0 <= more < nodes / 4
    assert sum(sorted_units) <= 6 * nodes


def test_a_start_that_is_far_off_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the windows are laid does not matter: from zero at every leaf the same is found."""
    generator = np.random.default_rng(3)
    tree = Hierarchy.of(np.array([-1] + [int(generator.integers(0, node)) for node in range(1, 300)]))
    values = tree.sums(generator.integers(0, 90, len(tree))) + generator.normal(0, 20, len(tree))
    found = integers(tree, values, np.ones(len(tree)))
    monkeypatch.setattr(
        "deniable_aggregator.consistency.whole_numbers.nonnegative", lambda tree, *_: np.zeros(len(tree))
    )
    assert integers(tree, values, np.ones(len(tree))).tolist() == found.tolist()


@pytest.mark.parametrize("known", [[3, 2, 2], [1, 2, -1], [-2, -1, -1]])
def test_totals_that_contradict_each_other_are_refused(known: list[int]) -> None:
    """Two children that are more or less than their parent together, one that is alone, and less than nothing."""
    with pytest.raises(ValueError, match="known"):
        integers(STATES, SAID, np.ones(3), np.array(known))


def test_errors_are_less_than_raw_ones_at_every_level() -> None:
    """100 draws of noise upon a ragged hierarchy of three levels, mostly of empty leaves, whose total is known: the
    mean squared error below the root is less than the raw one's by at least six standard errors at each level."""
    generator = np.random.default_rng(5)
    tree = Hierarchy.of(np.array([-1] + [0] * 8 + [1 + place % 7 for place in range(60)]))
    truth = tree.sums(generator.poisson(2, len(tree)) * (generator.random(len(tree)) < 0.3))
    known = np.where(tree.parents < 0, truth, -1)
    gains = []
    for _ in range(100):
        said = truth + generator.laplace(0, 4, len(tree))
        found = integers(tree, said, np.ones(len(tree)), known)
        errors = (said - truth) ** 2 - (found - truth) ** 2
        gains.append([errors[level].mean() for level in tree.levels[1:]])
    means, spreads = np.mean(gains, axis=0), np.std(gains, axis=0) / np.sqrt(len(gains))
    assert (means > 6 * spreads).all()
