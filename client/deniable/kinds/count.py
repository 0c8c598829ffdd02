"""Count: how often something happened.

words:
  privacy unit  what is hidden: the whole count of a device's epoch ("epoch"), or any one of its events ("event")
  unit          what is counted, such as "crashes"

Where epochs are hidden, counts up to `max` are a quantity like any other. Where single events are, two counts that
are to be confused differ by one: noise of scale 1 / epsilon is enough, however large counts are, and no `max` is
needed. But a device that has counted a hundred says so, give or take a few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from deniable._section import Section, a_text, one_of, whole
from deniable.epsilon import Epsilon
from deniable.errors import InvalidValueError
from deniable.kinds import _values
from deniable.kinds._quantity import ONE_BIT, Quantity
from deniable.kinds._values import shown
from deniable.mechanisms import Hybrid, Laplace, Mechanism, RandomizedResponse
from deniable.randomness import WORD

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
    """The largest count, `max` in the file."""
    privacy_unit: str = EPOCH
    """What is hidden: "epoch", all events of a device's epoch, or "event", any one of them."""
    unit: str = ""
    """What is counted, such as "crashes"; empty where the file does not say."""

    def __post_init__(self) -> None:
        if self.most is None and self.privacy_unit == EPOCH:
            raise ValueError('hiding an epoch needs the most that it can count: add max, or privacy_unit = "event"')

    @property
    def ends(self) -> tuple[float, float]:
        """From none to the most."""
        return 0.0, float(self.most or MOST)

    @property
    def limited(self) -> bool:
        """Whether the file has a `max`."""
        return self.most is not None

    @classmethod
    def read(cls, section: Section) -> Count | None:
        """Reads `max`, `privacy_unit` and `unit`."""
        privacy_unit = section.take("privacy_unit", one_of((EPOCH, EVENT)), EPOCH)
        unit = section.take("unit", _counted, "")
        most = section.take("max", whole(1, MOST), None)
        if privacy_unit is None or unit is None or (most is None and section.has("max")):
            return None
        try:
            return cls(most, privacy_unit, unit)
        except ValueError as error:
            section.wrong("max", str(error))
            return None

    def unfit(self, reduce: str) -> str:
        """One event changes a sum, or the largest count, by one at most; a mean or the last it can change by any."""
        if self.privacy_unit == EVENT and reduce not in {"sum", "max"}:
            return (
                f'privacy_unit = "{EVENT}" goes with reduce = "sum" or "max": by any other one event can change all'
            )
        return ""

    def parameters(self) -> dict[str, Any]:
        """The most, what is hidden under the name that it had first, and what is counted, where the file says it:
        a file that asks what it asked before has the same digest and memory."""
        counted = {"counted": self.unit} if self.unit else {}
        return {"max": self.most, "unit": self.privacy_unit, **counted}

    def build(self, epsilon: Epsilon, name: str) -> Mechanism:
        """Any of the three mechanisms for an epoch; noise on the scale of one event for events."""
        steps = self.most or MOST
        if self.privacy_unit == EVENT:
            if name != GEOMETRIC:
                raise ValueError(f'privacy_unit = "{EVENT}" goes with mechanism = "{GEOMETRIC}", not with {name!r}')
            return Laplace(epsilon, steps, 1)
        if name == ONE_BIT:
            return RandomizedResponse(epsilon, 2)
        return Hybrid.best(epsilon) if name == Hybrid.name else Laplace(epsilon, steps)

    def place(self, value: float, last: int) -> tuple[int, int]:
        """Where a count lies, exactly, however large: a double would move one of 2^31 in four million by one."""
        most = self.most or MOST
        count, parts = min(max(value, 0), most).as_integer_ratio()
        below, rest = divmod(count * last, parts * most)
        return below, -(-rest * WORD // (parts * most))

    @property
    def annotation(self) -> str:
        """Values are whole numbers."""
        return "int"

    def memoized(self, epsilon: Epsilon, fresh: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """One bit over a remembered one, which hides epochs."""
        if self.privacy_unit == EVENT:
            raise self.once(f'a {self.name} with privacy_unit = "{EVENT}"')
        return super(Count, self).memoized(epsilon, fresh, mechanism)  # a slotted dataclass is another class

    def check(self, value: Any) -> int:
        """Takes whole numbers from 0 to 2^53."""
        count = _values.whole(value)
        if count is None or not 0 <= count <= _LARGEST:
            raise InvalidValueError(f"a count takes an int from 0 to 2^53, not {shown(value)}")
        return count

    def apart(self) -> tuple[int, int]:
        """No event, and as many as are to be confused with none."""
        return 0, (self.most or MOST) if self.privacy_unit == EPOCH else 1


def _counted(value: Any) -> str:
    """What is counted; the words of `privacy_unit` are more likely meant for it."""
    unit = a_text(value)
    if unit in {EPOCH, EVENT}:
        raise ValueError(f'is what is counted, such as "crashes"; what is hidden is privacy_unit = "{unit}"')
    return unit
