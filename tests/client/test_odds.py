"""Odds in words: never less than the chance that they stand for, and near it."""

from __future__ import annotations

import math

import pytest

from deniable.odds import believed, in_words, sure


@pytest.mark.parametrize(
    ("chance", "words"),
    [(0.5, "1 in 2"), (0.75, "3 in 4"), (believed(0.5, 1.0), "3 in 4"), (believed(0.5, math.log(3)), "3 in 4"),
     (0.02, "1 in 50"), (believed(0.02, 1.0), "53 in 1,000"), (believed(0.5, 4.0), "983 in 1,000")],
)  # fmt: skip
def test_odds_are_said_in_small_numbers(chance: float, words: str) -> None:
    """As few as are near enough."""
    assert in_words(chance) == words


def test_odds_are_never_less_than_the_chance_and_near_it() -> None:
    """Over ten thousand chances: a tenth of the way to 0 or 1 too high at most; beyond that it is all but certain."""
    for step in range(1, 10_000):
        chance = step / 10_000
        words = in_words(chance)
        part, _, whole = words.replace(",", "").partition(" in ")
        assert chance - 1e-6 <= int(part) / int(whole) <= chance + 0.1 * min(chance, 1 - chance) + 1e-9, words
    assert in_words(1 - 1e-6) == in_words(1.0) == "all but certain"


def test_an_even_bet_becomes_the_ratio() -> None:
    """Three to one is three in four; e^epsilon to one is what is believed at epsilon."""
    assert sure(3.0) == "3 in 4"
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0):
        assert sure(math.exp(epsilon)) == in_words(believed(0.5, epsilon))
