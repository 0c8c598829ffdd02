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
from typing import ClassVar, Self

from deniable.epsilon import Epsilon
from deniable.mechanisms._mechanism import Naming
from deniable.mechanisms._sorts import Sorts
from deniable.mechanisms._support import Supporting
from deniable.payload import PAYLOAD_BITS, Symbol
from deniable.randomness import WORD, below, word

__all__ = ["RandomizedResponse"]


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Supporting):
    """Tells the truth, or one of the lies."""

    name: ClassVar[str] = "randomized_response"
    most_answers: ClassVar[int] = 1 << PAYLOAD_BITS
    automatic: ClassVar[bool] = True

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

    @classmethod
    def best(cls, epsilon: Epsilon, inputs: int) -> Self:
        """There is one."""
        return cls(epsilon, inputs)

    @property
    def plain(self) -> bool:
        """A payload is an answer."""
        return True

    @property
    def naming(self) -> Naming:
        """One answer."""
        return Naming(1, self.p, self.q)

    @property
    def sorts(self) -> Sorts:
        """The answer, and the others."""
        return Sorts(self.p, 1, self.inputs)

    @property
    def quantity_variance(self) -> Fraction:
        """For two answers, which are the ends of a range: of a quantity halfway between them."""
        if self.inputs != 2:
            raise TypeError(f"{self.inputs} answers are not the two ends of a range")
        return 1 / (2 * (self.p - self.q)) ** 2

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

    @property
    def both(self) -> tuple[Fraction, Fraction]:
        """A report supports one answer."""
        return Fraction(0), Fraction(0)

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
