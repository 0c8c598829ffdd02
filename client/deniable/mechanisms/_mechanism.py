"""What every mechanism is: a channel from a device's answer to a payload, with exact probabilities.

words:
  input        the answer as the mechanism takes it: an integer below `inputs`
  payload      the randomised answer as it travels
  probability  P(payload | input), as a fraction
  tight        the worst ratio of probabilities is meant to come as near to e^epsilon as thresholds allow

A mechanism is a frozen value: built from a claimed epsilon, it holds the integer thresholds that spend at most
that. Everything else (debiasing, intervals, audits, proofs) is computed from the same thresholds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

from deniable.epsilon import Epsilon
from deniable.payload import Shape

__all__ = ["Mechanism"]


class Mechanism(ABC):
    """How one column's answers are randomised."""

    __slots__ = ()

    name: ClassVar[str]
    """The mechanism's name, as a collection file writes it."""
    tight: ClassVar[bool] = True
    """Whether its worst ratio is meant to reach e^epsilon."""

    epsilon: Epsilon
    """What an answer costs: the claim that the thresholds keep."""
    inputs: int
    """Answers are the integers below this."""

    @property
    def plain(self) -> bool:
        """Whether a payload is one of the answers: what was sent can be said in words."""
        return False

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """The payloads, and the counters that they add up to."""

    @abstractmethod
    def randomize(self, value: int) -> int:
        """One randomised answer, with the operating system's randomness."""

    @property
    def first(self) -> Mechanism:
        """What draws that which is remembered: without a second randomisation, the mechanism itself."""
        return self

    def remember(self, value: int) -> int:
        """What a device that memoizes remembers of an input; without a second randomisation, the payload."""
        return self.randomize(value)

    def renew(self, remembered: int) -> int:
        """The payload of what is remembered: without a second randomisation, the same every time."""
        return remembered

    @abstractmethod
    def probability(self, payload: int, value: int) -> Fraction:
        """P(payload | value), exactly."""

    @abstractmethod
    def payloads(self) -> Iterator[int]:
        """Every payload that can be sent; the same for all inputs."""

    @abstractmethod
    def parameters(self) -> dict[str, int]:
        """The integers that define the channel; part of the collection's digest."""

    def channel(self) -> tuple[dict[int, Fraction], ...]:
        """The whole channel: for every input, the probability of every payload."""
        support = tuple(self.payloads())
        return tuple(
            {payload: self.probability(payload, value) for payload in support} for value in range(self.inputs)
        )
