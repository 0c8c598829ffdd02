"""Count: how often something happened.

words:
  unit     what is hidden: a device's whole count of the epoch ("epoch"), or any one of the events in it ("event")

Where epochs are hidden, counts up to `max` are a quantity like any other. Where single events are, two counts that
are to be confused differ by one: noise of scale 1 / epsilon is enough, however large counts are, and no `max` is
needed. But a device that has counted a hundred says so, give or take a few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from deniable._section import Section, one_of, whole
from deniable.epsilon import Epsilon
from deniable.errors import InvalidValueError
from deniable.kinds._quantity import ONE_BIT, Quantity
from deniable.mechanisms import Hybrid, Laplace, Mechanism, RandomizedResponse

__all__ = ["Count"]

EPOCH, EVENT = "epoch", "event"
GEOMETRIC = "geometric"
"""What files call discrete Laplace noise on whole numbers."""
MOST = (1 << 31) - 1
"""The largest `max`, and what counts are clipped to without one: with noise they fit 32 bits."""
_LARGEST = 1 << 53


@dataclass(frozen=True, slots=True)
class Count(Quantity):
    """A whole number from 0 on; what lies above `most` counts as `most`."""

    name: ClassVar[str] = "count"
    reducers: ClassVar[tuple[str, ...]] = ("sum", "last", "max", "min", "mean", "sample")
    mechanisms: ClassVar[tuple[str, ...]] = (ONE_BIT, Hybrid.name, GEOMETRIC)

    most: int | None
    """`max` in the file."""
    unit: str = EPOCH

    def __post_init__(self) -> None:
        if self.most is None and self.unit == EPOCH:
            raise ValueError('hiding an epoch needs the most that it can count: add max, or unit = "event"')

    @property
    def ends(self) -> tuple[float, float]:
        """From 0 on."""
        return 0.0, float(self.most or MOST)

    @property
    def limited(self) -> bool:
        """Whether the file has a `max`."""
        return self.most is not None

    @classmethod
    def read(cls, section: Section) -> Count | None:
        """Reads `max` and `unit`."""
        unit = section.take("unit", one_of((EPOCH, EVENT)), EPOCH)
        most = section.take("max", whole(1, MOST), None)
        if unit is None or (most is None and section.has("max")):
            return None
        try:
            return cls(most, unit)
        except ValueError as error:
            section.wrong("max", str(error))
            return None

    def unfit(self, reduce: str) -> str:
        """One event changes a sum, or the largest count, by one at most; a mean or the last it can change by any."""
        if self.unit == EVENT and reduce not in {"sum", "max"}:
            return f'unit = "{EVENT}" goes with reduce = "sum" or "max": by any other one event can change all'
        return ""

    def parameters(self) -> dict[str, Any]:
        """The most, and what is hidden."""
        return {"max": self.most, "unit": self.unit}

    def build(self, epsilon: Epsilon, name: str) -> Mechanism:
        """Any of the three for an epoch; noise on the scale of one event for events."""
        steps = self.most or MOST
        if self.unit == EVENT:
            if name != GEOMETRIC:
                raise ValueError(f'unit = "{EVENT}" goes with mechanism = "{GEOMETRIC}", not with {name!r}')
            return Laplace(epsilon, steps, 1)
        if name == ONE_BIT:
            return RandomizedResponse(epsilon, 2)
        return Hybrid.best(epsilon) if name == Hybrid.name else Laplace(epsilon, steps)

    @property
    def annotation(self) -> str:
        """A whole number."""
        return "int"

    def memoized(self, epsilon: Epsilon, fresh: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """One bit over a remembered one, which hides epochs."""
        if self.unit == EVENT:
            raise self.once(f'a {self.name} with unit = "{EVENT}"')
        return super(Count, self).memoized(epsilon, fresh, mechanism)  # a slotted dataclass is another class

    def check(self, value: Any) -> int:
        """Takes whole numbers from 0 to 2^53."""
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
            raise InvalidValueError(f"a count takes an int from 0 to 2^53, not {value!r}")
        return value

    def apart(self) -> tuple[int, int]:
        """None, and as many as are to be confused with none."""
        return 0, (self.most or MOST) if self.unit == EPOCH else 1
