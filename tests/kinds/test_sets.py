"""Set: some of a list of values, of which a device names one that it draws."""

from __future__ import annotations

from collections import Counter

import pytest
from scipy import stats

from deniable import randomness
from deniable.errors import InvalidValueError
from deniable.kinds import Set
from deniable.mechanisms import PadAndSample, fitting
from support.asked import ONCE, asked, refused

SIX = 'values = ["a", "b", "c", "d", "e", "f"]\n'


def test_a_set_fills_slots() -> None:
    """The input is the set of its items' places, whatever the order in which they are given."""
    metric = asked("set", SIX + "max_items = 3\nepsilon = 1.0")
    (column,) = metric.columns
    mechanism = column.mechanism
    assert mechanism == PadAndSample(metric.epsilon, 6, 3)
    assert isinstance(mechanism, PadAndSample)
    for value in ({"e", "b"}, ["e", "b", "e"], ("b", "e")):
        checked = metric.kind.check(value)
        assert checked == ["b", "e"]
        assert metric.encode(checked, lambda: 0) == (column, mechanism.encode([1, 4]))
    assert mechanism.slots(metric.encode([], lambda: 0)[1]) == [6, 7, 8]
    assert metric.kind.apart() == (["a", "b", "c"], [])


def test_of_too_many_items_a_random_choice_is_kept() -> None:
    """Each of the 20 choices of 3 out of 6 is equally likely: chi-square, one false alarm in a million runs.

    A choice that keeps the first items twice as often as the last is seen with a probability of more than 0.999.
    """
    kind = asked("set", SIX + "max_items = 3\nepsilon = 1.0").kind
    mechanism = PadAndSample(asked("set", SIX + "max_items = 3\nepsilon = 1.0").epsilon, 6, 3)
    kept: Counter[tuple[int, ...]] = Counter()
    for _ in range(4000):
        _, chosen = kind.encode(list("abcdef"), [mechanism], randomness.word)
        kept[tuple(mechanism.slots(chosen))] += 1
    assert len(kept) == 20
    assert stats.chisquare(list(kept.values())).pvalue > 1e-6


@pytest.mark.parametrize("name", fitting(6 + 2))
def test_a_mechanism_is_honoured_by_name(name: str) -> None:
    """It asks for the drawn item."""
    mechanism = asked("set", SIX + f'max_items = 2\nepsilon = 1.0\nmechanism = "{name}"').columns[0].mechanism
    assert isinstance(mechanism, PadAndSample)
    assert mechanism.inner.name == name
    assert name in Set.mechanisms


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("abc", "takes a set of values of this set, not 'abc'"),
        (["a", "B"], r"not one of the 6 values of this set: 'B'; did you mean 'b'\?"),
        ([1], "not one of the 6 values of this set: 1"),
    ],
)
def test_other_values_are_not_taken(value: object, says: str) -> None:
    """Nor is a text taken for the set of its letters."""
    with pytest.raises(InvalidValueError, match=says):
        asked("set", SIX + "max_items = 3\nepsilon = 1.0").kind.check(value)


def test_what_can_not_be_asked() -> None:
    """No limit, one beyond the values, none of the values, points that are remembered."""
    assert refused("set", SIX + "epsilon = 1.0") == ["one.max_items: missing, such as max_items = 2"]
    assert refused("set", SIX + "max_items = 7\nepsilon = 1.0") == [
        "one.max_items: must be a whole number from 1 to 6, not 7"
    ]
    assert refused("set", SIX + "max_items = 0\nepsilon = 1.0") == [
        "one.max_items: must be a whole number from 1 to 6, not 0"
    ]
    assert refused("set", "max_items = 2\nepsilon = 1.0") == [
        'one.values: missing, such as values = ["light", "dark"]'
    ]
    points = 'max_items = 2\nepsilon = 1.0\nmemoize = true\nmechanism = "projective_geometry"'
    assert refused("set", SIX + points) == [f"one: a set by projective_geometry {ONCE}"]
    with pytest.raises(ValueError, match="of 2 values a set has 1 to 2"):
        Set(("a", "b"), 3)


def test_a_large_list_is_asked_in_one_row() -> None:
    """1,000 values, up to 10 of them: a symbol, and an input that a memo can name."""
    names = [f"v{number}" for number in range(1000)]
    metric = asked("set", f"values = {names}\nmax_items = 10\nepsilon = 1.0")
    report = metric.randomize(names[::100])
    assert not metric.columns[0].shape.wide
    assert report.payload < 1 << 48
