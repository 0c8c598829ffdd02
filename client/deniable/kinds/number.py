"""Number: a quantity within a range."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from deniable._section import Section, a_number, a_range, a_text
from deniable.epsilon import Epsilon
from deniable.errors import InvalidValueError
from deniable.kinds._quantity import ONE_BIT, Quantity
from deniable.kinds._values import check_range, finite, shown
from deniable.mechanisms import Hybrid, Laplace, Mechanism, RandomizedResponse

__all__ = ["Number"]

MOST_STEPS = 1 << 20


@dataclass(frozen=True, slots=True)
class Number(Quantity):
    """A quantity from `low` to `high`; what lies outside counts as the nearest end. Laplace noise is in steps."""

    name: ClassVar[str] = "number"
    reducers: ClassVar[tuple[str, ...]] = ("last", "mean", "sum", "max", "min", "sample")
    mechanisms: ClassVar[tuple[str, ...]] = (ONE_BIT, Hybrid.name, Laplace.name)

    low: Fraction
    high: Fraction
    step: Fraction
    unit: str = ""

    def __post_init__(self) -> None:
        check_range(self.low, self.high)
        if self.step <= 0:
            raise ValueError(f"a step must be greater than 0, not {float(self.step):g}")
        if (self.high - self.low) % self.step:
            raise ValueError(
                f"a step of {float(self.step):g} does not divide the range from {float(self.low):g} to "
                f"{float(self.high):g}"
            )
        if self.steps > MOST_STEPS:
            raise ValueError(f"has {self.steps} steps; at most {MOST_STEPS} are possible: use a larger step")

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the range."""
        return float(self.low), float(self.high)

    @property
    def steps(self) -> int:
        """How many steps the grid has."""
        return int((self.high - self.low) / self.step)

    @classmethod
    def read(cls, section: Section) -> Number | None:
        """Reads `range`, `step` and `unit`."""
        ends = section.take("range", a_range)
        step = section.take("step", a_number, Fraction(1))
        unit = section.take("unit", a_text, "")
        if ends is None or step is None or unit is None:
            return None
        try:
            return cls(*ends, step, unit)
        except ValueError as error:
            section.wrong("step" if "step" in str(error) else "range", str(error))
            return None

    def parameters(self) -> dict[str, Any]:
        """The grid and the unit."""
        return {"range": [str(self.low), str(self.high)], "step": str(self.step), "unit": self.unit}

    def build(self, epsilon: Epsilon, name: str) -> Mechanism:
        """Any of the three mechanisms of quantities."""
        if name == ONE_BIT:
            return RandomizedResponse(epsilon, 2)
        return Hybrid.best(epsilon) if name == Hybrid.name else Laplace(epsilon, self.steps)

    def check(self, value: Any) -> float:
        """Takes any finite number, up to 1e300."""
        number = finite(value)
        if number is None:
            raise InvalidValueError(f"a number takes a finite int or float, not {shown(value)}")
        return number

    def apart(self) -> tuple[float, float]:
        """The two ends of the range."""
        return self.ends
