"""What every mechanism is: a channel from a device's answer to a payload, with exact probabilities.

words:
  input        the answer as the mechanism takes it: an integer below `inputs`
  payload      the randomised answer as it travels
  probability  P(payload | input), as a fraction
  tight        the worst ratio of probabilities is meant to come as near to e^epsilon as thresholds allow
  remembered   what a device that memoizes draws once of an input, and randomises afresh (or repeats) in every report

A mechanism is a frozen value: built from a claimed epsilon, it holds the integer thresholds that spend at most
that. Everything else (debiasing, intervals, audits, proofs) is computed from the same thresholds. Whatever others
need to know of a mechanism it says itself: what is not abstract here has an answer that holds for most of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import ClassVar, NamedTuple

from deniable.epsilon import Epsilon
from deniable.mechanisms._sorts import Sorts, log2
from deniable.payload import Shape

__all__ = ["Mechanism", "Naming"]

_WALKED = 1 << 12
"""A channel of so many chances at most is walked: with every further answer there can be twice as many."""


class Naming(NamedTuple):
    """How a report names answers: one as a symbol, several as the bits of a bitmap."""

    answers: int
    """How many a report names."""
    own: Fraction
    """The chance that the own answer is among them."""
    other: Fraction
    """The chance that a certain other one is."""


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
    @abstractmethod
    def shape(self) -> Shape:
        """The payloads, and the counters that they add up to."""

    @abstractmethod
    def randomize(self, value: int) -> int:
        """One randomised answer, with the operating system's randomness."""

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

    # What it says of itself.

    @property
    def plain(self) -> bool:
        """Whether a payload is one of the answers: what was sent can be said in words."""
        return False

    @property
    def naming(self) -> Naming | None:
        """How a report names answers, where it does."""
        return None

    @property
    def gain_of_ten(self) -> Fraction | None:
        """How far one fake moves ten answers together, in liars (`_gain.py`); None where reports support none."""
        return None

    @property
    def supported(self) -> int:
        """How many of the answers one report speaks for at most."""
        return 1

    @property
    def hides_all(self) -> bool:
        """Whether epsilon hides any input among all of them, not only among those that are near."""
        return True

    # What it is to a quantity.

    @property
    def quantity_variance(self) -> Fraction:
        """Of one report's estimate of a quantity, in squared ranges, where it is greatest; TypeError for no quantity.

        The inputs then lie on the range from its low end to its high one.
        """
        raise TypeError(f"{self.name} estimates no quantity")

    def place_of(self, payload: int) -> float | None:  # noqa: ARG002
        """Where a payload counts, on a range from 0 to 1 or beyond it; None where it counts for answers."""
        return None

    def between(self, share: float) -> tuple[int, float] | None:  # noqa: ARG002
        """The input at or below a place on the range, and how far that is on the way to the next input: where inputs
        do not lie evenly. None where they do."""
        return None

    # What is remembered.

    @property
    def first(self) -> Mechanism:
        """What draws that which is remembered: without a second randomisation, the mechanism itself."""
        return self

    @property
    def instantaneous(self) -> Epsilon:
        """The most that one report tells of what it is made of: of what is remembered, or of the answer."""
        return self.epsilon

    def remember(self, value: int) -> int:
        """What a device that memoizes remembers of an input; without a second randomisation, the payload."""
        return self.randomize(value)

    def renew(self, remembered: int) -> int:
        """The payload of what is remembered: without a second randomisation, the same every time."""
        return remembered

    def renewed(self, payload: int, remembered: int) -> Fraction:
        """P(payload | remembered), exactly."""
        return Fraction(payload == remembered)

    def likeness(self, value: int) -> int:
        """What could be remembered of an input, as far as can be from what could be of another one."""
        return value

    # What is wrapped.

    @property
    def wrapped(self) -> Mechanism | None:
        """The mechanism whose payloads are sent, where this one only makes another input for it."""
        return None

    def slots(self, value: int) -> Sequence[int]:
        """What is answered for an input, each as likely: itself, or of a set what one of its slots holds."""
        return (value,)

    # By how many bits its reports tell devices apart: the words of `deniable.linkage`.

    @property
    def sorts(self) -> Sorts | None:
        """The payloads by how likely an input makes them, where there are two sorts of them."""
        return None

    @property
    def factor(self) -> Fraction | None:
        """The greatest J of what it draws afresh, exactly; None where it is not known."""
        return self.sorts.payloads * self.sorts.squares if self.sorts else None

    @property
    def most_bits(self) -> float:
        """The bits that a report tells at most of the input that it is about, where no factor is known."""
        inputs = math.log2(self.inputs)
        return min(float(self.epsilon) / math.log(2), inputs) if self.hides_all else inputs

    @property
    def collision(self) -> float:
        """The bits of a collision of two payloads, for the input of which they are most. Of a large channel that does
        not say its sorts, at most what it takes to say which payload came."""
        if self.sorts:
            return -log2(self.sorts.squares)
        most = _WALKED // self.inputs
        if sum(1 for _ in islice(self.payloads(), most + 1)) > most:
            return self.shape.bits
        return max(-log2(sum((chance**2 for chance in row.values()), Fraction(0))) for row in self.channel())
