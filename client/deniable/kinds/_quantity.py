"""Quantities: what a number and a count share, from the range to the mechanism's input.

words:
  share       where on the range a value lies, from 0 to 1; beyond the range it counts as the nearest end
  variance    of one report's estimate, in squared ranges, for the value where it is greatest

| in a file              | mechanism                               | best for                                      |
|------------------------|-----------------------------------------|-----------------------------------------------|
| `one_bit`              | randomized response over the two ends   | epsilons up to 1/4, and remembered answers    |
| `hybrid`               | a window of outputs around the value    | all other epsilons                            |
| `laplace`, `geometric` | discrete Laplace noise on a public grid | counts without a limit, in which events hide  |

A value between two inputs of its mechanism becomes one of them at random, the nearer one the more often, so that the
mean stays exact. For one bit the inputs are the two ends. Where an answer is remembered the words of chance are the
same every time: the value is compared with one threshold for life (alpha-point rounding; Ding, Kulkarni, Yekhanin,
arXiv 1712.01524), and a device has two answers to remember at most, however many values it has: 2 epsilon in all.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from deniable.epsilon import Epsilon
from deniable.kinds._kind import Kind
from deniable.mechanisms import Mechanism, Memoized, RandomizedResponse
from deniable.randomness import WORD

__all__ = ["ONE_BIT", "Candidate", "Quantity"]

ONE_BIT = "one_bit"
"""What files call randomized response over the two ends of a range."""

_ALLOWANCE = Fraction(101, 100)
"""One bit is taken where it is this near to the least variance: its interval is exact for any number of devices."""


class Candidate(NamedTuple):
    """One mechanism that could ask for a quantity."""

    name: str
    """The mechanism's name, as a collection file writes it."""
    mechanism: Mechanism
    """The best mechanism of its sort at this epsilon."""
    variance: Fraction
    """The variance of one report's estimate, in squared ranges, for the value where it is greatest."""


class Quantity(Kind):
    """A quantity within a range, of which the mean and the total are asked."""

    __slots__ = ()

    @property
    @abstractmethod
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value."""

    @property
    def limited(self) -> bool:
        """Whether the greatest value is one that somebody has thought of."""
        return True

    @abstractmethod
    def build(self, epsilon: Epsilon, name: str) -> Mechanism:
        """The mechanism that a file calls by this name; a ValueError where it does not fit."""

    def choices(self, epsilon: Epsilon) -> list[Candidate]:
        """Every mechanism that fits, the one that `auto` chooses first, then by variance."""
        found = []
        for name in self.mechanisms:
            try:
                mechanism = self.build(epsilon, name)
            except ValueError:
                continue
            found.append(Candidate(name, mechanism, mechanism.quantity_variance))
        found.sort(key=lambda each: each.variance)
        return sorted(found, key=lambda each: each.name != ONE_BIT or each.variance > _ALLOWANCE * found[0].variance)

    def columns(self, epsilon: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """One column, whose input says where on the range the value lies."""
        if mechanism != "auto":
            return (self.build(epsilon, mechanism),)
        candidates = self.choices(epsilon)
        return (candidates[0].mechanism,) if candidates else (self.build(epsilon, self.mechanisms[0]),)

    def remembered(self, epsilon: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """One bit where it fits and no other mechanism is named: that bounds what there ever is to remember."""
        bounded = mechanism == "auto" and ONE_BIT in {each.name for each in self.choices(epsilon)}
        return self.columns(epsilon, ONE_BIT if bounded else mechanism)

    def memoized(self, epsilon: Epsilon, fresh: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """One bit over a remembered one."""
        if mechanism not in {"auto", ONE_BIT}:
            raise self.once(f"a {self.name} by {mechanism}")
        return (Memoized(self._one_bit(epsilon), self._one_bit(fresh)),)

    def _one_bit(self, epsilon: Epsilon) -> RandomizedResponse:
        mechanism = self.build(epsilon, ONE_BIT)
        assert isinstance(mechanism, RandomizedResponse)
        return mechanism

    @property
    def annotation(self) -> str:
        """Values are numbers."""
        return "float"

    def describe(self, place: int, mechanism: Mechanism, payload: int) -> str:  # noqa: ARG002
        """An end of the range, or the number that a noisy report stands for."""
        low, high = self.ends
        share = mechanism.place_of(payload)
        if share is None:
            return f"{'the upper' if payload else 'the lower'} end, {high if payload else low:g}"
        return f"{low + share * (high - low):.6g}, noise included"

    def place(self, value: float, last: int) -> tuple[int, int]:
        """Where a value lies among the inputs from 0 to `last`: the one below, and how many words make it the next.

        What doubles leave over moves a mean by a part of 2^50. It moves nobody's odds: whichever of the two a value
        becomes, the mechanism hides which.
        """
        low, high = self.ends
        place = (min(max(value, low), high) - low) * last / (high - low)  # in this order whole steps stay whole
        below = min(math.floor(place), last)
        return below, math.ceil((place - below) * WORD)

    def encode(self, value: Any, columns: Sequence[Mechanism], draw: Callable[[], int]) -> tuple[int, int]:
        """Into the one column: one of the two inputs that the value lies between."""
        mechanism = columns[0]
        last = mechanism.inputs - 1
        low, high = self.ends
        found = mechanism.between((min(max(value, low), high) - low) / (high - low))
        if found is None:
            below, words = self.place(value, last)
        else:
            below, words = found[0], math.ceil(found[1] * WORD)
        return 0, min(below + (draw() < words), last)
