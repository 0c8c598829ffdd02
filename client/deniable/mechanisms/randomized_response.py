"""Randomized response: k-ary, and for two answers Warner's.

words:
  lie     any answer but the true one; all lies are equally likely
  lies    the threshold: P(lie) = lies / 2^64

The truth is told with p = e^eps / (e^eps + k - 1), each lie with q = 1 / (e^eps + k - 1). Rounding the chance of
a lie up keeps p / q at most e^eps. At eps = ln 3 and two answers this is the survey with two coins: heads, the
truth; tails, whatever the second coin says. (Warner 1965; k-ary: Kairouz, Bonawitz, Ramage, arXiv 1602.07387.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from deniable.epsilon import Epsilon
from deniable.mechanisms._mechanism import Mechanism
from deniable.payload import Symbol
from deniable.randomness import WORD, below, word

__all__ = ["RandomizedResponse"]


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Mechanism):
    """Tells the truth, or one of the lies."""

    name: ClassVar[str] = "randomized_response"

    epsilon: Epsilon
    inputs: int
    lies: int = field(init=False)

    def __post_init__(self) -> None:
        _ = self.shape  # checks how many answers there are
        # p / q = (2^64 - lies) (k - 1) / lies <= exp  <=>  lies >= 2^64 (k - 1) / (exp + k - 1)
        others = self.inputs - 1
        share = WORD * others / (self.epsilon.exp + others)
        object.__setattr__(self, "lies", -(-share.numerator // share.denominator))
        if self.p <= self.q:
            raise ValueError(f"epsilon {self.epsilon} is too small to tell {self.inputs} answers apart")

    @property
    def plain(self) -> bool:
        """A payload is an answer."""
        return True

    @property
    def shape(self) -> Symbol:
        """One symbol an answer."""
        return Symbol(self.inputs)

    @property
    def p(self) -> Fraction:
        """The chance of the truth."""
        return Fraction(WORD - self.lies, WORD)

    @property
    def q(self) -> Fraction:
        """The chance of each lie."""
        return Fraction(self.lies, WORD * (self.inputs - 1))

    def randomize(self, value: int) -> int:
        """The truth, or one of the lies."""
        if self.inputs == 2:
            return value ^ (word() < self.lies)
        lies, other = word() < self.lies, below(self.inputs - 1)
        return (value, other + (other >= value))[lies]

    def probability(self, payload: int, value: int) -> Fraction:
        """The chance of the truth, or of one lie."""
        return self.p if payload == value else self.q

    def payloads(self) -> Iterator[int]:
        """The answers themselves."""
        return iter(range(self.inputs))

    def parameters(self) -> dict[str, int]:
        """The answers and the threshold."""
        return {"inputs": self.inputs, "lies": self.lies}
