"""Set: some of a list of values, up to so many of them; a device names one that it draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, ClassVar

from deniable._section import Section, distinct_texts, whole
from deniable.epsilon import Epsilon
from deniable.kinds._kind import Kind
from deniable.kinds._names import check_names, literal
from deniable.kinds.category import Category
from deniable.mechanisms import (
    Mechanism,
    MemoizedSubset,
    PadAndSample,
    RandomizedResponse,
    SubsetSelection,
)
from deniable.randomness import WORD

__all__ = ["Set"]

MOST_VALUES = (1 << 16) - 256
MOST_ITEMS = 256


@dataclass(frozen=True, slots=True)
class Set(Kind):
    """Up to `most` of `values`; of a device that has more of them, so many at random."""

    name: ClassVar[str] = "set"
    reducers: ClassVar[tuple[str, ...]] = ("last", "any", "all", "sample")
    mechanisms: ClassVar[tuple[str, ...]] = Category.mechanisms

    values: tuple[str, ...]
    most: int
    """`max_items` of the collection file."""
    index: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 1 <= self.most <= min(len(self.values), MOST_ITEMS):
            raise ValueError(f"of {len(self.values)} values a set has 1 to {min(len(self.values), MOST_ITEMS)}")
        object.__setattr__(self, "index", {value: number for number, value in enumerate(self.values)})

    @classmethod
    def read(cls, section: Section) -> Set | None:
        """Reads `values` and `max_items`."""
        values = section.take("values", distinct_texts(2, MOST_VALUES))
        most = section.take("max_items", whole(1, min(len(values or ()) or MOST_ITEMS, MOST_ITEMS)))
        return None if values is None or most is None else cls(values, most)

    def parameters(self) -> dict[str, Any]:
        """The values, in their order, and how many a device has at most."""
        return {"values": list(self.values), "max_items": self.most}

    def columns(self, epsilon: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """One column, whose inputs are the places of the items."""
        return (PadAndSample(epsilon, len(self.values), self.most, mechanism),)

    def memoized(self, epsilon: Epsilon, fresh: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """One answer named over what is remembered of the drawn slot, with the least variance."""
        naming = RandomizedResponse.name, SubsetSelection.name
        if mechanism not in {"auto", *naming}:
            raise self.once(f"a {self.name} by {mechanism}")
        sorts = naming if mechanism == "auto" else (mechanism,)
        every = [MemoizedSubset(PadAndSample(epsilon, len(self.values), self.most, sort), fresh) for sort in sorts]
        return (min(every, key=lambda each: each.permanent.variance),)

    def check(self, value: Any) -> list[str]:
        """Takes a set, a list or a tuple of values."""
        return check_names(value, self.index, "values of this set")

    def apart(self) -> tuple[list[str], list[str]]:
        """As many items as there may be, and none."""
        return sorted(self.values[: self.most]), []

    @property
    def annotation(self) -> str:
        """Values are collections of these texts."""
        return f"Collection[{literal(self.values)}]"

    def names(self, place: int) -> tuple[str, ...]:  # noqa: ARG002
        """Bits are called as the values are; what comes after them is padding."""
        return self.values

    def encode(self, value: Any, columns: Sequence[Mechanism], draw: Callable[[], int]) -> tuple[int, int]:
        """Into the one column: the items, of too many a drawn choice."""
        mechanism = columns[0].first
        assert isinstance(mechanism, PadAndSample)
        given, none = frozenset(value), len(self.values)
        items = [*compress(range(none), [name in given for name in self.values])]
        count = len(items)
        items += [none] * self.most
        for slot in range(self.most):  # a word a slot, also where there is nothing to choose
            other = slot + draw() * max(count - slot, 1) // WORD
            items[slot], items[other] = items[other], items[slot]
        return 0, mechanism.encode(sorted(items[: self.most]))
