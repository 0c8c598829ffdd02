"""What every kind is: a sort of question, its values, and the columns that an answer fills.

words:
  value     what the application records, checked
  column    one mechanism collecting one thing; a simple kind has one
  encode    chooses the column that a device answers and turns its value into that mechanism's input
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from deniable._section import Section
from deniable.epsilon import Epsilon
from deniable.mechanisms import Mechanism

__all__ = ["Kind"]


class Kind(ABC):
    """One sort of question with its own parameters."""

    __slots__ = ()

    name: ClassVar[str]
    """As it is written in a collection file."""
    reducers: ClassVar[tuple[str, ...]]
    """The ways to reduce an epoch's values that make sense here; the first is the default."""
    mechanisms: ClassVar[tuple[str, ...]]
    """The mechanisms that fit, by name."""
    instead: ClassVar[str | None] = None
    """A key of its own that takes the place of epsilon where it is given; `cost` says what comes of it."""
    delta: Fraction = Fraction(0)
    """The chance, at most, that an answer tells more than epsilon allows."""

    @property
    def cost(self) -> Epsilon | None:
        """What an answer costs, where its own key says so."""
        return None

    @classmethod
    @abstractmethod
    def read(cls, section: Section) -> Kind | None:
        """The kind with its parameters, from its metric's table; None where that has problems."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Its parameters in plain JSON; part of the collection's digest."""

    @abstractmethod
    def columns(self, epsilon: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """Its columns at this epsilon, by the mechanism named or by the best ("auto")."""

    def remembered(self, epsilon: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:
        """Its columns when answers are remembered, and sent as they are remembered."""
        return self.columns(epsilon, mechanism)

    def memoized(self, epsilon: Epsilon, fresh: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:  # noqa: ARG002
        """Its columns when answers are remembered at one epsilon and randomised afresh at another."""
        raise ValueError(f"a {self.name} has no second randomisation: leave out instantaneous_epsilon")

    @abstractmethod
    def check(self, value: Any) -> Any:
        """The value in plain JSON; InvalidValueError, which says what is taken, where it is not taken."""

    @abstractmethod
    def apart(self) -> tuple[Any, Any]:
        """Two values that are as easy to tell apart as any two: what an audit compares."""

    @abstractmethod
    def encode(self, value: Any, columns: Sequence[Mechanism], draw: Callable[[], int]) -> tuple[int, int]:
        """The place of a column and its mechanism's input, for a checked and reduced value.

        All chance (which column, which neighbouring grid point) comes from the words that `draw` gives: a device
        that memoizes draws the same ones every time.
        """
