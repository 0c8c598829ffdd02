"""Category: one of a list of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from deniable.epsilon import Epsilon
from deniable.kinds._one_of import OneOf
from deniable.mechanisms import (
    Choice,
    Mechanism,
    Memoized,
    MemoizedSubset,
    RandomizedResponse,
    SubsetSelection,
    choices,
    choose,
    fitting,
)

__all__ = ["Category"]


@dataclass(frozen=True, slots=True)
class Category(OneOf):
    """One of `values`, by the mechanism that counts it best at its epsilon."""

    name: ClassVar[str] = "category"
    mechanisms: ClassVar[tuple[str, ...]] = tuple(fitting(2))
    most_values: ClassVar[int] = 1 << 16

    def columns(self, epsilon: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """One column, whose inputs are the places of the values."""
        return (choose(epsilon, len(self.values), mechanism),)

    def choices(self, epsilon: Epsilon) -> list[Choice]:
        """What "auto" chooses from at this epsilon: first what it chooses, then the others by variance."""
        return choices(epsilon, len(self.values))

    def memoized(self, epsilon: Epsilon, fresh: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """One answer named over a remembered subset; where that is of one answer, by randomized response twice."""
        if mechanism not in {"auto", RandomizedResponse.name, SubsetSelection.name}:
            raise self.once(f"a {self.name} by {mechanism}")
        answers = len(self.values)
        if mechanism != RandomizedResponse.name:
            permanent = SubsetSelection.best(epsilon, answers)
            if permanent.size > 1:
                return (MemoizedSubset(permanent, fresh),)
        return (Memoized(RandomizedResponse(epsilon, answers), RandomizedResponse(fresh, answers)),)
