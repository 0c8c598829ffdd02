"""What every kind is: a sort of question, its values, and the columns that an answer fills.

words:
  value     what the application records, checked; of a kind that is fed, what it has recorded for its sources
  source    a metric whose reduced value of an epoch feeds another one, which is answered from nothing else
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
from deniable.payload import Bitmap, Codeword, Integers, Symbol

__all__ = ["Kind"]

_SHOWN = 6
"""So many names are listed."""


class Kind(ABC):
    """One sort of question with its own parameters."""

    __slots__ = ()

    name: ClassVar[str]
    """The kind's name, as a collection file writes it."""
    reducers: ClassVar[tuple[str, ...]]
    """The ways to reduce an epoch's values that make sense here; the first is the default."""
    mechanisms: ClassVar[tuple[str, ...]]
    """The mechanisms that fit, by name."""
    takes: ClassVar[tuple[str, ...]] = ()
    """The kinds that it is fed from, by name; none: it is answered from what is recorded for itself."""
    instead: ClassVar[str | None] = None
    """A key of its own that takes the place of epsilon where it is given; `cost` says what comes of it."""
    delta: Fraction = Fraction(0)
    """The most by which the chance of any set of reports exceeds e^epsilon times that under another answer."""
    unit: str = ""
    """What a quantity is measured or counted in, as the file names it, such as "minutes"."""

    @property
    def of(self) -> tuple[str, ...]:
        """The names of its sources; none where it is answered from what is recorded for itself."""
        return ()

    @property
    def cost(self) -> Epsilon | None:
        """What an answer costs, where its own key says so."""
        return None

    @classmethod
    @abstractmethod
    def read(cls, section: Section) -> Kind | None:
        """The kind with its parameters, from its metric's table; None where that has problems."""

    def unfit(self, reduce: str) -> str:  # noqa: ARG002
        """Why this kind, with its parameters, can not be reduced so; empty where it can."""
        return ""

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
        raise self.once(f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.name}")

    @staticmethod
    def once(what: str) -> ValueError:
        """The error that says that something has no second randomisation, and what it can have instead."""
        return ValueError(
            f"{what} has no second randomisation: leave out memoize, or repeat what is remembered as it is, which "
            'identifies the device, with instantaneous_epsilon = "linkable"'
        )

    @abstractmethod
    def check(self, value: Any) -> Any:
        """The value in plain JSON; InvalidValueError, which says what is taken, where it is not taken."""

    @abstractmethod
    def apart(self) -> tuple[Any, Any]:
        """Two values that are as easy to tell apart as any two: what an audit compares."""

    @property
    def annotation(self) -> str:
        """The type of its values, as Python writes it."""
        return "object"

    def names(self, place: int) -> Sequence[str]:  # noqa: ARG002
        """What the answers of a column are called, in the order in which its payloads count them; none: by number."""
        return ()

    def describe(self, place: int, mechanism: Mechanism, payload: int) -> str:
        """A payload of the column at that place in words, for the person whose device has sent it."""
        names, shape = self.names(place), mechanism.shape
        match shape:
            case Bitmap() if names:
                return _listed([name for bit, name in enumerate(names) if payload >> bit & 1])
            case Symbol() if names and mechanism.plain:
                return repr(names[payload]) if payload < len(names) else "nothing"
            case Integers():
                return f"{shape.size} noisy numbers"
            case Codeword():
                return f"direction {payload % shape.codewords} of {shape.codewords} that were drawn at random"
            case _:
                return f"code {payload}"

    @abstractmethod
    def encode(self, value: Any, columns: Sequence[Mechanism], draw: Callable[[], int]) -> tuple[int, int]:
        """The place of a column and its mechanism's input, for a checked and reduced value.

        All chance (which column, which neighbouring grid point) comes from the words that `draw` gives: a device
        that memoizes draws the same ones every time.
        """


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    shown = " ".join(repr(name) for name in names[:_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown or "nothing"
