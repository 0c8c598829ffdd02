"""A distribution: which bucket a value is in, which level a device draws, and that no value shows in the draw."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from deniable.epsilon import Epsilon
from deniable.kinds import Distribution
from deniable.randomness import WORD
from support.asked import LINKABLE, ONCE, asked, refused

LOAD = "range = [0, 100]\nbuckets = 10\nepsilon = 1"
SIZES = [2, 3, 4, 5, 10, 64, 100, 1000, 4096]


def tree(buckets: int) -> Distribution:
    """Buckets of width 1."""
    return Distribution(Fraction(0), Fraction(buckets), buckets)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ("buckets = 10\nepsilon = 1", "one.range: missing, such as range = [0, 480]"),
        ("range = [0, 1]\nepsilon = 1", "one.buckets: missing, such as buckets = 64"),
        ("range = [1, 0]\nbuckets = 4\nepsilon = 1", "one.range: must go up: 1 is not below 0"),
        ("range = [0, 1]\nbuckets = 1\nepsilon = 1", "one.buckets: must be a whole number from 2 to 4096, not 1"),
        (
            "range = [0, 1]\nbuckets = 5000\nepsilon = 1",
            "one.buckets: must be a whole number from 2 to 4096, not 5000",
        ),
        ("range = 3\nbuckets = 4\nepsilon = 1", "one.range: must be a list of two numbers such as [0, 480], not 3"),
        (f"{LOAD}\nmemoize = true", f"one: a drawn level {ONCE}"),
    ],
)
def test_what_can_not_be_asked_is_said(more: str, complaint: str) -> None:
    """Key by key."""
    assert refused("distribution", more) == [complaint]


@pytest.mark.parametrize(
    ("value", "bucket"), [(0, 0), (9.99, 0), (10, 1), (99.9, 9), (100, 9), (-7, 0), (1e300, 9), (-1e300, 0)]
)
def test_a_value_is_in_its_bucket_or_in_the_nearest(value: float, bucket: int) -> None:
    """A boundary belongs to the bucket above it."""
    kind = asked("distribution", LOAD).kind
    assert isinstance(kind, Distribution)
    assert kind.bucket(kind.check(value)) == bucket


@pytest.mark.parametrize("buckets", SIZES)
def test_each_level_splits_the_one_above(buckets: int) -> None:
    """Every bucket is in one node of each level, the nodes of a level follow each other, and none is empty."""
    kind = tree(buckets)
    assert kind.sizes[-1] == buckets
    assert all(after <= 2 * before for before, after in zip((1, *kind.sizes), kind.sizes, strict=False))
    for level, size in enumerate(kind.sizes):
        nodes = [kind.node(level, bucket) for bucket in range(buckets)]
        assert sorted(set(nodes)) == list(range(size))
        assert nodes == sorted(nodes)
        assert [nodes.index(node) for node in range(size)] == [kind.first(level, node) for node in range(size)]
        if level:
            above = [kind.node(level - 1, bucket) for bucket in range(buckets)]
            assert len(set(zip(nodes, above, strict=True))) == size
    assert kind.first(0, 2) == buckets


def test_levels_are_named_by_their_parts_of_the_range() -> None:
    """What a person is told, and a histogram's bars."""
    kind = tree(5)
    assert kind.names(0) == ("0 to 3", "3 to 5")
    assert kind.names(2) == ("0 to 1", "1 to 2", "2 to 3", "3 to 4", "4 to 5")


@pytest.mark.parametrize("buckets", SIZES)
def test_the_level_is_drawn_by_one_word_whatever_the_value(buckets: int) -> None:
    """Of 1,000 words each draws one level for all values, as often as the allotment says; the input is the node."""
    kind = tree(buckets)
    columns = kind.columns(Epsilon.of(1), "auto")
    words = [part * WORD // 1000 + 17 for part in range(1000)]
    drawn: Counter[int] = Counter()
    for word in words:
        levels = set()
        for bucket in {0, buckets // 3, buckets - 1}:
            taken = iter([word])
            level, node = kind.encode(float(bucket), columns, taken.__next__)
            assert node == kind.node(level, bucket)
            assert next(taken, None) is None
            levels.add(level)
        (level,) = levels
        drawn[level] += 1
    shares = kind.allotment(columns)
    assert [drawn[level] / 1000 for level in range(len(shares))] == pytest.approx(shares, abs=2e-3)


def test_an_allotment_is_the_same_on_every_machine() -> None:
    """Sums, products, quotients and roots alone: these figures to the last digit, wherever the test runs."""
    kind = tree(16)
    found = kind.allotment(kind.columns(Epsilon.of("ln 3"), "auto"))
    assert [share.hex() for share in found] == [
        "0x1.8740fa1ea0858p-4",
        "0x1.990c745fd9b0dp-3",
        "0x1.6f852d9933792p-3",
        "0x1.0cf3783de8a4ep-1",
    ]


@pytest.mark.parametrize("buckets", SIZES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 4, 8])
def test_every_level_is_asked_of_some(buckets: int, epsilon: int | Fraction) -> None:
    """No share is so small that a fleet would not draw the level."""
    kind = tree(buckets)
    assert min(kind.allotment(kind.columns(Epsilon.of(epsilon), "auto"))) > 1 / 300


def test_a_remembered_answer_is_of_one_level_for_life() -> None:
    """The words are the same every time, so that answers to one value do not add up over levels; to repeat them is
    called what it is."""
    metric = asked("distribution", f"{LOAD}\nmemoize = true\n{LINKABLE}")
    for word in (5, WORD // 2, WORD - 5):
        columns = {metric.encode(value, lambda word=word: word)[0].number for value in (0.0, 55.5, 100.0)}  # type: ignore[misc]
        assert len(columns) == 1
    assert metric.recalled == 8
