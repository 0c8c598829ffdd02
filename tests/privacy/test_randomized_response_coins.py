"""Randomized response, one random word at a time: which words make which answer, and how many do."""

from __future__ import annotations

from fractions import Fraction

import pytest

from deniable import randomness
from deniable.epsilon import Epsilon
from deniable.mechanisms import RandomizedResponse
from deniable.randomness import WORD


def answer(mechanism: RandomizedResponse, value: int, *words: int) -> int:
    """What the mechanism sends when these are the next random words; it takes all of them."""
    randomness._buffer[:] = words[::-1]
    try:
        sent = mechanism.randomize(value)
        assert not randomness._buffer
    finally:
        randomness._buffer.clear()
    return sent


@pytest.mark.parametrize("value", [0, 1])
def test_two_answers_take_one_word(value: int) -> None:
    """The words below the threshold, `lies` of them, are the lie; all others the truth."""
    mechanism = RandomizedResponse(Epsilon.of(1), 2)
    lies = [0, mechanism.lies - 1]
    truths = [mechanism.lies, WORD - 1]
    assert {answer(mechanism, value, word) for word in lies} == {1 - value}
    assert {answer(mechanism, value, word) for word in truths} == {value}
    assert mechanism.probability(1 - value, value) == Fraction(mechanism.lies, WORD)


@pytest.mark.parametrize("value", range(5))
def test_several_answers_take_a_coin_and_a_lie(value: int) -> None:
    """One word says whether to lie, another which of the others to name; each of them once."""
    mechanism = RandomizedResponse(Epsilon.of(2), 5)
    others = [other for other in range(5) if other != value]
    assert [answer(mechanism, value, mechanism.lies - 1, word) for word in range(4)] == others
    assert [answer(mechanism, value, mechanism.lies, word) for word in range(4)] == [value] * 4


@pytest.mark.parametrize("inputs", [2, 3, 48, 4096])
@pytest.mark.parametrize("epsilon", ["ln 3", "ln 2", "ln 20"])
def test_the_threshold_is_the_least_that_keeps_the_claim(inputs: int, epsilon: str) -> None:
    """One lie in 2^64 fewer, and p / q would be more than e^epsilon."""
    mechanism = RandomizedResponse(Epsilon.of(epsilon), inputs)
    assert mechanism.p / mechanism.q <= mechanism.epsilon.exp
    fewer = mechanism.lies - 1
    assert Fraction(WORD - fewer, fewer) * (inputs - 1) > mechanism.epsilon.exp


@pytest.mark.parametrize("inputs", [2, 3, 5, 16])
@pytest.mark.parametrize("epsilon", ["ln 2", "ln 3", "ln 20"])
def test_its_p_and_q_debias_exactly(inputs: int, epsilon: str) -> None:
    """z = (1[sent = j] - q) / (p - q) has the expectation 1[value = j], in rationals, and for a rare answer the
    variance q (1 - q) / (p - q)^2.
    """
    mechanism = RandomizedResponse(Epsilon.of(epsilon), inputs)
    p, q = mechanism.p, mechanism.q
    for value, row in enumerate(mechanism.channel()):
        for asked in range(inputs):
            z = {sent: ((sent == asked) - q) / (p - q) for sent in row}
            mean = sum(chance * z[sent] for sent, chance in row.items())
            square = sum(chance * z[sent] ** 2 for sent, chance in row.items())
            assert mean == (value == asked)
            assert value == asked or square == q * (1 - q) / (p - q) ** 2


def test_an_epsilon_that_tells_nothing_apart_is_refused() -> None:
    """Where rounding would make the truth no likelier than each lie, there is nothing to debias."""
    with pytest.raises(ValueError, match="too small to tell 281474976710656 answers apart"):
        RandomizedResponse(Epsilon.of(Fraction(1, 10**6)), 1 << 48)
