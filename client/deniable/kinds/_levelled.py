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

    _shares: dict[tuple[int, ...], tuple[Sequence[Mechanism], list[float], tuple[int, ...]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """The allotment and the thresholds of columns, by who they are; kept with them, so that nobody becomes them."""

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
        return list(self._shared(columns)[0])

    def encode(self, value: Any, columns: Sequence[Mechanism], draw: Callable[[], int]) -> tuple[int, int]:
        """Into a level that is drawn, whatever the value: the node that the value is in."""
        level = _levels.drawn(self._shared(columns)[1], draw())
        return level, self.place(value, level)

    def _shared(self, columns: Sequence[Mechanism]) -> tuple[list[float], tuple[int, ...]]:
        """The allotment of columns, and its thresholds."""
        key = tuple(map(id, columns))
        if key not in self._shares:
            variances = [float(_levels.variance(column)) for column in columns if isinstance(column, Supporting)]
            found = _levels.shares(len(columns), self.slopes(variances))
            self._shares[key] = tuple(columns), found, _levels.thresholds(found)
        return self._shares[key][1:]
