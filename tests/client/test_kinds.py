"""The three first kinds: the values they take, those they refuse and how they say so, and what they make of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.collection.reduce import REDUCERS
from deniable.epsilon import Epsilon
from deniable.errors import InvalidValueError
from deniable.kinds import KINDS, Boolean, Category, Number
from deniable.kinds._kind import Kind
from deniable.mechanisms import Laplace, RandomizedResponse
from deniable.randomness import WORD

ONE = Epsilon.of(1)
BROWSER = Category(("chrome", "Edge", "firefox"))
MINUTES = Number(Fraction(0), Fraction(480), Fraction(1))
TENTHS = Number(Fraction(-1), Fraction(1), Fraction(1, 10))


def no_chance() -> int:
    """For a kind that leaves nothing to chance."""
    raise AssertionError("drew a word")


def words(*given_: int) -> Callable[[], int]:
    """These words and no more."""
    return iter(given_).__next__


def place(kind: Number, value: float, word: int) -> int:
    """The grid point of a value when this is the random word."""
    column, chosen = kind.encode(kind.check(value), kind.columns(ONE, "laplace"), words(word))
    assert column == 0
    return chosen


def test_kinds_are_found_by_the_name_in_the_file() -> None:
    """And every reducer that one names exists; the first is the default."""
    for name, kind in KINDS.items():
        assert kind.name == name
        assert kind.reducers
        assert set(kind.reducers) <= REDUCERS.keys()


@pytest.mark.parametrize(
    ("kind", "value", "checked"),
    [
        (Boolean(), True, True),
        (Boolean(), False, False),
        (BROWSER, "Edge", "Edge"),
        (MINUTES, 3, 3.0),
        (MINUTES, 2.5, 2.5),
        (MINUTES, -1e300, -1e300),
        (MINUTES, 10**299, 1e299),
    ],
)
def test_a_value_that_is_taken_becomes_plain_json(kind: Kind, value: Any, checked: Any) -> None:
    """The value itself, in one type a kind."""
    assert kind.check(value) == checked
    assert type(kind.check(value)) is type(checked)


@pytest.mark.parametrize(
    ("kind", "value", "complaint"),
    [
        (Boolean(), 1, "True or False, not 1"),
        (Boolean(), 0, "True or False, not 0"),
        (Boolean(), None, "True or False, not None"),
        (Boolean(), "yes", "True or False, not 'yes'"),
        (BROWSER, "chrom", "'chrom'; did you mean 'chrome'"),
        (BROWSER, "EDGE", "'EDGE'; did you mean 'Edge'"),
        (Category(("USA", "UK")), "usa", "'usa'; did you mean 'USA'"),
        (BROWSER, "lynx", "one of the 3 values of this category: 'lynx'"),
        (BROWSER, 1, "one of the 3 values"),
        (BROWSER, None, "one of the 3 values"),
        (BROWSER, ["chrome"], "one of the 3 values"),
        (MINUTES, True, "finite int or float, not True"),
        (MINUTES, "3", "finite int or float, not '3'"),
        (MINUTES, None, "finite int or float, not None"),
        (MINUTES, float("nan"), "not nan"),
        (MINUTES, float("inf"), "not inf"),
        (MINUTES, -float("inf"), "not -inf"),
        (MINUTES, 1.5e300, "finite int or float"),
        (MINUTES, 10**400, "finite int or float"),
        (MINUTES, Fraction(1, 2), "finite int or float"),
    ],
)
def test_a_value_that_is_not_taken_is_refused_by_name(kind: Kind, value: Any, complaint: str) -> None:
    """An InvalidValueError says what is taken, and the nearest value where one was misspelt."""
    with pytest.raises(InvalidValueError) as refusal:
        kind.check(value)
    assert complaint in str(refusal.value)


def test_a_boolean_is_one_symbol_of_two() -> None:
    """0 is no, 1 is yes, by randomized response at the whole epsilon; nothing is left to chance before."""
    kind = Boolean()
    columns = kind.columns(ONE, "auto")
    assert columns == (RandomizedResponse(ONE, 2),)
    assert [kind.encode(value, columns, no_chance) for value in (False, True)] == [(0, 0), (0, 1)]
    assert kind.parameters() == {}


def test_a_category_counts_its_values_in_their_order() -> None:
    """The input is the place of the value."""
    columns = BROWSER.columns(ONE, "auto")
    assert columns[0].inputs == 3
    assert [BROWSER.encode(value, columns, no_chance) for value in BROWSER.values] == [(0, 0), (0, 1), (0, 2)]
    assert BROWSER.parameters() == {"values": ["chrome", "Edge", "firefox"]}


def test_a_number_is_a_place_on_its_grid() -> None:
    """Laplace noise over the grid's steps; what lies outside the range counts as its nearest end."""
    assert MINUTES.columns(ONE, "laplace") == (Laplace(ONE, 480),)
    assert TENTHS.steps == 20
    places = [(-5.0, 0), (-1.0, 0), (0.0, 10), (1.0, 20), (1e300, 20)]
    for word in (0, WORD - 1):
        assert [place(TENTHS, value, word) for value, _ in places] == [point for _, point in places]


@pytest.mark.parametrize(("value", "share"), [(0.25, 1), (0.5, 2), (0.75, 3)])
def test_between_two_grid_points_chance_decides_so_that_the_mean_is_exact(value: float, share: int) -> None:
    """A quarter of the way up, a quarter of all words goes up: those below a quarter of 2^64."""
    limit = share * WORD // 4
    assert [place(MINUTES, 7 + value, word) for word in (0, limit - 1, limit, WORD - 1)] == [8, 8, 7, 7]


@given(st.floats(-2, 2), st.integers(0, WORD - 1))
def test_a_value_goes_to_one_of_its_neighbours(value: float, word: int) -> None:
    """Never farther than a step, always on the grid, and always for one word."""
    point = place(TENTHS, value, word)
    exact = min(max(value, -1.0), 1.0) * 10 + 10
    assert 0 <= point <= 20
    assert abs(point - exact) < 1 + 1e-9


@given(st.integers(0, 480))
def test_a_grid_point_stays_where_it_is(point: int) -> None:
    """Whole minutes are not moved, whatever the word."""
    assert place(MINUTES, point, 0) == place(MINUTES, point, WORD - 1) == point


@pytest.mark.parametrize(
    ("low", "high", "step", "complaint"),
    [
        (3, 3, 1, "must go up: 3 is not below 3"),
        (480, 0, 1, "must go up: 480 is not below 0"),
        (0, 1, 0, "a step must be greater than 0, not 0"),
        (0, 1, -1, "a step must be greater than 0, not -1"),
        (0, 1, 2, "a step of 2 does not divide the range from 0 to 1"),
        (0, 1, Fraction(3, 10), "a step of 0.3 does not divide the range from 0 to 1"),
        (0, 1 << 21, 1, "has 2097152 steps; at most 1048576 are possible"),
    ],
)
def test_a_grid_that_is_none_is_refused(low: int, high: int, step: Fraction, complaint: str) -> None:
    """Upside down, without a step, with one that does not fit, and with more points than can be counted."""
    with pytest.raises(ValueError, match=complaint):
        Number(Fraction(low), Fraction(high), Fraction(step))


def test_the_same_grid_has_the_same_parameters() -> None:
    """Exact, in plain JSON: what the digest is made of."""
    assert TENTHS.parameters() == {"range": ["-1", "1"], "step": "1/10", "unit": ""}
    assert Number(Fraction("-1.0"), Fraction("1e0"), Fraction("0.10")) == TENTHS
