"""Wrappers: mechanisms that answer in two steps, of which the second one is a mechanism of its own.

words:
  wrapped   the mechanism of the second step
  through   what both steps make of a channel: the chances that a report supports the own input, and another one, from
            those that it supports what the first step made of the input, and anything else
  reported  these latter chances
  memory    a wrapper whose first step is drawn once, paid for once and remembered: `permanent`. However many reports
            a device sends, together they tell no more of its answer than what is remembered does
  fresh     the second step of a memory, drawn every time
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

from deniable.epsilon import Epsilon
from deniable.mechanisms._mechanism import Mechanism
from deniable.mechanisms._support import Supporting
from deniable.payload import Shape

__all__ = ["Memory", "Twice", "Wrapper"]


class Wrapper(Supporting):
    """A mechanism of two steps."""

    __slots__ = ()

    tight: ClassVar[bool] = False

    @abstractmethod
    def through(self, own: Fraction, other: Fraction) -> tuple[Fraction, Fraction]:
        """What both steps make of the chances that an event has under its own symbol and under any other."""

    @property
    @abstractmethod
    def reported(self) -> tuple[Fraction, Fraction]:
        """The chances that a report supports what the first step made, and anything else."""

    @property
    def p(self) -> Fraction:
        """Through both steps."""
        return self.through(*self.reported)[0]

    @property
    def q(self) -> Fraction:
        """Through both steps."""
        return self.through(*self.reported)[1]


class Memory(Wrapper):
    """A wrapper whose first step is remembered."""

    __slots__ = ()

    permanent: Supporting
    """The first randomisation."""

    @property
    def first(self) -> Supporting:
        """The permanent one."""
        return self.permanent

    @property
    def epsilon(self) -> Epsilon:  # type: ignore[override]
        """What all reports of one answer together cost."""
        return self.permanent.epsilon

    @property
    def inputs(self) -> int:  # type: ignore[override]
        """Those of the first."""
        return self.permanent.inputs

    @property
    def asked(self) -> int:
        """As many as the first asks for."""
        return self.permanent.asked

    def through(self, own: Fraction, other: Fraction) -> tuple[Fraction, Fraction]:
        """For what is remembered: p = p1 own + (1 - p1) other, q = q1 own + (1 - q1) other."""
        p, q = self.permanent.p, self.permanent.q
        return p * own + (1 - p) * other, q * own + (1 - q) * other

    def randomize(self, value: int) -> int:
        """Both, as for an answer that was never given before."""
        return self.renew(self.remember(value))

    def remember(self, value: int) -> int:
        """What stands for the answer from now on."""
        return self.permanent.randomize(value)

    @property
    def collision(self) -> float:
        """None: nothing is repeated."""
        raise TypeError(f"{self.name} is not sent as it is remembered")


class Twice(Memory):
    """A memory whose fresh step takes what is remembered as its input."""

    __slots__ = ()

    fresh: Supporting
    """The second randomisation; its inputs are what the first sends."""

    @property
    def wrapped(self) -> Mechanism:
        """The fresh one."""
        return self.fresh

    @property
    def reported(self) -> tuple[Fraction, Fraction]:
        """Those of the fresh one."""
        return self.fresh.p, self.fresh.q

    @property
    def instantaneous(self) -> Epsilon:
        """What the fresh one costs."""
        return self.fresh.epsilon

    @property
    def plain(self) -> bool:
        """Where it is to the second."""
        return self.fresh.plain

    @property
    def supported(self) -> int:
        """As many as the second speaks for."""
        return self.fresh.supported

    @property
    def factor(self) -> Fraction | None:
        """That of the second, which alone is drawn afresh."""
        return self.fresh.factor

    @property
    def shape(self) -> Shape:
        """What the second sends."""
        return self.fresh.shape

    def renew(self, remembered: int) -> int:
        """A payload for what is remembered."""
        return self.fresh.randomize(remembered)

    def renewed(self, payload: int, remembered: int) -> Fraction:
        """As the second has it."""
        return self.fresh.probability(payload, remembered)

    def payloads(self) -> Iterator[int]:
        """What the second can send."""
        return self.fresh.payloads()
