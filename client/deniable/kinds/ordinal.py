"""Ordinal: one of a list of values that have an order, where a near miss matters less than a far one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from deniable.epsilon import Epsilon
from deniable.kinds._one_of import OneOf
from deniable.mechanisms import Exponential, Mechanism, Memoized, RandomizedResponse

__all__ = ["Ordinal"]


@dataclass(frozen=True, slots=True)
class Ordinal(OneOf):
    """One of `values`, in their order.

    Randomized response, which knows no near and far, is "auto": it estimates the share of each value with far less
    variance (at epsilon 1 and five values a twentieth), and the mean rank as well on short scales. The exponential
    mechanism hides near values from each other better than far ones, and knows the mean rank of long scales better.
    """

    name: ClassVar[str] = "ordinal"
    mechanisms: ClassVar[tuple[str, ...]] = (RandomizedResponse.name, Exponential.name)
    most_values: ClassVar[int] = 256

    def columns(self, epsilon: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """One column, whose inputs are the places of the values."""
        if mechanism == Exponential.name:
            return (Exponential(epsilon, len(self.values)),)
        return (RandomizedResponse(epsilon, len(self.values)),)

    def memoized(self, epsilon: Epsilon, fresh: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """Randomized response over remembered randomized response."""
        if mechanism == Exponential.name:
            raise self.once(f"an {self.name} by {mechanism}")
        places = len(self.values)
        return (Memoized(RandomizedResponse(epsilon, places), RandomizedResponse(fresh, places)),)
