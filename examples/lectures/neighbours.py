"""How far one person moves what is computed: by search, for whoever is added, and for whoever has something else.

Noise is as large as one person can move a result. By how much that is depends on who is to be hidden: that somebody
is in the table at all, or what they have in it. A person in one of several buckets moves one count by being there,
and two by having something else. A sum of values between 3 and 5 is moved by 5 or by 2. A device's answer is always
of the second sort: that it answers is seen. Notes define the second and calibrate to the first: half of the noise
that it takes, and twice the epsilon. All of this is about what people could have, and not about what they have:
noise that is sized by the data tells of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from deniable_aggregator.accounting import Neighbours, moved
from deniable_aggregator.telling.terminal import table

from ._running import run

__all__ = [
    "FUNCTIONS",
    "SHOWS",
    "found",
    "joint_counts",
    "main",
    "normal_is_less_from",
    "observed",
    "worst_bucket_ratio",
]

SHOWS: tuple[str, ...] = ("B14", "C2", "C6", "C9", "E14")


class Computed(NamedTuple):
    """What is computed from a table of so many people, each of whom has one of some rows."""

    function: Callable[[np.ndarray], Any]
    domain: Sequence[Any]
    people: int


def buckets(rows: np.ndarray) -> np.ndarray:
    """How many are in each of four buckets."""
    return np.bincount(rows, minlength=4)


def in_groups(rows: np.ndarray) -> float:
    """A sum of salaries, of people of whom four always come together."""
    return float(4 * rows.sum())


def joint_counts(rows: np.ndarray) -> np.ndarray:
    """Counts of a class together with each of the features: what naive Bayes learns from."""
    counts = np.zeros((rows.shape[1] - 1, 2, 2))
    for own, *features in rows:
        for feature, value in enumerate(features):
            counts[feature, own, value] += 1
    return counts


def above_half(rows: np.ndarray) -> np.ndarray:
    """Which share is above each of five bounds."""
    return (rows[:, None] > np.arange(5) / 5).mean(axis=0) if len(rows) else np.zeros(5)


BITS = (0, 1)
FUNCTIONS = {
    "how many have cancer": Computed(np.sum, BITS, 5),
    "the mean of 5 bits": Computed(np.mean, BITS, 5),
    "4 disjoint buckets": Computed(buckets, range(4), 4),
    "a sum of values in [3, 5]": Computed(np.sum, (3.0, 4.0, 5.0), 4),
    "a sum of heights up to 7 feet": Computed(np.sum, (0.0, 3.5, 7.0), 4),
    "a sum of salaries up to 50,000, in groups of 4": Computed(in_groups, (0.0, 25_000.0, 50_000.0), 3),
    "naive Bayes of 5 features": Computed(joint_counts, tuple(itertools.product(BITS, repeat=6)), 2),
    "the median of 5 heights": Computed(np.median, (0.0, 3.5, 7.0), 5),
    "5 shares of 4 people": Computed(above_half, (0.1, 0.5, 0.9), 4),
}
"""Those of the notes, and two of which nobody knows it by heart."""


@lru_cache(maxsize=64)
def found(name: str, neighbours: Neighbours, norm: float = 1) -> float:
    """How far one person moves it, over all tables."""
    own = FUNCTIONS[name]
    move = moved(own.function, own.domain, own.people, neighbours, norm)
    assert move.whole
    return move.distance


def worst_bucket_ratio(epsilon: float) -> float:
    """The epsilon that two buckets really keep with noise of scale 1/epsilon, where somebody is replaced."""
    return found("4 disjoint buckets", Neighbours.REPLACED) * epsilon


def normal_is_less_from(delta: float) -> int:
    """The number of entries, each of which moves by 1, from which on normal noise by the root of their number is less
    than Laplace's noise by their number, at the same epsilon: their variances, 2 k^2 and 2 ln(1.25/delta) k."""
    return math.ceil(math.log(1.25 / delta))


def observed(seen: float, epsilon: float = 1.0) -> float:
    """The logarithm of the ratio by which a sum that is `seen` tells (0, 0, 1) from (0, 0, 50), where the scale of
    Laplace's noise is the greatest value that there is, over epsilon: it has no bound."""
    small, large = 1 / epsilon, 50 / epsilon
    return math.log(small / large) + abs(seen - 1) / small - abs(seen - 50) / large


def told() -> str:
    """How far one person moves each, in both senses."""
    rows = [(name, *(f"{found(name, own, norm):,.4g}" for own, norm in _ASKED)) for name in FUNCTIONS]
    header = ("what is computed", "added, l1", "replaced, l1", "replaced, l2")
    wrong = [(f"{epsilon:g}", f"{worst_bucket_ratio(epsilon):g}") for epsilon in (0.1, 1.0)]
    return "\n".join(
        [
            table(header, rows, (False, True, True, True)),
            "",
            "Buckets with noise of scale 1/epsilon, as for who is added, where somebody has something else:",
            table(("epsilon said", "epsilon kept"), wrong, (True, True)),
            "",
            "k entries that each move by 1 are k apart by l1, and sqrt k by l2:",
            f"at delta 10^-5 normal noise is less from k = {normal_is_less_from(1e-5)} on.",
            "",
            "A sum with noise of the greatest value that there is, at epsilon 1: (0, 0, 1) is told from (0, 0, 50)",
            table(
                ("seen", "epsilon kept"), [(f"{seen:,}", f"{observed(seen):,.1f}") for seen in _SEEN], (True, True)
            ),
        ]
    )


_SEEN = (10, 50, 200)
_ASKED = ((Neighbours.ADDED, 1.0), (Neighbours.REPLACED, 1.0), (Neighbours.REPLACED, 2.0))


def main(arguments: list[str]) -> int:
    """Print the figures."""
    return run(arguments, told)
