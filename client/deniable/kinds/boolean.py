"""Boolean: yes or no."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from deniable._section import Section
from deniable.epsilon import Epsilon
from deniable.errors import InvalidValueError
from deniable.kinds._kind import Kind
from deniable.kinds._values import shown
from deniable.mechanisms import Mechanism, Memoized, RandomizedResponse

__all__ = ["Boolean"]


@dataclass(frozen=True, slots=True)
class Boolean(Kind):
    """Yes or no, by randomized response."""

    name: ClassVar[str] = "boolean"
    reducers: ClassVar[tuple[str, ...]] = ("last", "any", "all", "sample")
    mechanisms: ClassVar[tuple[str, ...]] = (RandomizedResponse.name,)

    @classmethod
    def read(cls, section: Section) -> Boolean:  # noqa: ARG003
        """A boolean has no parameters."""
        return cls()

    def parameters(self) -> dict[str, Any]:
        """A boolean has no parameters."""
        return {}

    def columns(self, epsilon: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:  # noqa: ARG002
        """One column, whose inputs are 0 for no and 1 for yes."""
        return (RandomizedResponse(epsilon, 2),)

    def memoized(self, epsilon: Epsilon, fresh: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:  # noqa: ARG002
        """Randomized response over remembered randomized response."""
        return (Memoized(RandomizedResponse(epsilon, 2), RandomizedResponse(fresh, 2)),)

    def check(self, value: Any) -> bool:
        """Takes True and False, nothing that is merely true or false."""
        if value is True or value is False:
            return bool(value)
        raise InvalidValueError(f"a boolean takes True or False, not {shown(value)}")

    def apart(self) -> tuple[bool, bool]:
        """Yes and no, the only two."""
        return True, False

    @property
    def annotation(self) -> str:
        """Values are truth values."""
        return "bool"

    def names(self, place: int) -> tuple[str, str]:  # noqa: ARG002
        """Payload 0 is called no, and 1 yes."""
        return "no", "yes"

    def encode(self, value: Any, columns: Sequence[Mechanism], draw: Callable[[], int]) -> tuple[int, int]:  # noqa: ARG002
        """Into the one column: 1 for yes."""
        return 0, int(value)
