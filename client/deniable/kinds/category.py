"""Category: one of a list of values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

from deniable._section import Section, a_flag, distinct_texts
from deniable.epsilon import Epsilon
from deniable.kinds._one_of import OneOf
from deniable.mechanisms import (
    TEN,
    Choice,
    Mechanism,
    Memoized,
    MemoizedSubset,
    RandomizedResponse,
    SubsetSelection,
    choices,
    choose,
    fitting,
    least_moved,
)

__all__ = ["Category"]


@dataclass(frozen=True, slots=True)
class Category(OneOf):
    """One of `values`, by the mechanism that counts it best at its epsilon; `robust`, by one that fakes move less."""

    name: ClassVar[str] = "category"
    mechanisms: ClassVar[tuple[str, ...]] = tuple(fitting(2))
    most_values: ClassVar[int] = 1 << 16

    robust: bool = field(default=False, compare=False)
    """Whether "auto" weighs what one fake device can do: no parameter, as the mechanism says what came of it."""

    @classmethod
    def read(cls, section: Section) -> Self | None:
        """Reads `values` and `robust`, which takes the place of a named mechanism."""
        values = section.take("values", distinct_texts(2, cls.most_values))
        robust = section.take("robust", a_flag, False)
        if robust and section.has("mechanism"):
            section.wrong("robust", "chooses the mechanism: leave out mechanism, or robust")
        return None if values is None or robust is None else cls(values, robust)

    @property
    def long(self) -> bool:
        """Whether it has so many values that fakes are told by how far they move ten of them together."""
        return len(self.values) > TEN

    def columns(self, epsilon: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """One column, whose inputs are the places of the values."""
        if mechanism == "auto":
            return (self.choices(epsilon)[0].mechanism,)
        return (choose(epsilon, len(self.values), mechanism),)

    def choices(self, epsilon: Epsilon) -> list[Choice]:
        """What "auto" chooses from at this epsilon: first what it chooses, then the others by variance."""
        every = choices(epsilon, len(self.values))
        if not self.robust:
            return every
        best = least_moved(every)
        others = sorted((each for each in every if each is not best), key=lambda each: each.variance)
        return [best, *others]

    def memoized(self, epsilon: Epsilon, fresh: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """One answer named over a remembered subset; where that is of one answer, by randomized response twice."""
        if mechanism not in {"auto", RandomizedResponse.name, SubsetSelection.name}:
            raise self.once(f"a {self.name} by {mechanism}")
        if self.robust:
            raise ValueError("robust goes with fresh answers: leave out robust, or memoize")
        answers = len(self.values)
        if mechanism != RandomizedResponse.name:
            permanent = SubsetSelection.best(epsilon, answers)
            if permanent.size > 1:
                return (MemoizedSubset(permanent, fresh),)
        return (Memoized(RandomizedResponse(epsilon, answers), RandomizedResponse(fresh, answers)),)
