"""Ordinal: one of a list of values that have an order, where a near miss matters less than a far one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from deniable._section import Section, distinct_texts
from deniable.epsilon import Epsilon
from deniable.kinds._kind import Kind
from deniable.kinds._names import check_name, literal
from deniable.mechanisms import Exponential, Mechanism, Memoized, RandomizedResponse

__all__ = ["Ordinal"]

MOST_VALUES = 256


@dataclass(frozen=True, slots=True)
class Ordinal(Kind):
    """One of `values`, in their order.

    Randomized response, which knows no near and far, is "auto": it estimates the share of each value with far less
    variance (at epsilon 1 and five values a twentieth), and the mean rank as well on short scales. The exponential
    mechanism hides near values from each other better than far ones, and knows the mean rank of long scales better.
    """

    name: ClassVar[str] = "ordinal"
    reducers: ClassVar[tuple[str, ...]] = ("last", "sample")
    mechanisms: ClassVar[tuple[str, ...]] = (RandomizedResponse.name, Exponential.name)

    values: tuple[str, ...]
    index: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {value: number for number, value in enumerate(self.values)})

    @classmethod
    def read(cls, section: Section) -> Ordinal | None:
        """Reads `values`."""
        values = section.take("values", distinct_texts(2, MOST_VALUES))
        return None if values is None else cls(values)

    def parameters(self) -> dict[str, Any]:
        """The values, in their order."""
        return {"values": list(self.values)}

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

    def check(self, value: Any) -> str:
        """Takes one of the values."""
        return check_name(value, self.index, "values of this ordinal")

    def apart(self) -> tuple[str, str]:
        """The two ends of the order."""
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
