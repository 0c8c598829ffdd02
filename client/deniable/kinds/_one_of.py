"""One of: what kinds share whose value is one name of a list, from its check to the mechanism's input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from deniable._section import Section, distinct_texts
from deniable.kinds._kind import Kind
from deniable.kinds._names import check_name, literal
from deniable.mechanisms import Mechanism

__all__ = ["OneOf"]


@dataclass(frozen=True, slots=True)
class OneOf(Kind):
    """One of `values`."""

    reducers: ClassVar[tuple[str, ...]] = ("last", "sample")
    most_values: ClassVar[int]
    """The longest list."""

    values: tuple[str, ...]
    index: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {value: number for number, value in enumerate(self.values)})

    @classmethod
    def read(cls, section: Section) -> Self | None:
        """Reads `values`."""
        values = section.take("values", distinct_texts(2, cls.most_values))
        return None if values is None else cls(values)

    def parameters(self) -> dict[str, Any]:
        """The values, in their order: an input is the place of its value."""
        return {"values": list(self.values)}

    def check(self, value: Any) -> str:
        """Takes one of the values."""
        if type(value) is str and value in self.index:  # at every record: words for a mistake are made of one
            return value
        return check_name(value, self.index, f"values of this {self.name}")

    def apart(self) -> tuple[str, str]:
        """The two ends of the list: of values without an order any two are equally easy to tell apart."""
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
