"""Epsilon: numbers as they are written, logarithms exactly, and an exponential that never promises too much.

The judge is `Decimal.exp` with 200 digits, which rounds correctly: it and the code share nothing.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deniable.epsilon import Epsilon, exp_lower, rational

PRECISE = Context(prec=200)
HALF_A_DIGIT = Fraction(1, 10**199)


def exp_below(exponent: Fraction) -> Fraction:
    """A rational at most e^exponent, for an exponent that 200 digits hold."""
    decimal = PRECISE.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    assert Fraction(decimal) == exponent, "the judge needs an exact argument"
    return Fraction(PRECISE.exp(decimal)) * (1 - HALF_A_DIGIT)


@given(st.integers(1, 100 * 10**12))
def test_the_exponential_is_bounded_from_below_as_closely_as_promised(trillionths: int) -> None:
    """exp_lower is at most e^x and within one part in 2^240 of it, anywhere up to 64."""
    exponent = Fraction(trillionths, 10**12)
    true = exp_below(exponent)
    assert exp_lower(exponent) <= true
    assert exp_lower(exponent) >= true * (1 - Fraction(1, 1 << 240))


def test_the_exponential_of_zero_is_one() -> None:
    """e^0 is exact."""
    assert exp_lower(Fraction(0)) == 1


def test_the_exponential_takes_no_negative_exponent() -> None:
    """Its series would no longer be rounded to the safe side."""
    with pytest.raises(ValueError, match="no negative"):
        exp_lower(Fraction(-1, 10))


@given(st.integers(0, 10**15), st.integers(1, 10**15))
def test_more_epsilon_never_buys_a_smaller_ratio(low: int, more: int) -> None:
    """exp_lower never falls, however close two exponents are."""
    unit = Fraction(32, 2 * 10**15)
    assert exp_lower(low * unit) <= exp_lower((low + more) * unit)


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        (1, Fraction(1)),
        (0.1, Fraction(1, 10)),
        (1e-5, Fraction(1, 100_000)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Decimal("1e1"), Fraction(10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (-2.5, Fraction(-5, 2)),
        (Decimal("0e999999999"), Fraction(0)),
    ],
)
def test_a_number_is_what_was_written(written: float | Decimal | Fraction, exact: Fraction) -> None:
    """0.1 is a tenth and not the double next to it; formatting does not count."""
    assert rational(written) == exact


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("-Infinity"), Decimal("NaN")])
def test_what_is_not_finite_is_no_number(value: float | Decimal) -> None:
    """NaN and the infinities are refused by name."""
    with pytest.raises(ValueError, match="must be finite, not"):
        rational(value)


@pytest.mark.parametrize(
    "value", [Decimal("1e300"), Decimal("-1e999999999"), Decimal("1e-300"), 10**300, 1.5e307, 5e-324]
)
def test_numbers_beyond_any_use_are_refused_before_they_cost_anything(value: float | Decimal) -> None:
    """1e999999999 in a file would otherwise become a billion digits, and 1e400 a float that overflows."""
    with pytest.raises(ValueError, match="must lie between 1e-300 and 1e300"):
        rational(value)


@pytest.mark.parametrize("value", [True, False])
def test_a_truth_value_is_no_number(value: bool) -> None:
    """True is not 1 here."""
    with pytest.raises(TypeError, match="truth value"):
        rational(value)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        (Decimal("1.00"), "1"),
        (Decimal("0.50"), "0.5"),
        (10.0, "10"),
        (Fraction(1, 3), "1/3"),
        ("ln 3", "ln 3"),
        ("ln(3)", "ln 3"),
        (" ln ( 3.0 ) ", "ln 3"),
        ("ln 3/2", "ln 3/2"),
        ("ln(1.5)", "ln 3/2"),
    ],
)
def test_one_epsilon_has_one_text(written: float | Decimal | Fraction | str, text: str) -> None:
    """However it is written, the text (which goes into the digest) is the same, and equal ones are equal."""
    epsilon = Epsilon.of(written)
    assert str(epsilon) == epsilon.text == text
    assert epsilon == Epsilon.of(written)


def test_an_epsilon_stays_what_it_is() -> None:
    """Epsilon.of takes what is one already."""
    epsilon = Epsilon.of("ln 3")
    assert Epsilon.of(epsilon) is epsilon


@given(st.integers(1, 32 * 10**6))
def test_the_ratio_of_a_number_never_exceeds_its_exponential(millionths: int) -> None:
    """For a number, exp is below e^value, by less than anybody could measure; the float is the nearest one."""
    epsilon = Epsilon.of(Fraction(millionths, 10**6))
    assert epsilon.value == Fraction(millionths, 10**6)
    assert epsilon.exp <= exp_below(epsilon.value) < epsilon.exp * (1 + Fraction(1, 1 << 239))
    assert float(epsilon) == millionths / 10**6


@pytest.mark.parametrize(
    ("text", "odds"),
    [("ln 2", 2), ("ln 3", 3), ("ln 3/2", Fraction(3, 2)), ("ln 2.25", Fraction(9, 4)), ("ln 20000", 20000)],
)
def test_a_logarithm_is_exact_and_charged_in_full(text: str, odds: Fraction) -> None:
    """The ratio is the number itself; the cost is its logarithm, rounded up by less than 1e-12."""
    epsilon = Epsilon.of(text)
    assert epsilon.exp == odds
    assert exp_below(epsilon.value) >= odds
    assert exp_below(epsilon.value - Fraction(1, 10**12)) < odds


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_the_floor_of_a_logarithm_is_paid_for_by_its_ratio(more: int, denominator: int) -> None:
    """The cost is rounded up, the floor down: what is built from the floor keeps the exact ratio, however divided."""
    odds = 1 + Fraction(more, denominator)
    assume(Fraction(1, 10**5) < odds - 1 < 10**9)
    epsilon = Epsilon.of(f"ln {odds}")
    assert epsilon.exp == odds
    assert exp_below(epsilon.floor) < odds < exp_below(epsilon.value) * (1 + Fraction(1, 1 << 239))
    assert epsilon.value - epsilon.floor == Fraction(1, 10**12)
    assert epsilon.part(7).value * 7 == epsilon.floor


def test_two_logarithms_of_one_number_cost_the_same() -> None:
    """ln 1.5 and ln 3/2 are one epsilon, and ln 3 is less than 1.1."""
    assert Epsilon.of("ln 1.5") == Epsilon.of("ln 3/2")
    assert Epsilon.of("ln 3").value < Epsilon.of(1.1).value


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        (0, "greater than 0"),
        (-1, "greater than 0, not -1"),
        (Decimal("-0.5"), "greater than 0, not -0.5"),
        ("ln 1", "greater than 0"),
        ("ln 0.5", "greater than 0"),
        (Decimal("0.0000001"), "at least 1e-06, not 1e-07"),
        ("ln 1.0000000001", "at least 1e-06"),
        (Decimal("32.000001"), "at most 32"),
        (Decimal("1e299"), "at most 32"),
        ("ln 100000000000000", "at most 32, not ln 100000000000000"),
        ("three", 'such as "ln 3"'),
        ("1.0", 'such as "ln 3"'),
        ("ln", 'such as "ln 3"'),
        ("ln -3", 'such as "ln 3"'),
        ("ln (3", 'such as "ln 3"'),
        ("ln 3)", 'such as "ln 3"'),
        ("ln 3/0", 'such as "ln 3"'),
        ("ln 3.5/2", 'such as "ln 3"'),
        ("log 3", 'such as "ln 3"'),
        ("", 'such as "ln 3"'),
    ],
)
def test_what_is_no_epsilon_is_refused_with_the_reason(written: float | Decimal | str, complaint: str) -> None:
    """Nothing, too little, too much and what does not parse: a ValueError that says which."""
    with pytest.raises(ValueError, match=re.escape(complaint)):
        Epsilon.of(written)


@pytest.mark.parametrize("written", [Fraction(1, 10**6), 32])
def test_the_ends_of_what_is_taken_are_taken(written: Fraction | int) -> None:
    """The least and the largest epsilon are epsilons."""
    assert Epsilon.of(written).value == written


@pytest.mark.parametrize("exp", [Fraction(1), Fraction(272, 100), Fraction(3)])
def test_no_epsilon_can_be_made_whose_ratio_it_does_not_pay_for(exp: Fraction) -> None:
    """Built by hand with a ratio above e^1, or with none at all, it is refused: e is 2.71828."""
    with pytest.raises(ValueError, match="does not pay"):
        Epsilon(Fraction(1), exp, "1")


@given(st.integers(1, 320), st.integers(1, 64))
def test_equal_parts_add_up(tenths: int, parts: int) -> None:
    """What is split over several columns costs, together, what it cost before."""
    whole = Epsilon.of(Fraction(tenths, 10))
    assert whole.floor == whole.value
    assert whole.part(parts).value * parts == whole.value


def test_the_only_part_of_a_logarithm_is_itself() -> None:
    """One part loses nothing, not even the exact ratio."""
    assert Epsilon.of("ln 3").part(1).exp == 3
