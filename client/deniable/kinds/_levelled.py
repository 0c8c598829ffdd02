"""Kinds whose answer is a tree: a device draws a level, and answers which of its nodes it is in."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from deniable.epsilon import Epsilon
from deniable.kinds import _levels
from deniable.kinds._kind import Kind
from deniable.mechanisms import Mechanism, Supporting, fitting

__all__ = ["Levelled"]


@dataclass(frozen=True, slots=True)
class Levelled(Kind):
    """A kind with a column a level, of which a device answers one that it draws."""

    mechanisms: ClassVar[tuple[str, ...]] = tuple(fitting(2))

    _ends: dict[tuple[int, ...], tuple[Sequence[Mechanism], tuple[int, ...]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """The thresholds of columns, by who they are; kept with them, so that nobody else becomes them."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has."""

    @abstractmethod
    def slopes(self, variances: Sequence[float]) -> _levels.Slopes:
        """How the error falls with the share of each level, by the variance of one report about a node of it."""

    @abstractmethod
    def place(self, value: Any, level: int) -> int:
        """The node of a level that a value is in."""

    def columns(self, epsilon: Epsilon, mechanism: str) -> tuple[Supporting, ...]:
        """One for each level, by the mechanism that is best for its nodes."""
        return _levels.asked(epsilon, self.sizes, mechanism)

    def memoized(self, epsilon: Epsilon, fresh: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:  # noqa: ARG002
        """Not: a level that is drawn for life would tell which device it is."""
        raise self.once("a drawn level")

    def allotment(self, columns: Sequence[Mechanism]) -> list[float]:
        """The share of devices that each level is asked of."""
        variances = [float(_levels.variance(column)) for column in columns if isinstance(column, Supporting)]
        return _levels.shares(len(columns), self.slopes(variances))

    def encode(self, value: Any, columns: Sequence[Mechanism], draw: Callable[[], int]) -> tuple[int, int]:
        """Into a level that is drawn, whatever the value: the node that the value is in."""
        key = tuple(map(id, columns))
        if key not in self._ends:
            self._ends[key] = columns, _levels.thresholds(self.allotment(columns))
        level = _levels.drawn(self._ends[key][1], draw())
        return level, self.place(value, level)
