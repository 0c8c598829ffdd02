"""How many devices a distribution takes: the exact error of its curve, for docs/distribution-accuracy.md.

`.venv/bin/python -m tools.curve_accuracy` prints the tables. Errors are n times the mean squared error of what the
aggregator makes of n reports, of which each level has its share, where as many devices are in each bucket:
noise, which devices have drawn which level, and which devices the population has sent are all in it.

words:
  curve    of a boundary of buckets, on average over all but the ends of the range
  range    of the share between two different boundaries, on average over all pairs
  parts    into how many each node splits; the product has halves
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from deniable.epsilon import Epsilon
from deniable.kinds import Distribution, _levels
from deniable.mechanisms import Mechanism
from deniable_aggregator.answers.distribution import tree_of
from deniable_aggregator.estimators import Tree, expected

__all__ = ["Errors", "asked", "errors", "parts"]

MANY = 1 << 50
BUCKETS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
EPSILONS = ("0.5", "1", "2", "4")
HALVES = 2
"""The parts that the product has."""


class Errors(NamedTuple):
    """n times the mean squared errors."""

    curve: float
    range: float


def asked(buckets: int, epsilon: Epsilon) -> tuple[Tree, tuple[Mechanism, ...], list[float]]:
    """As a collection asks: the tree, what each level is asked by, and its share."""
    kind = Distribution(Fraction(0), Fraction(buckets), buckets)
    columns = kind.columns(epsilon, "auto")
    return tree_of(kind), columns, kind.allotment(columns)


def parts(buckets: int, each: int, epsilon: Epsilon) -> tuple[Tree, tuple[Mechanism, ...]]:
    """A tree of which each node splits into as many parts."""
    sizes = [each]
    while sizes[-1] < buckets:
        sizes.append(sizes[-1] * each)
    tree = Tree(
        tuple(np.arange(size) // each if level else np.zeros(each, np.intp) for level, size in enumerate(sizes))
    )
    return tree, _levels.asked(epsilon, sizes, "auto")


def errors(tree: Tree, columns: Sequence[Mechanism], shares: Sequence[float]) -> Errors:
    """Exactly, by the covariance that intervals are made of."""
    fit, size = expected(columns, tree, shares, MANY), tree.sizes[-1]
    boundaries = MANY * fit.below(np.arange(1, size)).variances
    # Of m boundaries, two drawn apart: the mean of Var(F(i) - F(j)) is 2 (mean Var F - Var mean F) m / (m - 1).
    count = size + 1
    mean = (size - np.arange(size, dtype=np.float64))[:, np.newaxis] / count
    both = 2 * (boundaries.sum() / count - MANY * float(fit.weighted(mean).variances[0]))
    return Errors(float(boundaries.mean()), both * count / (count - 1))


def best(
    tree: Tree, columns: Sequence[Mechanism], of: Callable[[Errors], float], start: Sequence[float] = ()
) -> Errors:
    """At the allotment of the least error of a sort, as a general search finds it from some allotment on."""

    def shares(logs: np.ndarray) -> list[float]:
        weights = np.exp(logs - logs.max())
        found: list[float] = (weights / weights.sum()).tolist()
        return found

    search: Any = minimize
    found = search(
        lambda logs: of(errors(tree, columns, shares(logs))),
        np.log(start) if start else np.zeros(len(columns)),
        method="Nelder-Mead",
        options={"maxiter": 60 * len(columns), "fatol": 1e-3},
    )
    return errors(tree, columns, shares(found.x))


def main() -> None:
    """Print the tables."""
    one = Epsilon.of(1)
    print("| buckets | curve, epsilon 0.5 | 1 | 2 | 4 | range at 1 | least range at 1 |")
    print("|---|---|---|---|---|---|---|")
    for buckets in BUCKETS:
        own = [errors(*asked(buckets, Epsilon.of(Fraction(epsilon)))) for epsilon in EPSILONS]
        tree, columns, shares = asked(buckets, one)
        least = best(tree, columns, lambda found: found.range, shares).range
        curves = " | ".join(f"{found.curve:.1f}" for found in own)
        print(f"| {buckets:,} | {curves} | {own[1].range:.1f} | {least:.1f} |")
    print("\n| buckets | parts | curve | range |\n|---|---|---|---|")
    for buckets, each in ((256, 2), (256, 4), (256, 16), (4096, 2), (4096, 4), (4096, 8), (4096, 16)):
        tree, columns = parts(buckets, each, one)
        start = asked(buckets, one)[2] if each == HALVES else ()  # of a dozen shares a search gets stuck elsewhere
        print(f"| {buckets:,} | {each} | {best(tree, columns, lambda found: found.curve, start).curve:.1f} | "
              f"{best(tree, columns, lambda found: found.range, start).range:.1f} |")  # fmt: skip


if __name__ == "__main__":
    main()
