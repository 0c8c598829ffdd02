"""One tree out of its levels: the fit and its variances are those of dense linear algebra, on trees of any shape."""

from __future__ import annotations

import math
from copy import copy

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.epsilon import Epsilon
from deniable.kinds import _levels
from deniable_aggregator.estimators import Fit, Spread, Told, Tree
from deniable_aggregator.estimators._frequencies import GRAIN

Floats = NDArray[np.float64]
TREES = {
    "two leaves": [[0, 0]],
    "halves": [[0, 0], [0, 0, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3]],
    "halves and thirds": [[0, 0], [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]],
    "ragged": [[0, 0, 0], [0, 0, 1, 2], [0, 1, 1, 1, 2, 3, 3], [0, 1, 2, 2, 3, 4, 4, 4, 4, 5, 6, 6]],
    "a chain": [[0, 0], [0, 1], [0, 1], [0, 0, 0, 1]],
}


class Dense:
    """A tree as matrices: the same estimate by solving for the leaves, and its covariance from the definition."""

    def __init__(self, name: str, mechanism: str) -> None:
        generator = np.random.default_rng(len(name))
        self.tree = Tree(tuple(np.array(parents, dtype=np.intp) for parents in TREES[name]))
        sizes = self.tree.sizes
        self.leaves = generator.dirichlet(np.full(sizes[-1], 0.3))
        self.levels: list[Told] = []
        self.members = self._members()
        columns = _levels.asked(Epsilon.of(1), sizes, mechanism)
        for column, members, reports in zip(columns, self.members, generator.integers(50, 5000, 9), strict=False):
            noisy = members @ self.leaves + generator.normal(size=len(members)) / 20
            chances = float(column.p), float(column.q), *map(float, column.both)
            self.levels.append(Told(int(reports), noisy, *chances))
        scaled = np.vstack(
            [own / math.sqrt(level.variance) for own, level in zip(self.members, self.levels, strict=True)]
        )
        said = np.concatenate([level.values / math.sqrt(level.variance) for level in self.levels])
        ones = np.ones((sizes[-1], 1))
        solved = np.linalg.inv(np.block([[scaled.T @ scaled, ones], [ones.T, np.zeros((1, 1))]]))
        self.found = (solved @ np.append(scaled.T @ said, 1))[:-1]
        self._inverse = solved[:-1, :-1]

    def _members(self) -> list[Floats]:
        """For each level, which leaves are in each node."""
        above, found = np.arange(self.tree.sizes[-1]), []
        for size, parents in zip(reversed(self.tree.sizes), reversed(self.tree.parents), strict=True):
            members = np.zeros((size, self.tree.sizes[-1]))
            members[above, np.arange(self.tree.sizes[-1])] = 1
            found.append(members)
            above = parents[above]
        return found[::-1]

    def true(self) -> Fit:
        """The fit of what is told without noise."""
        pairs = zip(self.members, self.levels, strict=True)
        return Fit(self.tree, [level._replace(values=members @ self.leaves) for members, level in pairs])

    def moved(self, weights: Floats, share: float) -> Dense:
        """The same tree with this share of the devices in some leaves; inside and outside they spread as they do."""
        other, inside = copy(self), float(weights @ self.leaves)
        other.leaves = self.leaves * np.where(weights > 0, share / inside, (1 - share) / (1 - inside))
        return other

    def more(self, times: int) -> None:
        """So many times as many reports of each level."""
        self.levels = [level._replace(reports=level.reports * times) for level in self.levels]
        self._inverse = self._inverse / times

    def variance(self, weights: Floats) -> tuple[float, float]:
        """Of a sum over the leaves: in all, and of what devices are."""
        whole, kept = 0.0, 0.0
        for members, level in zip(self.members, self.levels, strict=True):
            own = weights @ (self._inverse @ members.T / level.variance)
            shares = members @ self.leaves
            square = np.zeros((len(own), len(own)))
            for node, share in enumerate(shares):
                both = np.full(square.shape, level.two_others)
                both[node] = both[:, node] = level.own_and_other
                np.fill_diagonal(both, level.q)
                both[node, node] = level.p
                square += share * both
            mean = level.q + (level.p - level.q) * shares
            rate = (level.p - level.q) ** 2 * level.reports
            whole += float(own @ (square - np.outer(mean, mean)) @ own + GRAIN * own @ own / level.reports) / rate
            kept += float(shares @ own**2 - (shares @ own) ** 2) / level.reports
        return whole, kept


@pytest.fixture(
    params=[(name, how) for name in TREES for how in ("randomized_response", "subset_selection")], ids=str
)
def dense(request: pytest.FixtureRequest) -> Dense:
    """A tree, and how its levels are asked."""
    return Dense(*request.param)


def test_shares_are_those_of_generalised_least_squares(dense: Dense) -> None:
    """At every node, with children that add up to their parent and a first level that adds up to 1."""
    fit = Fit(dense.tree, dense.levels)
    for members, shares in zip(dense.members, fit.shares, strict=True):
        assert shares == pytest.approx(members @ dense.found, abs=1e-12)
    assert fit.reports == sum(level.reports for level in dense.levels)


def test_what_is_told_without_noise_comes_back(dense: Dense) -> None:
    """No reading is biased: the weights of what is true make what is true."""
    assert dense.true().shares[-1] == pytest.approx(dense.leaves, abs=1e-12)


def test_variances_are_those_of_the_exact_covariance(dense: Dense) -> None:
    """Of nodes of every level, of all leaves before each of some, and of sums with any weights."""
    fit, size = dense.true(), dense.tree.sizes[-1]
    for level, members in enumerate(dense.members):
        expected = [dense.variance(own) for own in members]
        _assert_same(fit.nodes(level, np.arange(len(members))), expected)
    before = np.tril(np.ones((size, size)), -1)
    expected = [dense.variance(own) for own in before]
    _assert_same(fit.below(np.arange(size)), expected)
    weights = np.random.default_rng(3).normal(size=(size, 4))
    expected = [dense.variance(own) for own in weights.T]
    _assert_same(fit.weighted(weights), expected)


def test_ends_are_where_the_estimate_is_so_many_exact_errors_away(dense: Dense) -> None:
    """Errors of the share that is believed there, of as many devices inside and outside as it says, spread as they
    are; of nodes, of all leaves before one, and of sums over some leaves. So many reports that how they spread is
    known, and so many errors that ends are far off."""
    reach, size, times = 2e4, dense.tree.sizes[-1], 10**8
    dense.more(times)
    fit = dense.true()
    some = (np.random.default_rng(5).random((size, 3)) < 0.5).astype(np.float64)
    asked = [(fit.nodes(level, np.arange(len(members))), members) for level, members in enumerate(dense.members)]
    asked += [(fit.below(np.arange(1, size)), np.tril(np.ones((size, size)), -1)[1:]), (fit.weighted(some), some.T)]
    looked = 0
    for spread, readings in asked:
        for value, weights, *ends in zip(spread.values, readings, *spread.ends(reach), strict=True):
            if not 0.05 < value < 0.95:
                continue
            for end in ends:
                looked += 1
                assert abs(end - value) > 0.01
                moved = dense.moved(weights, end).variance(weights)[0]
                assert abs(end - value) == pytest.approx(reach * math.sqrt(moved), rel=0.02)
    assert looked >= 4


def _assert_same(found: Spread, expected: list[tuple[float, float]]) -> None:
    variances, kept = zip(*expected, strict=True)
    assert found.variances == pytest.approx(variances, rel=1e-9, abs=1e-15)
    assert found.kept == pytest.approx(kept, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("name", ["two leaves", "halves", "halves and thirds"])
def test_a_regular_tree_is_read_as_any_other(name: str) -> None:
    """By the numbers of its levels, and node by node: values, variances, ends and rough errors are the same."""
    dense = Dense(name, "subset_selection")
    plain, other = Fit(dense.tree, dense.levels), Fit(Tree(dense.tree.parents), dense.levels)
    other.tree.__dict__["regular"] = False
    assert dense.tree.regular
    assert plain.rough() == pytest.approx(other.rough(), rel=1e-12)
    places = [np.arange(size) for size in dense.tree.sizes]
    pairs = [(plain.nodes(*each), other.nodes(*each)) for each in enumerate(places)]
    pairs.append((plain.below(places[-1][1:]), other.below(places[-1][1:])))
    for one, two in pairs:
        assert one.values == pytest.approx(two.values, abs=1e-15)
        assert one.variances == pytest.approx(two.variances, rel=1e-12)
        assert np.stack(one.ends(1.96)) == pytest.approx(np.stack(two.ends(1.96)), rel=1e-12, abs=1e-15)


def test_a_tree_is_regular_where_all_nodes_of_a_level_have_as_many_children() -> None:
    """So many as another level's or not."""
    trees = {name: Tree(tuple(np.array(own, dtype=np.intp) for own in parents)) for name, parents in TREES.items()}
    assert [name for name, tree in trees.items() if tree.regular] == ["two leaves", "halves", "halves and thirds"]


def test_a_level_that_nobody_has_answered_says_nothing() -> None:
    """The others are what they would be without it, and what it alone could tell is as good as unknown."""
    dense = Dense("halves", "subset_selection")
    empty = dense.levels[-1]._replace(reports=0, values=np.zeros(8))
    fit = Fit(dense.tree, [*dense.levels[:-1], empty])
    shorter = Fit(Tree(dense.tree.parents[:-1]), dense.levels[:-1])
    assert fit.shares[1] == pytest.approx(shorter.shares[1], abs=1e-6)
    assert fit.nodes(1, np.arange(4)).variances == pytest.approx(shorter.nodes(1, np.arange(4)).variances, rel=1e-6)
    assert fit.nodes(2, np.arange(8)).variances.min() > 1e6
