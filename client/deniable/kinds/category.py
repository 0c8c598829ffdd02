"""Category: one of a list of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from deniable._section import Section, distinct_texts
from deniable.epsilon import Epsilon
from deniable.kinds._kind import Kind
from deniable.kinds._names import check_name, literal
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

MOST_VALUES = 1 << 16


@dataclass(frozen=True, slots=True)
class Category(Kind):
    """One of `values`, by the mechanism that counts it best at its epsilon."""

    name: ClassVar[str] = "category"
    reducers: ClassVar[tuple[str, ...]] = ("last", "sample")
    mechanisms: ClassVar[tuple[str, ...]] = tuple(fitting(2))

    values: tuple[str, ...]
    index: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {value: number for number, value in enumerate(self.values)})

    @classmethod
    def read(cls, section: Section) -> Category | None:
        """Reads `values`."""
        values = section.take("values", distinct_texts(2, MOST_VALUES))
        return None if values is None else cls(values)

    def parameters(self) -> dict[str, Any]:
        """The values, in their order: an input is the place of its value."""
        return {"values": list(self.values)}

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

    def check(self, value: Any) -> str:
        """Takes one of the values."""
        return check_name(value, self.index, "values of this category")

    def apart(self) -> tuple[str, str]:
        """Any two values: all are equally easy to tell apart."""
        return self.values[0], self.values[-1]

    @property
    def annotation(self) -> str:
        """Values are some of these texts."""
        return literal(self.values)

    def names(self, place: int) -> tuple[str, ...]:  # noqa: ARG002
        """Payloads are called as the values are."""
        return self.values

    def encode(self, value: Any, columns: Sequence[Mechanism], draw: Callable[[], int]) -> tuple[int, int]:  # noqa: ARG002
        """Into the one column: the place of the value."""
        return 0, self.index[value]
