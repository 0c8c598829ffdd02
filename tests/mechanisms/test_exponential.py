"""The exponential mechanism: as sharp as epsilon allows, and nearer places always likelier."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from deniable.epsilon import Epsilon
from deniable.mechanisms import Exponential, RandomizedResponse

EPSILONS = ("ln 3", 0.01, 1.0, 4.0, 8.0, 32.0)
NEARLY = 1 - Fraction(1, 1 << 60)


def columns(mechanism: Exponential) -> list[list[Fraction]]:
    """For each payload, its probability from every input."""
    rows = mechanism.channel()
    return [[row[payload] for row in rows] for payload in mechanism.payloads()]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("places", [2, 3, 5, 40])
def test_the_worst_ratio_is_the_whole_of_epsilon(places: int, epsilon: float | str) -> None:
    """Over the whole channel it is at most e^eps, and within one part in 2^60 of it."""
    mechanism = Exponential(Epsilon.of(epsilon), places)
    worst = max(max(column) / min(column) for column in columns(mechanism))
    assert mechanism.epsilon.exp * NEARLY <= worst <= mechanism.epsilon.exp


def test_the_worst_ratio_of_256_places() -> None:
    """The largest ordinal of a collection file, at both ends of what epsilon can be."""
    for epsilon in (0.001, 32.0):
        mechanism = Exponential(Epsilon.of(epsilon), 256)
        worst = max(max(column) / min(column) for column in columns(mechanism))
        assert mechanism.epsilon.exp * NEARLY <= worst <= mechanism.epsilon.exp


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_nearer_the_likelier(epsilon: float | str) -> None:
    """A place is sent most often by devices that are there, and more rarely by every step away from it."""
    for payload, column in enumerate(columns(Exponential(Epsilon.of(epsilon), 9))):
        assert column[payload:] == sorted(column[payload:], reverse=True)
        assert column[: payload + 1] == sorted(column[: payload + 1])


def test_neighbours_are_hidden_better_than_the_ends() -> None:
    """With ten places, two that touch are told apart by e^(2 eps / 9) at most."""
    mechanism = Exponential(Epsilon.of(1.0), 10)
    for column in columns(mechanism):
        for one, other in pairwise(column):
            assert max(one / other, other / one) ** 9 <= mechanism.epsilon.exp**2 / NEARLY


def test_the_decay_is_twice_as_sharp_as_the_textbooks() -> None:
    """The textbook's e^(-eps / (2 (d-1))), as a score of minus the distance has it, is the root of this one."""
    mechanism = Exponential(Epsilon.of(2.0), 5)
    assert float(mechanism.decay) == pytest.approx(0.6065306597126334)  # e^(-2/4)


def test_a_sharper_decay_would_break_the_claim() -> None:
    """Weights that fall by one part in 2^50 faster have a worst ratio above e^eps: nothing is left to gain."""
    mechanism = Exponential(Epsilon.of(1.0), 7)
    sharper = mechanism.decay * (1 - Fraction(1, 1 << 50))
    assert 1 / sharper**6 > mechanism.epsilon.exp


def test_two_places_are_randomized_response() -> None:
    """With two answers there is only one mechanism: it has the same probabilities, but for rounding."""
    response, places = (kind(Epsilon.of("ln 3"), 2) for kind in (RandomizedResponse, Exponential))
    for value in range(2):
        for payload in range(2):
            gap = places.probability(payload, value) - response.probability(payload, value)
            assert abs(gap) < Fraction(1, 1 << 60)


@pytest.mark.parametrize("places", [0, 1, 4097])
def test_too_few_and_too_many_places_are_refused(places: int) -> None:
    """With how many there may be."""
    with pytest.raises(ValueError, match=f"2 to 4096 ordered answers, not {places}"):
        Exponential(Epsilon.of(1.0), places)
