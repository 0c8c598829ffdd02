"""Flags: any number of names that are set, each for itself.

words:
  per_flag_epsilon   instead of epsilon: what each flag costs for itself; the answer costs the sum over all flags
  drawn flag         with randomized response: the one flag that a device answers, with all of epsilon
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from deniable._section import Section, an_epsilon, distinct_texts
from deniable.epsilon import Epsilon
from deniable.kinds._kind import Kind
from deniable.kinds._names import check_names, literal
from deniable.mechanisms import BitwiseResponse, Mechanism, MemoizedBitwise, RandomizedResponse
from deniable.payload import Bitmap
from deniable.randomness import WORD

__all__ = ["Flags"]

MOST_FLAGS = 256


@dataclass(frozen=True, slots=True)
class Flags(Kind):
    """A set of `flags`.

    By bitwise response a device answers all flags, with epsilon split over them. By randomized response it answers
    one that it draws, with all of epsilon: while epsilon is small, n flags then take about n times fewer devices.
    "auto" is the one with less variance.
    """

    name: ClassVar[str] = "flags"
    reducers: ClassVar[tuple[str, ...]] = ("last", "any", "all", "sample")
    mechanisms: ClassVar[tuple[str, ...]] = (BitwiseResponse.name, RandomizedResponse.name)
    instead: ClassVar[str | None] = "per_flag_epsilon"

    flags: tuple[str, ...]
    per_flag: Epsilon | None = None
    index: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {flag: number for number, flag in enumerate(self.flags)})

    @classmethod
    def read(cls, section: Section) -> Flags | None:
        """Reads `flags` and `per_flag_epsilon`."""
        flags = section.take("flags", distinct_texts(1, MOST_FLAGS))
        per_flag = section.take("per_flag_epsilon", an_epsilon, None)
        given = section.take("epsilon", an_epsilon, None) if section.has("per_flag_epsilon") else None
        if given is not None:
            section.wrong("per_flag_epsilon", "takes the place of epsilon: give one of the two")
        if flags is None:
            return None
        try:
            _ = (found := cls(flags, per_flag)).cost
        except ValueError as error:
            section.wrong("per_flag_epsilon", f"the sum over {len(flags)} flags {error}")
            return None
        return found

    @property
    def cost(self) -> Epsilon | None:
        """The sum over all flags of what each costs."""
        if self.per_flag is None:
            return None
        if self.per_flag.text.startswith("ln"):
            return Epsilon.of(f"ln {self.per_flag.exp ** len(self.flags)}")
        return Epsilon.of(self.per_flag.value * len(self.flags))

    def parameters(self) -> dict[str, Any]:
        """The flags, in their order: a bit is the place of its flag."""
        return {"flags": list(self.flags)}

    def columns(self, epsilon: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """One column of all flags, or one for each flag."""
        if self._draws(epsilon, mechanism):
            return (RandomizedResponse(epsilon, 2),) * self._drawn()
        return (BitwiseResponse(epsilon, len(self.flags)),)

    def _draws(self, epsilon: Epsilon, mechanism: str) -> bool:
        """Whether a device answers one flag: where that is named, or has less variance for a flag that half have.

        n times the variance is 1/4 + q (1 - q) / (p - q)^2 when all flags are answered, with a part of epsilon each,
        and as many times that of the whole epsilon as there are flags when one is drawn.
        """
        if mechanism != "auto" or self.per_flag is not None:
            return mechanism == RandomizedResponse.name
        together = BitwiseResponse(epsilon, len(self.flags))
        alone = RandomizedResponse(epsilon, 2)
        spreads = [each.q * (1 - each.q) / (each.p - each.q) ** 2 for each in (together, alone)]
        quarter = Fraction(1, 4)
        return len(self.flags) * (quarter + spreads[1]) < quarter + spreads[0]

    def memoized(self, epsilon: Epsilon, fresh: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """All flags over remembered flags: one that is drawn for life would tell which device it is."""
        if mechanism == RandomizedResponse.name:
            raise self.once("a drawn flag")
        flags = len(self.flags)
        return (MemoizedBitwise(BitwiseResponse(epsilon, flags), BitwiseResponse(fresh, flags)),)

    def _drawn(self) -> int:
        if self.per_flag is not None:
            raise ValueError(f'per_flag_epsilon goes with mechanism = "{BitwiseResponse.name}"')
        return len(self.flags)

    def check(self, value: Any) -> list[str]:
        """Takes a set, a list or a tuple of flags."""
        return check_names(value, self.index, "flags")

    def apart(self) -> tuple[list[str], list[str]]:
        """All flags, and no flag."""
        return sorted(self.flags), []

    @property
    def annotation(self) -> str:
        """Values are collections of these flags."""
        return f"Collection[{literal(self.flags)}]"

    def names(self, place: int) -> tuple[str, ...]:  # noqa: ARG002
        """Bits are called as the flags are."""
        return self.flags

    def describe(self, place: int, mechanism: Mechanism, payload: int) -> str:
        """The flags that are set; of a drawn flag, whether it is."""
        if isinstance(mechanism.shape, Bitmap):
            return Kind.describe(self, place, mechanism, payload)
        return f"{self.flags[place]!r} is {'set' if payload else 'not set'}"

    def encode(self, value: Any, columns: Sequence[Mechanism], draw: Callable[[], int]) -> tuple[int, int]:
        """The bits of the flags that are set; of one column a flag, a drawn one and its bit."""
        given, bits = frozenset(value), 0
        for flag in reversed(self.flags):
            bits += bits + (flag in given)
        if len(columns) == 1:
            return 0, bits
        place = draw() * len(columns) // WORD
        return place, bits >> place & 1
