"""Vector: a list of quantities that belong together, such as a model's update, of bounded length.

words:
  norm    how long a vector is: "l2", the root of the sum of squares, or "l1", the sum of sizes
  clip    the greatest norm; a longer vector is shortened to it
  grid    how many steps of the public grid make a clip
  delta   with l2, for Gaussian noise: the most by which the chance of any set of reports exceeds what epsilon allows
  fleet   how many devices are expected: with so many, delta exposes fleet * delta of them
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from deniable._section import Section, a_chance, a_limit, one_of, whole
from deniable.epsilon import Epsilon
from deniable.errors import InvalidValueError
from deniable.kinds._kind import Kind
from deniable.kinds._quantity import Candidate
from deniable.kinds._values import real, shown
from deniable.mechanisms import Codewords, Gaussian, Mechanism, VectorLaplace
from deniable.mechanisms._entries import pack
from deniable.randomness import WORD

__all__ = ["Vector"]

MOST_DIMENSIONS = 4096
MOST_FLEET = 10**12
LARGEST = 1e300
_L1_STEPS = 1024
_L2_STEPS = 4096


@dataclass(frozen=True, slots=True)
class Vector(Kind):
    """So many quantities, of a norm of `clip` at most.

    Rounded to the grid at random, so that the mean stays exact, a vector becomes longer by up to sqrt(dimensions)
    steps (l2) or by one step a dimension (l1). The bound, and with it the noise, covers that: the grid is so fine
    that it adds less than 0.3% of noise.
    """

    name: ClassVar[str] = "vector"
    reducers: ClassVar[tuple[str, ...]] = ("last", "sample")
    mechanisms: ClassVar[tuple[str, ...]] = (Codewords.name, Gaussian.name, VectorLaplace.name)

    dimensions: int
    clip: Fraction
    norm: str
    delta: Fraction = Fraction(0)

    @classmethod
    def read(cls, section: Section) -> Vector | None:
        """Reads `dimensions`, `clip` and `norm`, and with l2, if it is given, `delta` and with it `fleet`."""
        dimensions = section.take("dimensions", whole(1, MOST_DIMENSIONS))
        clip = section.take("clip", a_limit)
        norm = section.take("norm", one_of(("l1", "l2")))
        delta = section.take("delta", a_chance, None)
        fleet = section.take("fleet", whole(1, MOST_FLEET), None)
        _check_delta(section, norm, delta, fleet)
        if dimensions is None or clip is None or norm is None or (section.has("delta") and delta is None):
            return None
        return cls(dimensions, clip, norm, delta or Fraction(0))

    @property
    def grid(self) -> int:
        """How many steps of the grid make a clip."""
        return _L1_STEPS * self.dimensions if self.norm == "l1" else _L2_STEPS * self._root

    @property
    def bound(self) -> int:
        """The greatest norm of a rounded vector, in steps; one step is for what floats leave over."""
        return self.grid + (self.dimensions if self.norm == "l1" else self._root) + 1

    @property
    def _root(self) -> int:
        """The square root of the dimensions, rounded up."""
        return math.isqrt(self.dimensions - 1) + 1

    def parameters(self) -> dict[str, Any]:
        """What a vector is, and delta."""
        return {
            "dimensions": self.dimensions,
            "clip": str(self.clip),
            "norm": self.norm,
            "delta": str(self.delta),
        }

    def build(self, epsilon: Epsilon, name: str) -> Gaussian | VectorLaplace | Codewords:
        """The mechanism of this name; a ValueError where it does not fit."""
        if name == Gaussian.name:
            if not self.delta:
                raise ValueError(f'mechanism = "{name}" goes with norm = "l2", a delta and a fleet')
            return Gaussian(epsilon, self.delta, self.dimensions, self.bound)
        if self.delta:
            raise ValueError(f'mechanism = "{name}" has no delta: leave out delta and fleet')
        if name == Codewords.name:
            return Codewords.best(epsilon, self.dimensions, self.bound)
        if self.norm == "l2":
            raise ValueError(f'mechanism = "{name}" goes with norm = "l1"')
        return VectorLaplace(epsilon, self.dimensions, self.bound)

    def choices(self, epsilon: Epsilon) -> list[Candidate]:
        """Every mechanism that fits, the one that `auto` chooses first, then by variance: of an entry, in squared
        ranges, where it is greatest. With a delta that is Gaussian noise; what fits without one is there as well."""
        found = []
        for name in self.mechanisms:
            kind = self if name == Gaussian.name else replace(self, delta=Fraction(0))
            try:
                mechanism = kind.build(epsilon, name)
            except ValueError:
                continue
            found.append(Candidate(name, mechanism, Fraction(mechanism.variance) / (2 * self.grid) ** 2))
        return sorted(found, key=lambda each: (bool(self.delta) and each.name != Gaussian.name, each.variance))

    def columns(self, epsilon: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """One column, whose input is the entries in steps of the grid."""
        if mechanism == "auto" and not self.delta:
            return (self.choices(epsilon)[0].mechanism,)
        return (self.build(epsilon, Gaussian.name if mechanism == "auto" else mechanism),)

    def check(self, value: Any) -> list[float]:
        """Takes a list or a tuple of finite numbers, as many as there are dimensions, up to 1e300 in size."""
        if not issubclass(type(value), list | tuple):
            raise InvalidValueError(f"a vector takes a list of {self.dimensions} numbers, not {shown(value)}")
        entries = [real(entry) for entry in value]
        if len(entries) != self.dimensions:
            raise InvalidValueError(f"a vector takes a list of {self.dimensions} numbers, not {len(entries)} of them")
        for place, entry in enumerate(entries):
            if entry is None or not abs(entry) <= LARGEST:
                raise InvalidValueError(f"a vector takes finite numbers, not {shown(value[place])}")
        return [float(entry) for entry in entries if entry is not None]

    def apart(self) -> tuple[list[float], list[float]]:
        """A clip on the first axis, both ways."""
        rest = [0.0] * (self.dimensions - 1)
        return [float(self.clip), *rest], [-float(self.clip), *rest]

    def clipped(self, value: Sequence[float]) -> list[float]:
        """The vector, shortened to the clip where it is longer."""
        clip = float(self.clip)
        return [share * clip for share in self.shares(value)]

    def shares(self, value: Sequence[float]) -> list[float]:
        """The entries of the vector, shortened to the clip where it is longer, in clips."""
        length = math.hypot(*value) if self.norm == "l2" else math.fsum(map(abs, value))
        unit = max(length, float(self.clip))
        return [entry / unit for entry in value]

    @property
    def annotation(self) -> str:
        """Values are lists of numbers."""
        return "Sequence[float]"

    def encode(self, value: Any, columns: Sequence[Mechanism], draw: Callable[[], int]) -> tuple[int, int]:  # noqa: ARG002
        """Into the one column: of each entry a neighbouring grid point, by the chance that makes the mean exact."""
        entries, grid = [], self.grid
        for share in self.shares(value):
            place = share * grid
            below = math.floor(place)
            entries.append(below + (draw() < (place - below) * WORD))
        return 0, pack(entries)


def _check_delta(section: Section, norm: str | None, delta: Fraction | None, fleet: int | None) -> None:
    """A delta is given with l2, and with a fleet in which it exposes nobody."""
    for key, other in (("delta", "fleet"), ("fleet", "delta")):
        if norm == "l1" and section.has(key):
            section.wrong(key, 'goes with norm = "l2": an l1 vector is protected without exception')
        if norm == "l2" and section.has(other) and not section.has(key):
            section.wrong(key, f"missing: Gaussian noise, for which {other} is given, protects but for a chance of "
                               "delta a device of the fleet; without both there is no exception")  # fmt: skip
    if delta and fleet and delta * fleet >= 1:
        section.wrong(
            "delta",
            f"of a fleet of {fleet} devices it may expose {float(delta * fleet):g}: "
            f"take less than 1 / {fleet}, better a thousandth of that",
        )
