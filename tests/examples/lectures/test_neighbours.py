"""Sensitivities of the lectures, under both definitions of neighbours."""

from __future__ import annotations

import pytest

from deniable_aggregator.accounting import Neighbours
from examples.lectures import neighbours

ADDED, REPLACED = Neighbours.ADDED, Neighbours.REPLACED


@pytest.mark.parametrize(
    ("name", "added", "replaced"),
    [
        ("how many have cancer", 1, 1),
        ("the mean of 5 bits", 0.2, 0.2),
        ("4 disjoint buckets", 1, 2),
        ("a sum of values in [3, 5]", 5, 2),
        ("a sum of heights up to 7 feet", 7, 7),
        ("a sum of salaries up to 50,000, in groups of 4", 200_000, 200_000),
        ("naive Bayes of 5 features", 5, 10),
    ],
)
def test_sensitivities(name: str, added: float, replaced: float) -> None:
    """Golden: 7; 200,000; a sum of values between 3 and 5: 5 and 2; five features: 5, and 10 for a device."""
    assert neighbours.found(name, ADDED) == pytest.approx(added)
    assert neighbours.found(name, REPLACED) == pytest.approx(replaced)


def test_noise_of_naive_bayes_is_the_same_by_both_routes() -> None:
    """Golden: 50 at epsilon .1, of all five features together and of each at epsilon/5."""
    together = neighbours.found("naive Bayes of 5 features", ADDED) / 0.1
    assert together == pytest.approx(50) == 1 / (0.1 / 5)


def test_buckets_with_noise_for_who_is_added_keep_twice_epsilon() -> None:
    """Of who has something else."""
    assert neighbours.worst_bucket_ratio(0.1) == pytest.approx(0.2)


def test_normal_noise_is_less_from_twelve_entries_on() -> None:
    """At a delta of 10^-5, by both variances: 2 k^2 and 2 k ln(1.25/delta)."""
    first = neighbours.normal_is_less_from(1e-5)
    assert first == 12
    for entries in (first - 1, first):
        laplace, normal = 2 * entries**2, 2 * 11.736 * entries
        assert (normal < laplace) == (entries == first)


def test_noise_that_is_sized_by_the_data_tells_of_it() -> None:
    """Two tables that differ in one row, by sums that either can have: no epsilon bounds it."""
    far = [neighbours.observed(seen) for seen in (10.0, 100.0, 1_000.0)]
    assert far == sorted(far)
    assert far[-1] > 900
