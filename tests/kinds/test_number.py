"""Number: which mechanism asks for it, what chance makes of a value, and what a device that remembers remembers."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable
from deniable.epsilon import Epsilon
from deniable.kinds import Number
from deniable.mechanisms import Hybrid, Laplace, Mechanism, Memoized, RandomizedResponse
from deniable.randomness import WORD
from support.asked import LINKABLE, ONCE, asked, refused
from support.waiting import PATIENCE

ONE = Epsilon.of(1)
MINUTES = Number(Fraction(0), Fraction(480), Fraction(1))
SIGNED = Number(Fraction(-1), Fraction(1), Fraction(1, 10))
KNOWN = ("one_bit", "hybrid", "laplace")
"""Those of which figures stand here; what holds for all is asked of all."""


def places(mechanism: Mechanism) -> list[float]:
    """Where on the range each input lies."""
    if isinstance(mechanism, Hybrid):
        return [float(place) for place in mechanism.places]
    return [value / (mechanism.inputs - 1) for value in range(mechanism.inputs)]


def test_a_number_is_asked_by_any_of_three_mechanisms() -> None:
    """One bit is randomized response over the two ends; the file's name decides."""
    assert MINUTES.columns(ONE, "one_bit") == (RandomizedResponse(ONE, 2),)
    assert MINUTES.columns(ONE, "hybrid") == (Hybrid.best(ONE),)
    assert MINUTES.columns(ONE, "laplace") == (Laplace(ONE, 480),)


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.24"])
def test_a_bit_is_chosen_for_the_smallest_epsilons(epsilon: str) -> None:
    """Up to 0.244 it is within 1% of the least variance, and its interval is exact."""
    candidates = MINUTES.choices(Epsilon.of(Fraction(epsilon)))
    assert [each.name for each in candidates if each.name in KNOWN] == ["one_bit", "hybrid", "laplace"]
    assert {each.name for each in candidates} == set(Number.mechanisms)
    assert MINUTES.columns(Epsilon.of(Fraction(epsilon)), "auto") == (candidates[0].mechanism,)
    assert candidates[0].variance <= Fraction(101, 100) * candidates[1].variance


@pytest.mark.parametrize("epsilon", ["0.25", "1", "ln 3", "4", "8", "32"])
def test_the_least_variance_is_chosen_for_all_others(epsilon: str) -> None:
    """It is the hybrid mechanism's; Laplace noise is the next best where answers are hardly hidden."""
    found = Epsilon.of(epsilon if "ln" in epsilon else Fraction(epsilon))
    candidates = MINUTES.choices(found)
    assert candidates[0].name == "hybrid"
    assert [each.variance for each in candidates] == sorted(each.variance for each in candidates)
    assert MINUTES.columns(found, "auto") == (candidates[0].mechanism,)
    known = [each.name for each in candidates if each.name in KNOWN]
    assert (known[1] == "laplace") == (float(found) > 2.3)


@pytest.mark.parametrize("name", Number.mechanisms)
@pytest.mark.parametrize("epsilon", ["0.2", "1", "4"])
def test_the_stated_variance_is_the_greatest_on_the_range(name: str, epsilon: str) -> None:
    """Over the exact channel, in squared ranges, at 1,001 values; Laplace noise has levels at both ends."""
    kind = Number(Fraction(0), Fraction(4), Fraction(1))
    (candidate,) = (each for each in kind.choices(Epsilon.of(Fraction(epsilon))) if each.name == name)
    mechanism, points = candidate.mechanism, places(candidate.mechanism)
    rows = [[float(chance) for chance in row.values()] for row in mechanism.channel()]
    said = {payload: mechanism.place_of(payload) for payload in mechanism.payloads()}
    levels = [payload if place is None else place for payload, place in said.items()]
    means = [sum(chance * level for chance, level in zip(row, levels, strict=True)) for row in rows]
    squares = [sum(chance * level**2 for chance, level in zip(row, levels, strict=True)) for row in rows]
    span = means[-1] - means[0]
    worst = 0.0
    for share in (step / 1000 for step in range(1001)):
        first = max(place for place, point in enumerate(points[:-1]) if point <= share)
        part = (share - points[first]) / (points[first + 1] - points[first])
        mean, square = (each[first] + part * (each[first + 1] - each[first]) for each in (means, squares))
        assert (mean - means[0]) / span == pytest.approx(share, abs=1e-9)
        worst = max(worst, (square - mean**2) / span**2)
    assert worst == pytest.approx(float(candidate.variance), rel=2e-4)
    assert worst <= float(candidate.variance) * (1 + 1e-9)


def test_a_mechanism_that_does_not_fit_is_not_chosen() -> None:
    """A million steps of noise at epsilon 0.0001 do not fit 32 bits: left out by itself, an error by its name."""
    many = Number(Fraction(0), Fraction(1 << 20), Fraction(1))
    tiny = Epsilon.of(Fraction(1, 10_000))
    assert [each.name for each in many.choices(tiny) if each.name in KNOWN] == ["one_bit", "hybrid"]
    with pytest.raises(ValueError, match="take a larger step"):
        many.columns(tiny, "laplace")


@pytest.mark.parametrize("name", Number.mechanisms)
@given(value=st.floats(-3, 3))
def test_chance_rounds_to_a_neighbour_and_leaves_the_mean_alone(name: str, value: float) -> None:
    """Over all words, a value is the upper one of its neighbours as often as it is far from the lower one."""
    columns = SIGNED.columns(ONE, name)
    share, points = (min(max(value, -1.0), 1.0) + 1) / 2, places(columns[0])

    def chosen(word: int) -> int:
        return SIGNED.encode(value, columns, lambda: word)[1]

    low, high = chosen(WORD - 1), chosen(0)
    assert high - low in {0, 1}
    assert points[low] - 1e-9 <= share <= points[high] + 1e-9
    up, down = 0, WORD - 1
    while high > low and down - up > 1:  # the words that round up are those below a threshold, found by halving
        middle = (up + down) // 2
        up, down = (middle, down) if chosen(middle) == high else (up, middle)
    mean = points[low] + down / WORD * (points[high] - points[low])
    assert mean == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("name", Number.mechanisms)
def test_one_threshold_for_life_is_unbiased_over_the_fleet(name: str) -> None:
    """A device that remembers draws the same word every time; over devices, whose words differ, the mean is exact."""
    columns, fleet = SIGNED.columns(ONE, name), 4096
    words = [(2 * device + 1) * WORD // (2 * fleet) for device in range(fleet)]
    points = places(columns[0])
    for value in (-1.0, -0.97, -0.3, 0.0, 0.123, 0.5, 1.0):
        chosen = (SIGNED.encode(value, columns, lambda word=word: word)[1] for word in words)  # type: ignore[misc]
        assert sum(points[each] for each in chosen) / fleet == pytest.approx((value + 1) / 2, abs=1 / fleet)


def test_a_remembered_number_is_one_bit() -> None:
    """Unless the file names another mechanism; with a second randomisation there is no other."""
    number = "range = [0, 480]\nepsilon = 2.0\nmemoize = true\n"
    metric = asked("number", number + LINKABLE)
    assert metric.columns[0].mechanism == RandomizedResponse(metric.epsilon, 2)
    assert isinstance(asked("number", number + LINKABLE + 'mechanism = "hybrid"').columns[0].mechanism, Hybrid)
    twice = asked("number", number + "instantaneous_epsilon = 0.5")
    assert twice.columns[0].mechanism == Memoized(
        RandomizedResponse(twice.epsilon, 2), RandomizedResponse(Epsilon.of(Fraction(1, 2)), 2)
    )
    named = number + 'instantaneous_epsilon = 0.5\nmechanism = "{}"'
    assert asked("number", named.format("one_bit")).columns[0].mechanism == twice.columns[0].mechanism
    assert refused("number", named.format("hybrid")) == [f"one: a number by hybrid {ONCE}"]
    assert refused("number", 'range = [0, 1]\nepsilon = 1.0\nmechanism = "hybird"') == [
        "one.mechanism: unknown word 'hybird'; did you mean 'hybrid'?"
    ]


def test_a_lifetime_of_numbers_costs_two_epsilon(tmp_path: Path) -> None:
    """Forty epochs of values all over the range: a device pays for its two ends once each, and repeats itself."""
    text = (
        '[collection]\nname = "c"\nepoch = "1h"\nowner = "o"\n[budget]\nepoch = 9\n'
        '[metrics.one]\nkind = "number"\nrange = [0, 480]\ndescription = "d"\nepsilon = 1.5\nmemoize = true\n'
    )
    now = [0.0]
    settings = deniable.Settings(clock=lambda: now[0])
    collection = deniable.Collection.loads(text)
    granted = deniable.Consent.GRANTED
    with deniable.Client(collection, state=tmp_path / "state.db", consent=granted, settings=settings) as client:
        for epoch in range(40):
            client.record("one", epoch * 37 % 481 if epoch > 1 else 480 * epoch)
            client.flush(timeout=PATIENCE)
            now[0] += 3600
        charged = [charge.epsilon for charge in client.ledger()]
    assert len(charged) == 40
    assert math.fsum(charged) == 3.0
    assert charged[2:] == [0.0] * 38
