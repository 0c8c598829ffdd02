"""What the mechanisms of a frequency share: every payload supports some inputs, and is likelier under those.

words:
  support    a payload supports an input when the input makes it e^eps times likelier than another would
  p          P(the payload supports the input that was given)
  q          P(the payload supports another input), the same for every other one
  inside     the threshold of p: P(the payload supports its input) = inside / 2^64

The share f of devices with an input is estimated by (C / n - q) / (p - q), C being the reports that support it;
for a rare one its variance is q (1 - q) / (n (p - q)^2). (Wang, Blocki, Li, Jha, USENIX Security 2017.)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Self

from deniable.epsilon import Epsilon
from deniable.mechanisms._mechanism import Mechanism
from deniable.randomness import WORD

__all__ = ["Supporting", "inside_threshold", "support_chance", "variance"]


class Supporting(Mechanism):
    """A mechanism whose reports support answers: the share of each is estimated from how many support it."""

    __slots__ = ()

    most_answers: ClassVar[int] = 0
    """It can ask for one of so many answers at most, by `best`. 0: it asks for something else."""
    automatic: ClassVar[bool] = False
    """Whether "auto" and `robust` may choose it. What they choose is in the digest of collections that are out: one
    that is added is named, or a later version would choose otherwise than the devices that are there."""
    even: ClassVar[bool] = True
    """Whether it supports two others as often, whichever these are: what sums over answers vary by is then known."""

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """The chance that a report supports an answer that was given."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """The chance that it supports another one, the same for every other one."""

    @property
    def both(self) -> tuple[Fraction, Fraction]:
        """The chances that a report supports two certain answers: the own one and another, and two others, on average
        over which is the own one. Here as of a report that supports each answer for itself."""
        return self.p * self.q, self.q**2

    @property
    def asked(self) -> int:
        """How many answers shares are estimated of: of all that can be supported the first ones."""
        return self.inputs

    def carried(self, answers: Sequence[int]) -> int:
        """How many of some answers one report supports at the most: here as many as of any others."""
        return min(self.supported, len(answers))

    @property
    def gain_of_ten(self) -> Fraction:
        """The mean over drawn tens."""
        from deniable.mechanisms._gain import gain_over_ten  # which is about mechanisms that support answers

        return gain_over_ten(self)

    @property
    def variance(self) -> Fraction:
        """Of one report's estimate of a rare answer."""
        return variance(self.p, self.q)

    @classmethod
    def best(cls, epsilon: Epsilon, inputs: int) -> Self:
        """The one of the least variance that asks for one of so many answers."""
        raise TypeError(f"{cls.name} does not ask for one of {inputs} answers at epsilon {epsilon}")


def support_chance(epsilon: Epsilon, supporting: int, payloads: int) -> Fraction:
    """The p that `supporting` of `payloads` payloads have together, each e^eps times likelier than each other."""
    weight = epsilon.exp * supporting
    return weight / (weight + payloads - supporting)


def inside_threshold(epsilon: Epsilon, supporting: int, payloads: int) -> int:
    """The largest threshold of p that keeps the ratio (p / supporting) / ((1 - p) / others) at most e^eps."""
    share = support_chance(epsilon, supporting, payloads) * WORD
    return share.numerator // share.denominator


def variance(p: Fraction, q: Fraction) -> Fraction:
    """Of one report's estimate of a rare input."""
    return q * (1 - q) / (p - q) ** 2
